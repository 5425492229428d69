"""Reads one job log: `scan`. One pass, bounded memory, nothing concluded that the text does not say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import BinaryIO, Final

from bot.logs.budget import Budget
from bot.logs.fold import fold
from bot.logs.form import Crossing, LogForms
from bot.logs.job import Event, JobFacts
from bot.logs.linear import BytesPattern, compile_bytes
from bot.logs.lines import Line, LineReader
from bot.logs.lookahead import Lookahead
from bot.logs.output import OutputReader
from bot.logs.paths import relative_path
from bot.logs.result import Failure, ScanResult
from bot.logs.runs import Runs
from bot.logs.section import Section
from bot.verdict.reading import Arm, Reading

_LITERALS: Final = (
    rb"\[CI Test Method\]|retry\(\) failed once|Begin \(\d|End \(\d|(?:ERROR|FAIL): \w+ \(|Ran \d+ tests? in"
    rb"|FAILED|TIMEOUT: |PASSED|RERUN|##\[error\]|##\[group\]Run |(?:_{3}|={3}) "
    rb"|\.py(?:::| [.FEsx])|\) \.\.\. |!!! |bringing up nodes|\d workers? \[\d|Runner name: |Machine name: "
    rb"|Current runner version|Complete job "
    rb"|Cleaning up orphan|GPU \d+: |(?: (?:passed|failed|errors?|warnings?)| ran) in \d"
    rb"|(?m:(?:^|Z )(?:(?:[.EFsx]|\x1b\[[0-9;]*m)+|test\w* \([\w.<>]+\))\r?$)"
)
_BEGIN: Final = re.compile(r"[.EFsx]*Begin \(\d+/\d+\)( BUNDLE .*)?:(.*)")
_END: Final = re.compile(r"[.EFsx]*End \(\d+/\d+\)(?: BUNDLE .*)?:")
_COMMAND: Final = re.compile(
    r"\s*(?:\S*/)?python[\d.]*(?: -\w)* (?:(?:pytest|unittest) )?(?:-\S+ )*(\S(?:.{0,400}?\S)?\.py)\b(.*)"
)
_FAILFAST: Final = re.compile(r"(?:^| )(?:-f|--failfast|-x|--exitfirst|--maxfail[= ]1)(?: |$)")
_FILE_FAILED: Final = re.compile(
    r"\S+ (?:FAILED|TIMEOUT): (\S.{0,400}?\.py) (returned exit code -?\d+|after \d+ seconds)"
)
_SESSION: Final = re.compile(r"=+ test session starts =+$")


def scan(stream: BinaryIO | Iterable[bytes], forms: LogForms, *, arm: Arm = Arm.TRIGGER) -> ScanResult:
    """Readings and failures of a job log.

    `forms` is what the project prints (a rule pack's `scan_forms`). Values are KL in nats. A log that was
    cut, or whose job was cancelled while a file ran, gives what it still says and `complete` False; reaching
    a cap counts as a cut.
    """
    scanner = _Scanner(forms, arm)
    reader, ahead = LineReader(stream, _interest(frozenset(forms.hints))), Lookahead(forms.forms)
    for raw in reader:
        for line, crossing in ahead.read(raw):
            reader.attention = scanner.read(line, crossing, reader.attention)
        reader.attention = max(reader.attention, ahead.missing)
        if scanner.budget.overflow:
            break
    for line, crossing in ahead.flush():
        scanner.read(line, crossing, 0)
    return scanner.result(reader.first_at, reader.last_at)


@lru_cache(maxsize=16)
def _interest(hints: frozenset[str]) -> BytesPattern:
    """All texts worth a look in one pass."""
    return compile_bytes(b"|".join([*(re.escape(hint).encode() for hint in sorted(hints)), _LITERALS]))


class _Scanner:
    """Where in the log we are: the job, the file, and what was concluded so far."""

    def __init__(self, forms: LogForms, arm: Arm) -> None:
        self._forms, self._arm = forms, arm
        self._job = JobFacts()
        self.budget = Budget()
        self._readings: list[Reading] = []
        self._failures: list[Failure] = []
        self._censored: dict[str, None] = {}
        self._runs = Runs()
        self._told: set[tuple[str, ...]] = set()
        """What the crossings of the job's test processes stated."""
        self._cut = False
        """The job ended, or another log began, while a file was running."""
        self._order = self._job_from = 0
        self._open()

    def _open(self, begun: bool = False, bundle: bool = False) -> None:
        self._output, self._begun = OutputReader(self._forms, self.budget), begun
        self._bundle = bundle

    def result(self, started: str | None, finished: str | None) -> ScanResult:
        self._close(process_ended=False)
        self._end_job()
        complete = self._job.complete and not self.budget.overflow and not self._cut
        job = self._job.as_dict(started, finished)
        return ScanResult(tuple(self._readings), tuple(self._failures), complete, job, tuple(self._censored))

    def read(self, line: Line, crossing: Crossing | None, attention: int) -> int:
        """Takes one line; returns how many of the next ones are wanted whatever they hold."""
        self._order += 1
        if line.whole and line.text.startswith("Current runner version"):
            self._start_job()
        event = self._job.read(line)
        if event is Event.EXITED and line.whole:
            self._process_exited()
        elif event is Event.INTERRUPTED:
            self._interrupted()
        if event is not None or not line.whole:
            return 0
        return self._read_file(line, crossing, attention)

    def _read_file(self, line: Line, crossing: Crossing | None, attention: int) -> int:
        text, section = line.text, self._output.section
        if begin := _BEGIN.match(text):
            self._close(process_ended=True)
            self.budget.open_file()
            self._open(begun=True, bundle=begin[1] is not None)
            self._job.begun = True
            return 0 if self._find_path(begin[2]) else 3
        if self._begun and section.path is None and self._find_path(text):
            return 0
        if _END.match(text):
            self._close(process_ended=True, at_end=self._begun)
            return 0
        if failed := _FILE_FAILED.match(text):
            self._file_failed(relative_path(failed[1]), failed[2])
            return 0
        if text.startswith("##[group]Run ") or _SESSION.match(text):
            if section.ran or not self._begun:
                self._close(process_ended=section.ran)
            return 0
        return self._output.read(line, crossing, self._order, attention)

    def _find_path(self, text: str) -> bool:
        """Reads a command; one that runs a bundle of files has no path."""
        section, command = self._output.section, None if self._bundle else _COMMAND.match(text)
        if command or self._bundle:
            section.failfast = section.failfast or _FAILFAST.search(text) is not None
        if command:
            section.path = relative_path(command[1])
            section.selected = tuple(word for word in command[2].split() if not word.startswith("-"))
        return command is not None

    def _close(self, *, process_ended: bool, at_end: bool = False) -> None:
        """Concludes the open section. Where the log ends within a listed failure, its kind stays unknown."""
        if process_ended:
            self._output.end_report()
        section = self._output.section
        self._drop_repeats(section)
        readings, failures = fold(section, self._arm, self._job.host)
        self._readings += self._runs.add(section, readings, failures, unfinished=at_end and not section.ran)
        self._open()

    def _drop_repeats(self, section: Section) -> None:
        """Outside any test process, a crossing that was told before is a report of it."""
        if not (self._begun or section.banners or section.reports or section.blocks):
            section.sightings = [s for s in section.sightings if s.crossing.statement not in self._told]
        self._told |= {seen.crossing.statement for seen in section.sightings}
        self._told |= {report.crossing.statement for report in section.reports if report.crossing}

    @property
    def _running(self) -> bool:
        section = self._output.section
        return not section.ran and (self._begun or not section.empty)

    def _start_job(self) -> None:
        """The log of another attempt, or of another job, follows."""
        self._cut = self._cut or self._running or (self._job.whole_job and not self._job.ended)
        self._close(process_ended=False)
        self._end_job()
        self._job.restart()

    def _end_job(self) -> None:
        """What the job says of its machine holds for all its readings, and its last runs of a file for the
        earlier ones."""
        failures, censored = self._runs.settle()
        self._failures += failures
        self._censored |= dict.fromkeys(censored)
        self._runs, self._told = Runs(), set()
        gpu = self._job.gpu
        if gpu is not None:
            of_job = self._readings[self._job_from :]
            self._readings[self._job_from :] = [replace(reading, gpu=gpu) for reading in of_job]
        self._job_from = len(self._readings)

    def _interrupted(self) -> None:
        self._cut = self._cut or self._running
        self._close(process_ended=False)

    def _process_exited(self) -> None:
        """The job's step is over; a file that was running and listed no failure died without saying why."""
        path, begun = self._output.section.path, self._begun
        self._output.section.exited_red = bool(self._job.exit_code)
        self._close(process_ended=True)
        if begun and self._job.exit_code:
            self._file_failed(path, f"the process ended with exit code {self._job.exit_code}")
        self._runs.exited_red = self._runs.exited_red or bool(self._job.exit_code)

    def _file_failed(self, path: str | None, message: str) -> None:
        if self._begun and self._output.section.path == path:
            self._close(process_ended=True)
        if not self._runs.is_red(path) and self.budget.spend():
            self._runs.fail(path, message)
