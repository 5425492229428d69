"""What logs said: as text for a terminal, and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from bot.logs.result import Failure, ScanResult
from bot.report.console import console, finished
from bot.report.markdown import one_line
from bot.report.numbers import number, plain
from bot.verdict.reading import Reading

ScannedLog = tuple[str, ScanResult]
"""A log's name, and what it said."""

CUT: Final = "The log is cut: what is absent was not seen to pass."
_ROWS: Final = 200
_BAR: Final = 8
"""Columns from zero to the bound."""
_BEYOND: Final = 4
_RIGHT: Final = 44
"""Columns of a row after its name."""


def scan_document(logs: Sequence[ScannedLog]) -> dict[str, object]:
    """Several logs as one document of contracts/scan.schema.json; `source` names the log of each entry."""
    documents = [(name, result.as_dict()) for name, result in logs]
    return {
        "readings": _sourced(documents, "readings"),
        "failures": _sourced(documents, "failures"),
        "complete": all(result.complete for _, result in logs),
        "logs": [
            {
                "log": name,
                "complete": result.complete,
                "readings": len(result.readings),
                "failures": len(result.failures),
                "censored": list(result.censored),
                "job": document["job"],
            }
            for (name, result), (_, document) in zip(logs, documents, strict=True)
        ],
    }


def _sourced(documents: Iterable[tuple[str, dict[str, object]]], key: str) -> list[dict[str, object]]:
    return [
        {**entry, "source": name}
        for name, document in documents
        for entry in document[key]  # type: ignore[attr-defined]
    ]


def scan_text(logs: Sequence[ScannedLog], width: int = 100, color: bool = False) -> str:
    """One log in full; several with a line each, and in full where a test failed. Counts at the end."""
    printed = console(width, color)
    results = [result for _, result in logs]
    if not any(result.readings or result.failures for result in results):
        _print_cut(printed, results)
        these = "this log" if len(results) == 1 else f"these {len(results)} logs"
        printed.print(Text(f"No KL value and no failed test in {these}."))
        return finished(printed)
    if len(logs) == 1:
        _print_cut(printed, results)
        _print_log(printed, results[0])
        printed.print()
    for name, result in logs if len(logs) > 1 else ():
        counted = _counts([result]) if result.readings or result.failures else "nothing found"
        cut = "" if result.complete else "  (cut)"
        printed.print(
            Text(f"{one_line(name, 200)}  {counted}{cut}", style=_log_style(result)), soft_wrap=True
        )
        if result.failures or result.censored:
            _print_log(printed, result)
            printed.print()
    if len(logs) > 1:
        _print_cut(printed, results)
        printed.print(Text(f"{len(logs)} logs: ", style="bold"), end="")
    printed.print(Text(_counts(results), style="bold"))
    return finished(printed)


def _print_cut(printed: Console, results: Sequence[ScanResult]) -> None:
    cut = sum(not result.complete for result in results)
    if cut:
        text = CUT if len(results) == 1 else f"{cut} of the logs cut: what is absent was not seen to pass."
        printed.print(Text(text, style="bold yellow"))


def _log_style(result: ScanResult) -> str:
    if any(not failure.recovered for failure in result.failures):
        return "bold red"
    return "bold yellow" if result.failures or not result.complete else ""


def _counts(results: Sequence[ScanResult]) -> str:
    """`7 values, 2 past their bound; 1 test red, 1 recovered`"""
    values = sum(len(result.readings) for result in results)
    past = sum(
        _past(r, test.failure) for result in results for test in _all_tests(result) for r in test.readings
    )
    recovered = sum(failure.recovered for result in results for failure in result.failures)
    red = sum(len(result.failures) for result in results) - recovered
    told = f"{_many(values, 'value')}, {past} over their bound; " if values else ""
    there = "" if all(result.complete for result in results) else " in what is there"
    told += f"{_many(red, 'test')} red" if red else f"no test red{there}"
    return told + (f", {recovered} recovered on retry" if recovered else "")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(slots=True)
class _Test:
    """One test of a log: what it printed, and how it failed."""

    name: str
    readings: list[Reading] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def failure(self) -> Failure | None:
        """The one that its readings are told by: of a bound, where there is one."""
        return next(
            (f for f in self.failures if f.kind == "bound"), self.failures[-1] if self.failures else None
        )


Place = tuple[str, str]
"""File and class, '' where the log does not name them."""


def _tests(result: ScanResult) -> dict[Place, dict[str, _Test]]:
    """Readings and failures by file, class and method, in the order of the log."""
    found: dict[Place, dict[str, _Test]] = {}

    def test(name: str | None, file: str | None) -> _Test:
        path, cls, method = _parts(name, file)
        return found.setdefault((path, cls), {}).setdefault(method, _Test(method))

    for reading in result.readings:
        test(reading.test, None).readings.append(reading)
    for failure in result.failures:
        test(failure.test, failure.file).failures.append(failure)
    return found


def _all_tests(result: ScanResult) -> Iterator[_Test]:
    for tests in _tests(result).values():
        yield from tests.values()


def _parts(test: str | None, file: str | None) -> tuple[str, str, str]:
    """File, class and method of a test's id; a parameter in brackets stays with the method."""
    path, _, name = (test or "").rpartition("::")
    if name == file:
        return name, "", ""
    head, bracket, parameters = name.partition("[")
    cls, _, method = head.rpartition(".")
    if not cls and not bracket and method[:1].isupper():
        cls, method = method, ""
    return path or file or "", cls, method + bracket + parameters


