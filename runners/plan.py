"""The rerun plan: the one document that crosses from the bot to a GPU machine.

A plan is data, never free text: the harness refuses one whose commits are not full SHAs or whose test
is not a path inside the tree. Standard library only; it runs inside foreign environments.
`plan.schema.json` beside this file says the same as far as a JSON schema can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import PurePosixPath
from typing import Final

MAX_LAUNCHES: Final = 64
MAX_REPEATS: Final = 200
MAX_SCRIPT_RUNS: Final = 400
MAX_TIMEOUT_S: Final = 86_400
MAX_PRINTS: Final = 50
MAX_PATTERN: Final = 1_000
MAX_COMMANDS: Final = 16
MAX_WORDS: Final = 64
KINDS: Final = ("auto", "unittest", "pytest", "script")
PRINT_GROUPS: Final = frozenset({"value", "per_prompt", "threshold", "label", "model"})
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_REQUEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,79}")
_TEST_NAME: Final = re.compile(
    r"(?P<name>[A-Za-z_]\w*(?P<method>\.[A-Za-z_]\w*)?)(?P<param>\[[^\x00-\x1f\x7f]{0,200}\])?", re.ASCII
)
# One line, no ':' (it separates folders on PYTHONPATH and path from name), no backslash, not absolute.
_PATH: Final = re.compile(r"[^/\x00-\x1f\x7f\\:\ud800-\udfff][^\x00-\x1f\x7f\\:\ud800-\udfff]{0,399}")
_WORD: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{0,1000}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
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
    """What to measure. `launches` are in the order they run (AB BA AB).

    Each run of a script is a process of its own: a launch of R repeats is kept as R launches of one.
    """

    request: str
    test: str
    """path::Class.method or path::function, both also with [param id]; a script is its path alone."""
    commits: Mapping[str, str]
    launches: tuple[PlannedLaunch, ...]
    compare: str | None = None
    """module:function that the probe wraps; None: printed lines are read."""
    python_path: tuple[str, ...] = ()
    """Folders of the tree put on PYTHONPATH, relative to its root."""
    launch_timeout_s: float = 1800.0
    kind: str = "auto"
    """unittest, pytest, script; auto: a path alone is a script, a unittest.TestCase unittest, else pytest."""
    prints: tuple[str, ...] = ()
    """Patterns of printed lines, matched from a line's start; groups value, per_prompt, threshold, label."""
    prepare: tuple[tuple[str, ...], ...] = ()
    """Commands run once an arm in its tree, without a shell; {python} and {tree} are replaced in words."""
    prepare_timeout_s: float = 1800.0
    """Of all commands of one arm together."""
    arguments: tuple[str, ...] = ()
    """What a script is called with."""
    max_seconds: float | None = None
    """Limit of the whole plan; what was not measured by then is missing."""
    save_logprobs: bool = False
    """Whether the log-probs handed to the compare function are kept beside the readings."""

    def __post_init__(self) -> None:
        _check(self)
        if self.is_script:
            each = (PlannedLaunch(launch.arm, 1) for launch in self.launches for _ in range(launch.repeats))
            object.__setattr__(self, "launches", tuple(each))

    @property
    def path(self) -> str:
        return self.test.partition("::")[0]

    @property
    def name(self) -> str:
        """Class.method or function, with its [param id]; empty for a script."""
        return self.test.partition("::")[2]

    @property
    def is_script(self) -> bool:
        return not self.name

    @property
    def planned(self) -> int:
        """Measurements of the test over all launches and arms."""
        return sum(launch.repeats for launch in self.launches)

    def launch_id(self, number: int, attempt: int = 1) -> str:
        """Names the launch (`number` is 1-based) in readings; unique over the rounds of an investigation.

        `attempt`: 2 where a resumed run measures the launch once more.
        """
        return f"{self.request}-{number}" + (f"-{attempt}" if attempt > 1 else "")

    def place_of(self, launch: str | None) -> tuple[int, int] | None:
        """Number and attempt of the launch that a reading names; None when the plan has no such launch."""
        found = re.fullmatch(r"([1-9]\d{0,3})(?:-([1-9]\d{0,3}))?", (launch or "")[len(self.request) + 1 :])
        if found is None:
            return None
        number, attempt = int(found[1]), int(found[2] or 1)
        known = number <= len(self.launches) and launch == self.launch_id(number, attempt)
        return (number, attempt) if known else None

    def to_json(self) -> str:
        """Without what is at its default: an older harness takes a plan that asks for nothing newer."""
        document = asdict(replace(self, commits=dict(self.commits)))
        for field in fields(self):
            if document[field.name] == field.default:
                del document[field.name]
        return json.dumps({**document, "version": 1}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RerunPlan:
        """Raises PlanError for anything but a well-formed plan of version 1."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"the plan is not JSON: {error}") from None
        version = document.pop("version", None) if isinstance(document, dict) else None
        if type(version) is not int or version != 1:
            raise PlanError("version: must be 1")
        try:
            launches = tuple(PlannedLaunch(**launch) for launch in document.pop("launches"))
            document |= {name: _tuples(name, document[name]) for name in _LISTS if name in document}
            return cls(launches=launches, **document)
        except (KeyError, TypeError) as error:
            raise PlanError(f"the plan does not have the fields of version 1: {error}") from None


_LISTS: Final = {
    "python_path": "a list of folders",
    "prints": "a list of patterns",
    "prepare": "a list of commands, each a list of words",
    "arguments": "a list of words",
}


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


def compile_print(text: str) -> re.Pattern[str]:
    """A printed form. Raises PlanError for one that is too long, does not compile or reads nothing."""
    _require(isinstance(text, str) and len(text) <= MAX_PATTERN, f"prints: at most {MAX_PATTERN} characters")
    _require(_SURROGATE.search(text) is None, "prints: holds half a character")
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise PlanError(f"prints: {text[:80]!r} is no pattern: {error}") from None
    groups = set(pattern.groupindex)
    _require(
        bool(groups) and groups <= PRINT_GROUPS, f"prints: groups are one or more of {_names(PRINT_GROUPS)}"
    )
    return pattern


def _check(plan: RerunPlan) -> None:
    _require(_matches(_REQUEST, plan.request), "request: must be letters, digits and dashes, at most 80")
    _check_test(plan)
    _check_launches(plan)
    _require(plan.compare is None or _matches(_COMPARE, plan.compare), "compare: must be module:function")
    for name, kind in _LISTS.items():
        _require(isinstance(getattr(plan, name), tuple), f"{name}: must be {kind}")
    for folder in plan.python_path:
        _require(_in_tree(folder), "python_path: folders inside the tree only")
    _require(len(plan.prints) <= MAX_PRINTS, f"prints: at most {MAX_PRINTS}")
    for text in plan.prints:
        compile_print(text)
    _require(len(plan.prepare) <= MAX_COMMANDS, f"prepare: at most {MAX_COMMANDS} commands")
    for command in plan.prepare:
        _require(_words(command) and bool(command) and bool(command[0]), f"prepare: {_WORDS_RULE}")
    _require(_words(plan.arguments), f"arguments: {_WORDS_RULE}")
    _require(not plan.arguments or plan.is_script, "arguments: only a script takes them")
    _require(isinstance(plan.save_logprobs, bool), "save_logprobs: must be true or false")
    _require(plan.compare is not None or not plan.save_logprobs, "save_logprobs: needs a compare function")
    _require(plan.max_seconds is None or _seconds(plan.max_seconds), f"max_seconds: {_SECONDS_RULE}")
    for name in ("launch_timeout_s", "prepare_timeout_s"):
        _require(_seconds(getattr(plan, name)), f"{name}: {_SECONDS_RULE}")


_WORDS_RULE: Final = f"words of one line, at most {MAX_WORDS}"
_SECONDS_RULE: Final = "more than 0, at most a day"


def _check_test(plan: RerunPlan) -> None:
    _require(isinstance(plan.kind, str) and plan.kind in KINDS, f"kind: must be one of {', '.join(KINDS)}")
    path, separator, name = plan.test.partition("::") if isinstance(plan.test, str) else ("", "", "")
    inside = _in_tree(path) and path.endswith(".py" if separator else (".py", ".sh"))
    _require(inside, "test: must be path::Class.method with a path inside the tree")
    if not separator:
        _require(plan.kind in ("auto", "script"), f"test: a {plan.kind} test needs ::Class.method")
        _require(plan.compare is None, "compare: a script has none, its printed lines are read")
        return
    found = _TEST_NAME.fullmatch(name)
    _require(
        found is not None and name.isprintable(), "test: must end in ::Class.method, ::function or [param id]"
    )
    _require(plan.kind != "script", "test: a script is a path alone")
    plain = found is not None and bool(found["method"]) and not found["param"]
    _require(plan.kind != "unittest" or plain, "test: a unittest test must end in ::Class.method")


def _check_launches(plan: RerunPlan) -> None:
    _require(isinstance(plan.commits, Mapping) and bool(plan.commits), "commits: at least one arm")
    for arm, commit in plan.commits.items():
        _require(arm in ("head", "base"), "commits: arms are head and base")
        _require(_matches(_SHA, commit), f"commits.{arm}: must be a full 40-digit SHA")
    most = MAX_SCRIPT_RUNS if plan.is_script else MAX_LAUNCHES
    _require(0 < len(plan.launches) <= most, f"launches: 1 to {most}")
    for launch in plan.launches:
        _require(launch.arm in plan.commits, f"launches: arm '{launch.arm}' has no commit")
        whole = isinstance(launch.repeats, int) and not isinstance(launch.repeats, bool)
        _require(whole and 0 < launch.repeats <= MAX_REPEATS, f"launches: repeats must be 1 to {MAX_REPEATS}")
    runs = sum(launch.repeats for launch in plan.launches)
    _require(not plan.is_script or runs <= MAX_SCRIPT_RUNS, f"launches: at most {most} runs of a script")


def _tuples(name: str, value: object) -> tuple[object, ...]:
    _require(isinstance(value, list), f"{name}: must be {_LISTS[name]}")
    items = value if isinstance(value, list) else []
    return tuple(tuple(item) if isinstance(item, list) else item for item in items)


def _words(words: object) -> bool:
    return (
        isinstance(words, tuple)
        and len(words) <= MAX_WORDS
        and all(isinstance(word, str) and _matches(_WORD, word) for word in words)
    )


def _seconds(seconds: object) -> bool:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return number and 0 < seconds <= MAX_TIMEOUT_S  # type: ignore[operator]


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _in_tree(path: object) -> bool:
    return _matches(_PATH, path) and ".." not in PurePosixPath(str(path)).parts


def _matches(pattern: re.Pattern[str], text: object) -> bool:
    return isinstance(text, str) and pattern.fullmatch(text) is not None


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise PlanError(problem)
