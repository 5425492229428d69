"""What one test file's process printed, in order, before anything is concluded from it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from bot.logs.form import MAX_MESSAGE, Crossing

_UNITTEST: Final = re.compile(r"(?:ERROR|FAIL): (\w+) \(([\w.<>]+)\)")
_PYTEST: Final = re.compile(r"_{3,} (?:ERROR at (?:setup|teardown) of )?(?:(\w+)\.)?(\w+)(?:\[.*\])? _{3,}$")
_EXCEPTION: Final = re.compile(r"(?:E +)?([A-Za-z_][\w.]*): (.*)")
_NOT_A_CLASS: Final = {"__main__", "_FailedTest"}
_MODULE_LEVEL: Final = {"setUpModule", "tearDownModule"}


@dataclass(frozen=True, slots=True)
class TestName:
    """Class and method as far as they are known."""

    cls: str | None
    method: str | None

    def under(self, path: str | None) -> str | None:
        """path::Class.method, or the part of it that is known."""
        name = ".".join(part for part in (self.cls, self.method) if part)
        return "::".join(part for part in (path, name) if part) or None


UNKNOWN: Final = TestName(None, None)
NO_NAME: Final = "unknown"
"""A reading must name its test; this stands where the log does not."""


@dataclass(slots=True)
class Block:
    """One printed check: its values, and the banner that it stands under."""

    order: int
    value: float
    per_prompt: tuple[float, ...]
    label: str | None
    at: str | None
    banner: TestName
    banner_done: bool
    """A progress mark on its own line, or the end of the run, came after the banner."""
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A crossing printed while the test ran: in a traceback (try_index None) or on the line of a retry."""

    order: int
    crossing: Crossing
    banner: TestName
    at: str | None
    try_index: int | None = None


@dataclass(slots=True)
class Report:
    """One entry of the runner's list of failures at the end."""

    order: int
    test: TestName
    at: str | None
    path: str | None = None
    """Where pytest's own summary names the file."""
    crossing: Crossing | None = None
    message: str = ""
    retried: bool = False
    finished: bool = False

    def read(self, line: str, crossing: Crossing | None) -> None:
        """One line of the entry. The last crossing and the last exception count: they made the test red."""
        if crossing is not None:
            self.crossing = crossing
        elif line.startswith("Exception: retry() "):
            self.retried = True
        elif exception := _EXCEPTION.fullmatch(line):
            self.message = f"{exception[1]}: {exception[2]}".strip()[:MAX_MESSAGE]


@dataclass(slots=True)
class Section:
    """The output of one test file (`path` None: the log does not say which)."""

    path: str | None = None
    blocks: list[Block] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    banners: set[TestName] = field(default_factory=set)
    other_retries: Counter[TestName] = field(default_factory=Counter)
    """Retry lines without a crossing, by the banner they stand under."""
    ran: bool = False
    """The runner's own count ('Ran 4 tests') was seen, so every red test has been listed."""


def reported_test(line: str) -> TestName | None:
    """The test that a header in the list of failures names. unittest writes (module.Class.method) from
    Python 3.11 on, (module.Class) before; pytest writes Class.method between underscores."""
    if pytest := _PYTEST.match(line):
        return TestName(pytest[1], pytest[2])
    match = _UNITTEST.match(line)
    if match is None:
        return None
    method, parts = match[1], match[2].split(".")
    if len(parts) > 1 and parts[-1] == method:
        parts.pop()
    if method in _MODULE_LEVEL or parts[-1] in _NOT_A_CLASS:
        return TestName(None, None)
    return TestName(parts[-1], method)
