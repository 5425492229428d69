"""The rerun plan: the one document that crosses from the bot to a GPU machine.

A plan is data, never free text: the harness refuses one whose commits are not full SHAs or whose test
is not a path inside the tree. Standard library only; it runs inside foreign environments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath
from typing import Final

MAX_LAUNCHES: Final = 64
MAX_REPEATS: Final = 200
MAX_TIMEOUT_S: Final = 86_400
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_REQUEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,79}")
_TEST_NAME: Final = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)
# One line, no ':' (it separates folders on PYTHONPATH and path from name), no backslash, not absolute.
_PATH: Final = re.compile(r"[^/\x00-\x1f\x7f\\:][^\x00-\x1f\x7f\\:]{0,399}")
_COMPARE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


class PlanError(ValueError):
    """A plan that must not run; the message names the field."""


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One server start: which arm, and how often the method is measured on it."""

    arm: str
    repeats: int


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What to measure. `launches` are in the order they run (AB BA AB)."""

    request: str
    test: str
    commits: Mapping[str, str]
    launches: tuple[PlannedLaunch, ...]
    compare: str | None = None
    """module:function that the probe wraps; None: printed lines are read."""
    python_path: tuple[str, ...] = ()
    """Folders of the tree put on PYTHONPATH, relative to its root."""
    launch_timeout_s: float = 1800.0

    def __post_init__(self) -> None:
        _check(self)

    @property
    def path(self) -> str:
        return self.test.split("::", 1)[0]

    @property
    def name(self) -> str:
        """Class.method"""
        return self.test.split("::", 1)[1]

    @property
    def planned(self) -> int:
        """Measurements of the method over all launches and arms."""
        return sum(launch.repeats for launch in self.launches)

    def launch_id(self, number: int) -> str:
        """Names the launch (`number` is 1-based) in readings; unique over the rounds of an investigation."""
        return f"{self.request}-{number}"

    def to_json(self) -> str:
        document = {**asdict(replace(self, commits=dict(self.commits))), "version": 1}
        return json.dumps(document, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RerunPlan:
        """Raises PlanError for anything but a well-formed plan of version 1."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"the plan is not JSON: {error}") from None
        if not isinstance(document, dict) or document.pop("version", None) != 1:
            raise PlanError("version: must be 1")
        try:
            launches = tuple(PlannedLaunch(**launch) for launch in document.pop("launches"))
            python_path = document.pop("python_path", [])
            if not isinstance(python_path, list):
                raise PlanError("python_path: must be a list of folders")
            return cls(launches=launches, python_path=tuple(python_path), **document)
        except (KeyError, TypeError) as error:
            raise PlanError(f"the plan does not have the fields of version 1: {error}") from None


def balanced_order(launches: Mapping[str, int], repeats: Mapping[str, int]) -> tuple[PlannedLaunch, ...]:
    """Head and base in the order AB BA AB: a drift of the machine hits both arms alike."""
    left = dict(launches)
    order: list[PlannedLaunch] = []
    forward = True
    while any(count > 0 for count in left.values()):
        arms: Sequence[str] = list(left) if forward else list(reversed(left))
        for arm in arms:
            if left[arm] > 0:
                left[arm] -= 1
                order.append(PlannedLaunch(arm, repeats[arm]))
        forward = not forward
    return tuple(order)


def _check(plan: RerunPlan) -> None:
    _require(_matches(_REQUEST, plan.request), "request: must be letters, digits and dashes, at most 80")
    path, _, name = plan.test.partition("::") if isinstance(plan.test, str) else ("", "", "")
    inside = _in_tree(path) and path.endswith(".py")
    _require(inside, "test: must be path::Class.method with a path inside the tree")
    _require(_matches(_TEST_NAME, name), "test: must end in ::Class.method")
    _require(isinstance(plan.commits, Mapping) and bool(plan.commits), "commits: at least one arm")
    for arm, commit in plan.commits.items():
        _require(arm in ("head", "base"), "commits: arms are head and base")
        _require(_matches(_SHA, commit), f"commits.{arm}: must be a full 40-digit SHA")
    _require(0 < len(plan.launches) <= MAX_LAUNCHES, f"launches: 1 to {MAX_LAUNCHES}")
    for launch in plan.launches:
        _require(launch.arm in plan.commits, f"launches: arm '{launch.arm}' has no commit")
        whole = isinstance(launch.repeats, int) and not isinstance(launch.repeats, bool)
        _require(whole and 0 < launch.repeats <= MAX_REPEATS, f"launches: repeats must be 1 to {MAX_REPEATS}")
    _require(plan.compare is None or _matches(_COMPARE, plan.compare), "compare: must be module:function")
    for folder in plan.python_path:
        _require(_in_tree(folder), "python_path: folders inside the tree only")
    seconds = plan.launch_timeout_s
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    _require(number and 0 < seconds <= MAX_TIMEOUT_S, "launch_timeout_s: more than 0, at most a day")


def _in_tree(path: object) -> bool:
    return _matches(_PATH, path) and ".." not in PurePosixPath(str(path)).parts


def _matches(pattern: re.Pattern[str], text: object) -> bool:
    return isinstance(text, str) and pattern.fullmatch(text) is not None


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise PlanError(problem)
