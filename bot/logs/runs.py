"""The processes that ran test files in one job. A suite may run a red file again, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from bot.logs.names import NO_NAME
from bot.logs.result import Failure
from bot.logs.section import Section
from bot.verdict.reading import Reading

UNFINISHED: Final = "the process ended before its tests did"


@dataclass(slots=True)
class Run:
    """One process, and what it says of its tests."""

    path: str | None
    selected: tuple[str, ...] = ()
    failures: list[Failure] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)
    """The last try of each test that it measured, counted over the whole job."""
    ran: bool = False
    failfast: bool = False
    unfinished: bool = False

    @property
    def red(self) -> list[Failure]:
        return [failure for failure in self.failures if not failure.recovered]


@dataclass(slots=True)
class _Later:
    """What the later runs of a file tell."""

    green: bool = False
    passed: dict[str | None, int] = field(default_factory=dict)
    red: set[tuple[str, str | None]] = field(default_factory=set)


class Runs:
    """Of one job. The tries of a file that is run again are counted on: none of them is a first try, since
    only a red file is run again."""

    def __init__(self) -> None:
        self.exited_red = False
        self._runs: list[Run] = []
        self._last: dict[str | None, Run] = {}
        self._red: set[str | None] = set()
        self._tries: dict[str, int] = {}
        self._files: dict[tuple[str | None, tuple[str, ...]], int] = {}
        """The most tries of any test, by file and by what was selected of it."""

    def is_red(self, path: str | None) -> bool:
        """Some failure of the file was told."""
        return path in self._red

    def fail(self, path: str | None, message: str) -> None:
        """The process of a file died without listing a failure."""
        run = self._last.get(path) or self._append(Run(path))
        run.failures.append(Failure("other", path, path, message=message))
        self._red.add(path)

    def add(
        self, section: Section, readings: Iterable[Reading], failures: Iterable[Failure], *, unfinished: bool
    ) -> list[Reading]:
        """Takes what one process printed; returns its readings with the job's tries counted on."""
        again = self._files.get((section.path, section.selected), 0) if section.path else 0
        counted = [replace(r, attempt=(r.attempt or 1) + self._before(r.test, again)) for r in readings]
        told = [replace(f, attempts=f.attempts + self._tries.get(f.test or "", 0)) for f in failures]
        run = Run(section.path, section.selected, told, {}, section.ran, section.failfast, unfinished)
        for reading in counted:
            run.tries[reading.test] = max(run.tries.get(reading.test, 0), reading.attempt or 1)
        if told or counted or section.path is not None or unfinished:
            self._append(run)
        self._note_tries(run)
        self._red |= {failure.file for failure in run.red}
        return counted

    def _before(self, test: str, again: int) -> int:
        """Tries of the test by earlier processes; those of any test of its file if the name is not whole."""
        known = self._tries.get(test, 0)
        file, _, name = test.rpartition("::")
        return max(known, min(again, 1) if file and "." in name else again)

    def _note_tries(self, run: Run) -> None:
        seen = [*run.tries.items(), *((f.test, f.attempts) for f in run.failures if f.test is not None)]
        for test, tries in seen:
            if "::" in test:
                self._tries[test] = max(self._tries.get(test, 0), tries)
        if run.path is not None:
            file = run.path, run.selected
            self._files[file] = max([self._files.get(file, 0), 1, *(tries for _, tries in seen)])

    def _append(self, run: Run) -> Run:
        self._runs.append(run)
        self._last[run.path] = run
        return run

    def settle(self) -> tuple[list[Failure], list[str]]:
        """The job's failures, one for each test, and the files that stopped at their first red test."""
        later: dict[tuple[str, tuple[str, ...]], _Later] = {}
        failures: list[Failure] = []
        censored: list[str] = []
        for run in reversed(self._runs):
            then = later.setdefault((run.path, run.selected), _Later()) if run.path else _Later()
            if run.unfinished and self.exited_red and not then.green and not self.is_red(run.path):
                run.failures.append(Failure("other", run.path, run.path, message=UNFINISHED))
            if run.failfast and run.ran and not then.green:
                censored += [failure.file or NO_NAME for failure in reversed(run.red)]
            judged = [_judge(failure, then) for failure in reversed(run.failures)]
            failures += [failure for failure in judged if failure is not None]
            _note(run, then)
        return failures[::-1], censored[::-1]


def _judge(failure: Failure, then: _Later) -> Failure | None:
    """The failure as the later runs of its file leave it: passed, red again and told there, or as it was."""
    if failure.recovered:
        return failure
    if then.green or failure.test in then.passed:
        tries = max(failure.attempts + 1, then.passed.get(failure.test, 0))
        return replace(failure, recovered=True, attempts=tries)
    return None if (failure.kind, failure.test) in then.red else failure


def _note(run: Run, then: _Later) -> None:
    red = {failure.test for failure in run.red}
    if run.ran:
        then.green = then.green or not red
        then.passed |= {test: tries for test, tries in run.tries.items() if test not in red}
    then.red |= {(failure.kind, failure.test) for failure in run.red}
