"""What a log says about its job: runner, machine, exit code, and whether the end was reached."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bot.logs.lines import Line

_FACT: Final = re.compile(r"(Runner name|Machine name|Complete job name): '?([^']{1,200})'?$")
_EXIT: Final = re.compile(r"##\[error\]Process completed with exit code (-?\d{1,10})\.$")
_SUMMARY: Final = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \([\w =,]+\))?$|=+ .*\bin [\d.]+s\b.* =+$")
_KEYS: Final = {"Runner name": "runner", "Machine name": "machine", "Complete job name": "name"}


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

    def read(self, line: Line) -> bool:
        """True if the line says that the job's process exited. A line that the log's end may have cut
        counts only where its text is complete in itself."""
        text = line.text
        if exited := _EXIT.match(text):
            self.exit_code = int(exited[1])
            return True
        if text == "Cleaning up orphan processes":
            self.ended = True
        elif _SUMMARY.match(text):
            self.summed_up = True
        elif line.whole and text.startswith("Current runner version"):
            self.whole_job = True
        elif line.whole and (fact := _FACT.match(text)) and getattr(self, _KEYS[fact[1]]) is None:
            setattr(self, _KEYS[fact[1]], fact[2].strip())
        return False

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
