"""What one test file's process printed, in order, before anything is concluded from it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from bot.logs.form import MAX_MESSAGE, Crossing
from bot.logs.names import TestName

_EXCEPTION: Final = re.compile(r"([A-Za-z_][\w.]*): (.*)|([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))")
_GROUP_MARGIN: Final = re.compile(r"\s*(?:\| |\+[-+]* ?)+")
_E_MARGIN: Final = re.compile(r"E(?: {2,}|$)")
_FILE: Final = re.compile(r'  File ".*", line \d+')
_NATIVE: Final = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):$")
_OPENS: Final = re.compile(r"-{20,}$|(?:Exception Group )?Traceback \(most recent call last\):$|\d+ -{10,}$")


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
    try_number: int | None = None
    """Which try of the test it is (from 1), where the runner says so."""
    lags: bool = False
    """stdout may lag behind the banner, which is then only the last test that began."""
    threshold: float | None = None

    @property
    def trusted(self) -> bool:
        """The test named by the banner was running when this was printed."""
        return self.banner.known and not self.banner_done and not self.lags


@dataclass(frozen=True, slots=True)
class Sighting:
    """A crossing printed while the test ran: in a traceback (try_index None) or on the line of a retry. One
    without a number never stands on a retry's line."""

    order: int
    crossing: Crossing
    banner: TestName
    at: str | None
    try_index: int | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """A test's try, `number` from 1, failed for a reason that is no crossing, and was followed by another."""

    order: int
    banner: TestName
    number: int


@dataclass(slots=True)
class Report:
    """One entry of the runner's list of failures at the end."""

    order: int
    test: TestName
    at: str | None
    label: str | None = None
    """Of a subtest."""
    by_pytest: bool = False
    """Only the lines with pytest's margin 'E   ' tell the exception (`--tb=native` has none)."""
    crossing: Crossing | None = None
    message: str = ""
    retried: bool = False
    finished: bool = False
    _awaits_exception: bool = False
    _awaits_crossing: bool = True
    _in_source: bool = False
    """Within the source lines under a traceback's `File "…"`: what they hold was not printed by a check."""

    def read(self, line: str, crossing: Crossing | None) -> None:
        """One line of the entry. Of each exception the first crossing counts, and of those the last: it made
        the test red."""
        margin = _E_MARGIN.match(line)
        text = line[margin.end() :] if margin else line
        if group := _GROUP_MARGIN.match(text):
            text = text[group.end() :]
        if self.by_pytest and _NATIVE.match(text):
            self.by_pytest = margin is not None
        if self.by_pytest and margin is None:
            self._awaits_exception = self._awaits_crossing = True
            return
        self._in_source = bool(_FILE.match(text)) or (self._in_source and text.startswith("    "))
        if _OPENS.match(text):
            self._awaits_exception = self._awaits_crossing = True
        elif crossing is not None and not self._in_source:
            self._take(crossing)
        elif text.startswith("Exception: retry() "):
            self.retried = True
        elif self._opens_message(text):
            self.message, self._awaits_exception = text.strip()[:MAX_MESSAGE], False

    def _opens_message(self, text: str) -> bool:
        """The first line of an exception; by pytest, whatever stands there."""
        if self.by_pytest:
            return self._awaits_exception or not self.message
        return self._awaits_exception and _EXCEPTION.fullmatch(text) is not None

    def _take(self, crossing: Crossing) -> None:
        numbered = self.crossing is not None and self.crossing.value is not None
        if (crossing.value is None and not numbered) or (
            crossing.value is not None and (self._awaits_crossing or not numbered)
        ):
            self.crossing, self._awaits_crossing = crossing, False


@dataclass(slots=True)
class Section:
    """The output of one test file (`path` None: the log does not say which)."""

    path: str | None = None
    blocks: list[Block] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    banners: set[TestName] = field(default_factory=set)
    nodes: set[TestName] = field(default_factory=set)
    """Tests that pytest's verbose lines name, with their files."""
    files: set[str] = field(default_factory=set)
    """Files that pytest's progress lines name; two are enough to know that there is more than one."""
    other_retries: Counter[TestName] = field(default_factory=Counter)
    """Lines of retries without a crossing, whoever retried, by the banner they stand under."""
    nameless_retries: dict[str, int] = field(default_factory=dict)
    """The same where no banner came before them: how often, by the error they state."""
    reruns: Counter[TestName] = field(default_factory=Counter)
    """Failed tries that pytest's own reruns followed."""
    passed: set[TestName] = field(default_factory=set)
    """Tests that passed after a rerun."""
    failfast: bool = False
    """The runner stops at the first red test."""
    parallel: bool = False
    """Several workers printed at once."""
    exited_red: bool = False
    """The process ended with an exit code other than 0."""
    ran: bool = False
    """The runner's own count ('Ran 4 tests') was seen, so every red test has been listed."""
    ran_at: int | None = None
    """The place of that count in the log."""
    selected: tuple[str, ...] = ()
    """What the command names beside the file: the tests to run."""

    _paths: dict[tuple[str | None, str | None], set[str]] = field(default_factory=dict)
    _reruns: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    _retries: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)

    @property
    def empty(self) -> bool:
        return not (self.blocks or self.sightings or self.reports or self.banners or self.nodes)

    def index_names(self) -> None:
        """Makes the methods below know the names seen; call it once the section is whole."""
        for name in self.banners | self.nodes:
            if name.path is not None:
                self._paths.setdefault(name.key, set()).add(name.path)
        for name, count in self.reruns.items():
            self._reruns[name.key] = max(self._reruns[name.key], count)
        for name, count in self.other_retries.items():
            self._retries[name.key] = max(self._retries[name.key], count)

    def path_of(self, test: TestName) -> str | None:
        """The section's file; else the one that the test's name or its progress line tells; else the only one
        of the session."""
        seen = self._paths.get(test.key, set()) or self.files
        return self.path or test.path or (next(iter(seen)) if len(seen) == 1 else None)

    def retries_of(self, report: Report) -> int:
        """Tries before the last one that the harness's own retry made."""
        if not report.retried:
            return 0
        by_error = (n for error, n in self.nameless_retries.items() if report.message.endswith(error))
        return self._retries[report.test.key] or max(by_error, default=0)

    def reruns_of(self, test: TestName) -> int:
        return self.reruns[test] if test.path is not None else self._reruns[test.key]