def _print_log(printed: Console, result: ScanResult) -> None:
    room, shown = _ROWS, ""
    censored = dict.fromkeys(result.censored)
    for (path, cls), tests in _tests(result).items():
        if path != shown:
            printed.print(Text(one_line(path, 300), style="bold"), soft_wrap=True)
            _print_censored(printed, path, censored)
        if cls:
            printed.print(Text(f"  {one_line(cls)}"), soft_wrap=True)
        shown = path
        for test in tests.values():
            if room > 0 or test.failures:
                _print_test(printed, test, max(room, 1))
            room -= len(test.readings)
    for path in tuple(censored):
        printed.print(Text(one_line(path, 300), style="bold"), soft_wrap=True)
        _print_censored(printed, path, censored)
    if room < 0:
        printed.print(Text(f"more than {_ROWS} values: --json has them all"))


def _print_censored(printed: Console, path: str, censored: dict[str, None]) -> None:
    if path in censored:
        del censored[path]
        told = "  stopped at the first red method (-f): later methods did not run"
        printed.print(Text(told, style="yellow"), soft_wrap=True)


def _print_test(printed: Console, test: _Test, room: int) -> None:
    """A test that printed one value and did not fail is one row; any other has a heading."""
    failed = test.failure
    lone = test.readings[0] if len(test.readings) == 1 and failed is None else None
    if lone is not None and _fits(printed, _named(test.name, lone)):
        _print_row(printed, _named(test.name, lone), lone, None)
        return
    if not test.failures and test.name:
        printed.print(Text(f"    {one_line(test.name, 300)}"), soft_wrap=True)
    for failure in test.failures:
        _print_heading(printed, test.name, failure)
    retried = any((reading.attempt or 1) > 1 for reading in test.readings)
    retried = retried or any(failure.attempts > 1 for failure in test.failures)
    for reading in test.readings[:room]:
        trial = f"try {reading.attempt}" if retried and reading.attempt is not None else ""
        _print_row(printed, f"  {_named(trial, reading, test.name)}", reading, failed)


def _print_heading(printed: Console, name: str, failure: Failure) -> None:
    what, style = ("recovered on retry", "bold yellow") if failure.recovered else ("RED", "bold red")
    named = one_line(name, 300) or ("" if failure.test else "a test that the log does not name")
    attempts = f"  ({failure.attempts} attempts)" if failure.attempts > 1 else ""
    line = Text("    ").append(what, style=style).append(f"  {named}{attempts}".rstrip())
    printed.print(line, soft_wrap=True)
    if failure.kind == "other" or failure.value is None:
        printed.print(Text(f"      {one_line(failure.message, 200) or 'no message'}"), soft_wrap=True)


def _named(name: str, reading: Reading, test: str | None = None) -> str:
    """The label stands beside a name that does not tell it."""
    label, beside = reading.label or "", name if test is None else test
    told = label in beside or (beside != "" and beside in label)
    return one_line(name if told else f"{name} {label}".strip(), 200)


def _fits(printed: Console, name: str) -> bool:
    return cell_len(name) <= printed.width - _RIGHT - 4


def _print_row(printed: Console, name: str, reading: Reading, failure: Failure | None) -> None:
    """Name, value beside bound, and a bar that ends at the bound's mark or passes it."""
    space = printed.width - _RIGHT - 4
    name = name if cell_len(name) <= space else f"{set_cell_size(name, space - 1)}…"
    value, bound = reading.value, reading.threshold
    shown = str(reading.status) if value is None else number(value, *([] if bound is None else [bound]))
    limit = "" if bound is None else f" {_sign(value, bound)} {plain(bound)}"
    style = ""
    if _past(reading, failure):
        style = "bold yellow" if failure is None or failure.recovered else "bold red"
    line = Text(f"    {set_cell_size(name, space)}  ").append(f"{shown:>9}{limit:<11}", style=style)
    if value is not None and bound is not None:
        bar = _bar(value, bound)
        line.append(f"  {bar}", style=style)
    printed.print(line, no_wrap=True, overflow="ellipsis")


def _past(reading: Reading, failure: Failure | None) -> bool:
    """Whether the value is on the failing side of its bound; nan is."""
    if reading.value is None or reading.threshold is None:
        return False
    if failure is not None and failure.fails_when == "below":
        return not reading.value >= reading.threshold
    return not reading.value <= reading.threshold


def _sign(value: float | None, bound: float) -> str:
    if value is None or value != value:
        return "?"
    return ">" if value > bound else "<" if value < bound else "="


def _bar(value: float, bound: float) -> str:
    """`======  │` under the bound, `========│=   ×1.13` over it."""
    if value != value or bound <= 0:
        return ""
    share = max(value / bound, 0.0)
    cells = min(round(min(share, 9.0) * _BAR), _BAR + _BEYOND)
    if value > bound:
        beyond = max(cells - _BAR, 1)
        mark = "=" * (beyond - 1) + (">" if share * _BAR > _BAR + _BEYOND else "=")
        return f"{'=' * _BAR}│{mark:<{_BEYOND}} ×{share:.3g}"
    return f"{'=' * min(cells, _BAR):<{_BAR}}│"
