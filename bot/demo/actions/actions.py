"""The actions a `uses` step can name, and what they are given to work with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot.demo.actions.contexts import Place
from bot.demo.actions.joblog import JobLog
from bot.demo.actions.processes import End, Outcome
from bot.demo.executor import JobSpec


class StepFailed(Exception):
    """The step fails; the message goes to the log as its error."""


class StepInterrupted(Exception):
    """The step was ended from outside."""

    def __init__(self, end: End) -> None:
        super().__init__(end)
        self.end = end


class RunProcess(Protocol):
    def __call__(self, *argv: str, cwd: Path, env: Mapping[str, str]) -> Outcome: ...


@dataclass(slots=True)
class ActionCall:
    """One `uses` step: its inputs, the job around it, and its outputs."""

    inputs: Mapping[str, str]
    spec: JobSpec
    place: Place
    env: Mapping[str, str]
    log: JobLog
    run: RunProcess
    store: Callable[[str, bytes, bool], int]
    """(artifact name, zip, overwrite) → id. Raises ArtifactRefused."""
    outputs: dict[str, str] = field(default_factory=dict)

    def take(self, action: str, known: Mapping[str, str]) -> dict[str, str]:
        """The inputs over their defaults; one that is not known fails the step."""
        for name in self.inputs:
            if name not in known:
                raise StepFailed(f"input '{name}' of {action} is not supported by this runner")
        return {**known, **self.inputs}

    def command(self, *argv: str, cwd: Path) -> None:
        """A program that must succeed, its output in the log."""
        self.log.line("[command]" + " ".join(argv))
        outcome = self.run(*argv, cwd=cwd, env=self.env)
        if outcome.end is not End.EXITED:
            raise StepInterrupted(outcome.end)
        if outcome.code != 0:
            raise StepFailed(f"The process '{argv[0]}' failed with exit code {outcome.code}")


def setup_python(call: ActionCall) -> None:
    """Nothing is installed: steps run with the interpreter that runs this program."""
    found = ".".join(map(str, sys.version_info[:3]))
    wanted = call.take("actions/setup-python", {"python-version": found})["python-version"]
    if wanted not in (found, found.rpartition(".")[0], "3", "3.x"):
        call.log.line(f"##[warning]Python {wanted} is asked for; this runner has only {found} and uses it.")
    call.log.line(f"Using the Python {found} of this machine")
    call.outputs["python-version"] = found


def flag(action: str, name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise StepFailed(f"input '{name}' of {action} must be true or false, not '{value}'")
    return value == "true"
