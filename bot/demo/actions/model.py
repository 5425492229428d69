"""The types of a workflow file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DEFAULT_TIMEOUT_MINUTES: Final = 360.0
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,300}(\.[0-9]{1,300})?([eE][-+]?[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Input:
    """One input of workflow_dispatch."""

    name: str
    type: str = "string"
    required: bool = False
    default: str | None = None
    options: tuple[str, ...] = ()

    def problem(self, value: str) -> str | None:
        """Why the value is refused, in GitHub's words where it has any."""
        if self.type == "choice" and value not in self.options:
            return f"Provided value '{value}' for input '{self.name}' not in the list of allowed values"
        if self.type == "boolean" and value not in ("true", "false"):
            return f"Provided value '{value}' for input '{self.name}' is not a boolean"
        if self.type == "number" and value and not _NUMBER.fullmatch(value):
            return f"Provided value '{value}' for input '{self.name}' is not a number"
        return None


@dataclass(frozen=True, slots=True)
class Trigger:
    """When an event starts the workflow; empty `types` (push, dispatch) and `branches` mean any."""

    event: str
    types: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()

    def matches(self, action: str | None, branch: str) -> bool:
        """`branch` is the pushed one, or the base of the pull request."""
        if self.types and action not in self.types:
            return False
        wanted = not self.branches
        for pattern in self.branches:
            if _glob(pattern.removeprefix("!"), branch):
                wanted = not pattern.startswith("!")
        return wanted


@dataclass(frozen=True, slots=True)
class Step:
    """Texts still hold their expressions. Exactly one of `uses` and `run` is set."""

    name: str | None
    id: str | None = None
    uses: str | None = None
    with_: Mapping[str, str] = field(default_factory=dict)
    run: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    condition: str | None = None
    working_directory: str | None = None
    shell: str | None = None
    continue_on_error: bool = False
    timeout_minutes: float | None = None

    @property
    def title(self) -> str:
        """What the jobs API shows when there is no name."""
        return self.name or "Run " + (self.uses or (self.run or "").strip().split("\n", 1)[0])


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    name: str
    runs_on: tuple[str, ...]
    steps: tuple[Step, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_minutes: float = DEFAULT_TIMEOUT_MINUTES


@dataclass(frozen=True, slots=True)
class Workflow:
    name: str | None
    run_name: str | None
    triggers: Mapping[str, Trigger]
    inputs: Mapping[str, Input]
    env: Mapping[str, str]
    job: Job


def _glob(pattern: str, branch: str) -> bool:
    """`*` stays inside one part of the name, `**` does not."""
    parts = re.split(r"(\*\*|\*)", pattern)
    signs: Mapping[str, str] = {"**": ".*", "*": "[^/]*"}
    return re.fullmatch("".join(signs.get(part) or re.escape(part) for part in parts), branch) is not None
