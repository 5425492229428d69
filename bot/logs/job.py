"""What a log says about its job: runner, machine, exit code, and whether the end was reached."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from bot.logs.lines import Line

_FACT: Final = re.compile(r"(Runner name|Machine name|Complete job name): '?([^']{1,200})'?$")
_EXIT: Final = re.compile(r"##\[error\]Process completed with exit code (-?\d{1,10})\.$")
_INTERRUPTED: Final = re.compile(
    r"##\[error\](?:The operation was canceled\.|The runner has received a shutdown signal\."
    r"|The action .+ has timed out after \d+ minutes\."
    r"|The job running on runner .+ has exceeded the maximum execution time of \d+ minutes\."
    r"|The self-hosted runner.* lost communication with the server\.)"
)
PYTEST_FOOTER: Final = re.compile(
    r"=* ?(?:(?:\d+ [a-z]+, )*\d+ [a-z]+|no tests ran) in [\d.]+s(?: \([\d:]+\))? ?=*$"
)
_SUMMARY: Final = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \([\w =,]+\))?$")
_GPU: Final = re.compile(r"GPU \d{1,3}: (\S.{0,98}\S) \(UUID: ")
_KEYS: Final = {"Runner name": "runner", "Machine name": "machine", "Complete job name": "name"}


class Event(Enum):
    """What happened to the job's process."""

    EXITED = auto()
    INTERRUPTED = auto()
    """Cancelled, timed out, or its machine went away."""


@dataclass(slots=True)
class JobFacts:
    runner: str | None = None
    machine: str | None = None
    name: str | None = None
    exit_code: int | None = None
    whole_job: bool = False
    """The runner's own first lines were seen, so its last line must be there too."""
    ended: bool = False
    begun: bool = False
    summed_up: bool = False
    """The test runner's last line was seen."""
    _gpus: set[str] = field(default_factory=set)

    def read(self, line: Line) -> Event | None:
        """What the line says of the job's process. A line that the log's end may have cut counts only where
        its text is complete in itself."""
        text = line.text
        if exited := _EXIT.match(text):
            self.exit_code = int(exited[1])
            return Event.EXITED
        if _INTERRUPTED.match(text):
            return Event.INTERRUPTED
        if text == "Cleaning up orphan processes":
            self.ended = True
        elif _SUMMARY.match(text) or PYTEST_FOOTER.match(text):
            self.summed_up = True
        elif line.whole and text.startswith("Current runner version"):
            self.whole_job = True
        elif line.whole and (fact := _FACT.match(text)) and getattr(self, _KEYS[fact[1]]) is None:
            setattr(self, _KEYS[fact[1]], fact[2].strip())
        elif line.whole and len(self._gpus) < 2 and (gpu := _GPU.match(text)):
            self._gpus.add(gpu[1])
        return None

    def restart(self) -> None:
        """Another attempt's log follows: its machine and its end are its own."""
        self.runner = self.machine = None
        self.ended = False
        self._gpus.clear()

    @property
    def host(self) -> str | None:
        return self.runner or self.machine

    @property
    def gpu(self) -> str | None:
        """The product's name where all listed GPUs share it."""
        return next(iter(self._gpus)) if len(self._gpus) == 1 else None

    @property
    def complete(self) -> bool:
        """A whole job ends with the runner's clean-up, a step's output with the exit code, bare test output
        with the runner's summary."""
        if self.whole_job:
            return self.ended
        if self.begun or self.runner is not None:
            return self.ended or self.exit_code is not None
        return self.ended or self.exit_code is not None or self.summed_up

    def as_dict(self, started: str | None, finished: str | None) -> dict[str, object]:
        """Only what the log says."""
        facts = {
            "runner": self.runner,
            "machine": self.machine,
            "name": self.name,
            "started": started,
            "finished": finished,
            "exit_code": self.exit_code,
        }
        return {key: value for key, value in facts.items() if value is not None}
