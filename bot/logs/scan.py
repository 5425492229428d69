"""Reads one job log: `scan`. One pass, bounded memory, nothing concluded that the text does not say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from bot.logs.fold import fold
from bot.logs.form import MAX_MESSAGE, Crossing, Form, find_crossing
from bot.logs.job import JobFacts
from bot.logs.linear import BytesPattern, compile_bytes
from bot.logs.lines import Line, LineReader
from bot.logs.paths import relative_path
from bot.logs.prints import PrintReader
from bot.logs.result import Failure, ScanResult
from bot.logs.section import Report, Section, Sighting, TestName, reported_test
from bot.verdict.reading import Arm, Reading

MAX_EVENTS: Final = 5_000
"""Blocks, crossings and listed failures kept of one log; more than this is no test log."""
MAX_NUMBERS: Final = 1_000_000
"""Per-prompt values kept of one log."""
REPORT_LINES: Final = 2_000
"""Lines of one listed failure that are read; what follows is chatter."""

_LITERALS: Final = (
    rb"kl_divs=|avg_kl_div=|ACC_THRESHOLDS=|\] \d+ samples|\[CI Test Method\]|retry\(\) failed once"
    rb"|Begin \(\d|End \(\d|(?:ERROR|FAIL): \w+ \(|Ran \d+ tests? in|FAILED|##\[error\]|(?:_{3}|={3}) "
    rb"|Runner name: |Machine name: |Current runner version|Complete job name: |Cleaning up orphan"
    rb"|(?m:(?:^|Z )(?:[.EFsx]|\x1b\[[0-9;]*m)+\r?$)"
)
_BEGIN: Final = re.compile(r"[.EFsx]*Begin \(\d+/\d+\):(.*)")
_END: Final = re.compile(r"[.EFsx]*End \(\d+/\d+\):")
_COMMAND: Final = re.compile(r"\s*(?:\S*/)?python[\d.]*(?: -\w)* (\S(?:.{0,400}?\S)?\.py)\b")
_RETRY: Final = re.compile(r"retry\(\) failed once \((\d{1,3})th try, ")
_RAN: Final = re.compile(r"Ran \d+ tests? in [\d.]+s$")
_FILE_FAILED: Final = re.compile(r"\S+ FAILED: (\S.{0,400}?\.py) (returned exit code -?\d+)")
_PYTEST_LIST: Final = re.compile(r"=+ short test summary info =+$")
_PYTEST_FAILED: Final = re.compile(r"(?:FAILED|ERROR) (\S+\.py)::(?:(\w+)::)?(\w+)\S*(?: - (.*))?$")


def scan(stream: BinaryIO | Iterable[bytes], forms: Sequence[Form], *, arm: Arm = Arm.TRIGGER) -> ScanResult:
    """Readings and failures of a job log.

    `forms` are the project's printed failures (a rule pack's `scan_forms`). Values are KL in nats. A log that
    was cut gives what it still says and `complete` False; reaching a cap counts as a cut.
    """
    scanner = _Scanner(forms, arm)
    hints = [re.escape(form.hint).encode() for form in forms]
    interest: BytesPattern = compile_bytes(b"|".join([*hints, _LITERALS]))
    reader = LineReader(stream, interest)
    for line in reader:
        reader.attention = scanner.read(line, reader.attention)
        if scanner.overflow:
            break
    scanner.close(process_ended=False)
    started, finished = reader.first_at, reader.last_at
    complete = scanner.job.complete and not scanner.overflow
    job = scanner.job.as_dict(started, finished)
    return ScanResult(tuple(scanner.readings), tuple(scanner.failures), complete, job)


class _Scanner:
    """Where in the log we are: the file, the listed failure being read, and what was concluded so far."""

    def __init__(self, forms: Sequence[Form], arm: Arm) -> None:
        self._forms, self._arm = forms, arm
        self.job = JobFacts()
        self.readings: list[Reading] = []
        self.failures: list[Failure] = []
        self.overflow = False
        self._events = self._numbers = self._order = 0
        self._open()

    def _open(self, begun: bool = False) -> None:
        self._section, self._begun = Section(), begun
        self._prints = PrintReader()
        self._report: Report | None = None

    def close(self, *, process_ended: bool) -> None:
        """Concludes the open section. Where the log ends within a listed failure, its kind stays unknown."""
        if process_ended:
            self._end_report()
        self.overflow = self.overflow or self._prints.overflow
        host = self.job.runner or self.job.machine
        readings, failures = fold(self._section, self._arm, host)
        self.readings += readings
        self.failures += failures
        self._open()

    def read(self, line: Line, attention: int) -> int:
        """Takes one line; returns how many of the next ones are wanted whatever they hold."""
        self._order += 1
        exited = self.job.read(line)
        if not line.whole:
            return 0
        if exited:
            self._process_exited()
            return 0
        text = line.text
        if begin := _BEGIN.match(text):
            self.close(process_ended=True)
            self._open(begun=True)
            self.job.begun = True
            return 0 if self._find_path(begin[1]) else 3
        if self._begun and self._section.path is None and self._find_path(text):
            return 0
        if _END.match(text):
            self.close(process_ended=True)
            return 0
        if failed := _FILE_FAILED.match(text):
            self._file_failed(relative_path(failed[1]), failed[2])
            return 0
        return self._read_test_output(line, attention)

    def _find_path(self, text: str) -> bool:
        command = _COMMAND.match(text)
        if command:
            self._section.path = relative_path(command[1])
        return command is not None

    def _read_test_output(self, line: Line, attention: int) -> int:
        if test := reported_test(line.text):
            return self._start_report(Report(self._order, test, line.at))
        if _RAN.match(line.text):
            self._end_report()
            self._section.ran = self._prints.banner_done = True
            return 3
        if _PYTEST_LIST.match(line.text):
            self._end_report()
            self._section.ran = True
            return REPORT_LINES
        crossing = find_crossing(line.text, self._forms)
        if self._section.ran and (listed := _PYTEST_FAILED.match(line.text)):
            self._pytest_failed(listed[1], TestName(listed[2], listed[3]), listed[4] or "", crossing)
        elif self._report is not None:
            self._report.read(line.text, crossing)
            if crossing is None:
                self._read_print(line)
        else:
            self._read_running(line, crossing)
        return attention

    def _read_running(self, line: Line, crossing: Crossing | None) -> None:
        retry = _RETRY.search(line.text)
        if crossing is not None:
            if self._spend():
                index = int(retry[1]) if retry else None
                seen = Sighting(self._order, crossing, self._prints.banner, line.at, index)
                self._section.sightings.append(seen)
        elif retry:
            self._section.other_retries[self._prints.banner] += 1
        else:
            self._read_print(line)

    def _read_print(self, line: Line) -> None:
        block = self._prints.read(line, self._order)
        if block is not None and self._spend(len(block.per_prompt)):
            self._section.blocks.append(block)
        self._section.banners = self._prints.banners

    def _start_report(self, report: Report) -> int:
        self._end_report()
        self._prints.banner_done = True
        if not self._spend():
            return 0
        self._report = report
        self._section.reports.append(report)
        return REPORT_LINES

    def _end_report(self) -> None:
        if self._report is not None:
            self._report.finished = True
            self._report = None

    def _pytest_failed(self, path: str, test: TestName, message: str, crossing: Crossing | None) -> None:
        """pytest's closing list names the file, and may cut the message: the entry above it says the rest."""
        for report in self._section.reports:
            if report.test == test and report.path is None:
                report.path = relative_path(path)
                return
        if self._spend():
            report = Report(
                self._order, test, None, relative_path(path), crossing, message[:MAX_MESSAGE], finished=True
            )
            self._section.reports.append(report)

    def _process_exited(self) -> None:
        """The job's step is over; a file that was running and listed no failure died without saying why."""
        path, begun = self._section.path, self._begun
        self.close(process_ended=True)
        if begun and self.job.exit_code:
            self._file_failed(path, f"the process ended with exit code {self.job.exit_code}")

    def _file_failed(self, path: str | None, message: str) -> None:
        if self._begun and self._section.path == path:
            self.close(process_ended=True)
        told = any(failure.file == path and not failure.recovered for failure in self.failures)
        if not told and self._spend():
            self.failures.append(Failure("other", path, path, message=message))

    def _spend(self, numbers: int = 0) -> bool:
        self._events += 1
        self._numbers += numbers
        fits = self._events <= MAX_EVENTS and self._numbers <= MAX_NUMBERS
        self.overflow = self.overflow or not fits
        return fits
