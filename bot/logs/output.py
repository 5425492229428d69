"""The output of one test file's process, or of one pytest session: prints, tries, listed failures."""

from __future__ import annotations

import re
from typing import Final

from bot.logs.budget import Budget
from bot.logs.form import MAX_MESSAGE, Crossing, LogForms
from bot.logs.job import PYTEST_FOOTER
from bot.logs.lines import Line
from bot.logs.names import UNKNOWN, TestName, node_id, pytest_header, unittest_head, unittest_header
from bot.logs.paths import relative_path
from bot.logs.prints import PrintReader
from bot.logs.section import Report, Retry, Section, Sighting

MAX_NODES: Final = 20_000
"""Tests that pytest may name on the lines of one session."""
REPORT_LINES: Final = 2_000
"""Lines of one listed failure that are read; what follows is chatter."""
AFTER_HEAD: Final = 3

_RETRY: Final = re.compile(r"retry\(\) failed once \((\d{1,3})th try, (?:.*? Error: (.*))?")
_OWN_RETRY: Final = re.compile(r"[.EFsx]*retry\(\) failed once")
"""As the test's own process prints it; that of a server stamps its lines."""
_RAN: Final = re.compile(r"Ran \d+ tests? in [\d.]+s$")
_TITLE: Final = re.compile(
    r"=+ (FAILURES|ERRORS|PASSES|XFAILURES|XPASSES|(?:short|rerun) test summary info|warnings summary.*) =+$"
)
_PROGRESS: Final = re.compile(r"(\S+\.py) [.FEsxXRu]+ *(?:\[ *\d+%\])?$")
_CAPTURED: Final = re.compile(r"-+ Captured (?:stdout|stderr|log) (?:setup|call|teardown) -+$")
_WORKER: Final = re.compile(r"\[gw\d+\] \[ *\d+%\] ([A-Z]+) (.*)")
_WORKERS: Final = re.compile(r"bringing up nodes\.\.\.|\d+ workers? \[\d+ items?\]|created: \d+/\d+ workers?")
_OUTCOME: Final = re.compile(
    r"(PASSED|FAILED|ERROR|RERUN|SKIPPED|XFAIL|XPASS)(?: \(.*\))? {0,200}(?:\[ *\d+%\])? {0,20}$"
)
_HEAD_OUTCOME: Final = re.compile(r"(?:ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
_LISTED: Final = re.compile(
    r"(?:FAILED|ERROR|SUBFAILED(?:[\[(][^\])]*[\])])*) (\S+?\.py)(?:::(.*?))?(?: - (.*))?$"
)
_STOPPED: Final = re.compile(r"!+ (?:[\w.]*Interrupted: )?stopping after \d+ failures? !+$")


class OutputReader:
    """Collects one `section`. Lines within a listed failure go to its report, others to the running test."""

    def __init__(self, forms: LogForms, budget: Budget) -> None:
        self.section = Section()
        self._prints = PrintReader(forms.prints, budget)
        self.section.banners = self._prints.banners
        self._budget = budget
        self._report: Report | None = None
        self._part: str | None = None
        """The part of pytest's closing lists that is being read."""
        self._captured = False
        self._docstring_of: TestName | None = None
        """The test whose docstring stands on the next line."""

    def end_report(self) -> None:
        if self._report is not None:
            self._report.finished = True
            self._report = None
        self._captured = False

    def read(self, line: Line, crossing: Crossing | None, order: int, attention: int) -> int:
        """Takes one line; returns how many of the next ones are wanted whatever they hold."""
        wanted = self._read_structure(line, crossing, order)
        if wanted is not None:
            return wanted or attention
        if self._report is not None and not self._captured:
            self._report.read(line.text, crossing)
            if crossing is None:
                self._read_print(line, order)
        else:
            self._read_running(line, crossing, order)
        return attention

    def _read_structure(self, line: Line, crossing: Crossing | None, order: int) -> int | None:
        """None if the line is none of the runner's own."""
        text = line.text
        if title := _TITLE.match(text):
            return self._start_part(title[1])
        if _RAN.match(text) or PYTEST_FOOTER.match(text):
            return self._end_run(order)
        if _CAPTURED.match(text) or (text == "Stdout:" and self._report is not None):
            return self._start_captured()
        if _STOPPED.match(text):
            self.section.failfast = True
            return 0
        if self._part is None:
            if header := unittest_header(text):
                return self._start_report(Report(order, header[0], line.at, header[1]))
            if self._report is None:
                return self._read_progress(line, crossing, order)
        elif self._part == "short test summary info":
            self._read_listed(text, crossing, order)
            return 0
        elif header := pytest_header(text):
            return self._start_entry(Report(order, header[0], line.at, header[1], by_pytest=True))
        return None

    def _start_part(self, title: str) -> int:
        self.end_report()
        self._part = title
        self._prints.enter(UNKNOWN)
        self._prints.fixed = True
        if title == "short test summary info":
            self.section.ran = True
        return REPORT_LINES

    def _end_run(self, order: int) -> int:
        self.end_report()
        self.section.ran_at = order
        self.section.ran = self._prints.banner_done = True
        self._part = None
        return AFTER_HEAD

    def _start_captured(self) -> int:
        self._captured = True
        if self._report is not None:
            self._prints.enter(self._report.test)
            self._prints.fixed = True
        return 0

    def _start_entry(self, report: Report) -> int:
        """pytest lists failures, and with `-rP` passed tests too; those are no failures."""
        if self._part in ("FAILURES", "ERRORS"):
            return self._start_report(report)
        self._captured = True
        self._prints.enter(report.test)
        return REPORT_LINES

    def _start_report(self, report: Report) -> int:
        self.end_report()
        self._prints.banner_done = True
        if not self._budget.spend():
            return 0
        self._report = report
        self.section.reports.append(report)
        return REPORT_LINES

    def _read_progress(self, line: Line, crossing: Crossing | None, order: int) -> int | None:
        """Lines that tell which test runs, and how it ended."""
        text = line.text
        documented, self._docstring_of = self._docstring_of, None
        if documented is not None and " ... " in text:
            rest = text.rpartition(" ... ")[2]
            return self._enter_head(documented, rest, line, crossing, order)
        if worker := _WORKER.match(text):
            self._goes_parallel()
            if node := node_id(worker[2].strip()):
                self._note_outcome(node[0], worker[1])
            return 0
        if _WORKERS.match(text):
            self._goes_parallel()
            return 0
        if progress := _PROGRESS.match(text):
            if len(self.section.files) < 2 and (path := relative_path(progress[1])):
                self.section.files.add(path)
            return 0
        if node := node_id(text):
            return self._enter_node(*node, line, crossing, order)
        if (ended := _OUTCOME.match(text)) and self._prints.banner.path and not self._prints.fixed:
            self._note_outcome(self._prints.banner, ended[1])
            self._prints.banner_done = True
            return 0
        if head := unittest_head(text):
            return self._enter_head(*head, line, crossing, order)
        return None

    def _goes_parallel(self) -> None:
        if not self.section.parallel:
            self.section.parallel = self._prints.fixed = True
            self._prints.enter(UNKNOWN)

    def _note_node(self, test: TestName) -> None:
        if len(self.section.nodes) < MAX_NODES:
            self.section.nodes.add(test)
        elif test not in self.section.nodes:
            self._budget.overflow = True

    def _note_outcome(self, test: TestName, outcome: str) -> None:
        self._note_node(test)
        if outcome == "PASSED" and test in self.section.reruns:
            self.section.passed.add(test)
        elif outcome == "RERUN" and self._budget.spend():
            self.section.reruns[test] += 1

    def _enter_node(
        self, test: TestName, rest: str, line: Line, crossing: Crossing | None, order: int
    ) -> int:
        if self.section.parallel:
            self._note_node(test)
            return 0
        if ended := _OUTCOME.match(rest):
            self._prints.enter(UNKNOWN)
            self._note_outcome(test, ended[1])
            return 0
        self._note_node(test)
        self._prints.enter(test, try_number=1 + self.section.reruns[test])
        if rest.strip():
            self._read_running(Line(rest, line.at), crossing, order)
        return 0

    def _enter_head(
        self, test: TestName, rest: str | None, line: Line, crossing: Crossing | None, order: int
    ) -> int:
        """`unittest -v` writes heads to stderr: a print on the same line shows that stdout does not lag."""
        if not self._prints.flushing and not self._prints.fixed:
            printed = bool(rest and not _HEAD_OUTCOME.match(rest))
            self._prints.enter(test, lags=not printed)
            if rest and printed:
                self._read_running(Line(rest, line.at), crossing, order)
            if rest is None:
                self._docstring_of = test
                return 1
        return 0

    def _read_running(self, line: Line, crossing: Crossing | None, order: int) -> None:
        retry, banner = _RETRY.search(line.text), self._prints.banner
        if retry and (crossing is None or crossing.value is None):
            self._note_retry(banner, int(retry[1]), retry[2] or "")
            if banner.known and _OWN_RETRY.match(line.text) and self._budget.spend():
                self.section.retries.append(Retry(order, banner, int(retry[1]) + 1))
        elif crossing is not None:
            if self._budget.spend():
                index = int(retry[1]) if retry else None
                self.section.sightings.append(Sighting(order, crossing, banner, line.at, index))
        else:
            self._read_print(line, order)

    def _note_retry(self, banner: TestName, index: int, error: str) -> None:
        if banner.known:
            self.section.other_retries[banner] += 1
        elif error and self._budget.spend():
            tries = self.section.nameless_retries
            tries[error[:MAX_MESSAGE]] = max(tries.get(error[:MAX_MESSAGE], 0), index + 1)

    def _read_print(self, line: Line, order: int) -> None:
        block = self._prints.read(line, order)
        if block is not None and self._budget.spend(len(block.per_prompt)):
            self.section.blocks.append(block)

    def _read_listed(self, text: str, crossing: Crossing | None, order: int) -> None:
        """pytest's closing list names the file, and may cut the message: the entry above it says the rest."""
        listed = _LISTED.match(text)
        if listed is None:
            return
        node = node_id(f"{listed[1]}::{listed[2]}") if listed[2] else None
        test = node[0] if node else TestName(None, None, relative_path(listed[1]))
        known = [report for report in self.section.reports if report.test.agrees(test)]
        for report in known:
            if report.test.path is None or report.test == test:
                report.test = test
                return
        if self._budget.spend():
            message = (listed[3] or "")[:MAX_MESSAGE]
            report = Report(order, test, None, crossing=crossing, message=message, finished=True)
            self.section.reports.append(report)
