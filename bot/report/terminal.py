"""Verdict, log scan and site as text for a terminal."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.logs.result import ScanResult
from bot.report.axis import Axis, axis
from bot.report.markdown import one_line
from bot.report.numbers import (
    exceeded,
    minutes,
    number,
    percent,
    percent_interval,
    plain,
    ratio_interval,
    spread,
)
from bot.report.tables import values
from bot.report.words import CROSS, PASS, words
from bot.source.site import Site
from bot.verdict.answer import Proposal, Verdict
from bot.verdict.reading import Arm, Reading, Status

_STYLE: Final = {PASS: "bold green", CROSS: "bold red"}
_ROWS: Final = 200
_NAME: Final = 8


def verdict_text(
    verdict: Verdict,
    readings: Sequence[Reading] = (),
    width: int = 100,
    color: bool = False,
    bound: float | None = None,
) -> str:
    """Verdict, numbers, arms against the bound, what comes next. `bound` None: the one in the readings."""
    limit = bound if bound is not None else _bound(verdict, readings)
    new = verdict.proposal.threshold if verdict.proposal else None
    chosen = words(verdict)
    console = _console(width, color)
    heading = Text(chosen.label, style=_STYLE.get(chosen.icon, "bold yellow"))
    console.print(heading.append(f"  {one_line(verdict.reason, 80)}", style="dim"))
    console.print(Text(one_line(verdict.sentence, 1000)), "")
    numbers = verdict.numbers
    if numbers.runs or numbers.exceedance or numbers.levels:
        console.print(_arms(verdict, limit))
    if numbers.ratio is not None:
        shown = f"head over base ×{ratio_interval(numbers.ratio)}"
        if numbers.min_detectable_ratio is not None:
            shown += f"; these runs would have shown ×{number(numbers.min_detectable_ratio)} or more"
        console.print(Text(shown))
    if numbers.gpu_minutes is not None:
        console.print(Text(f"machine time {minutes(numbers.gpu_minutes)}"))
    for line in _plot(readings, limit, new, console.width):
        console.print(Text(line), no_wrap=True, overflow="crop")
    console.print(Text(_next(verdict)))
    if verdict.proposal is not None:
        for line in _proposal(verdict.proposal):
            console.print(Padding(Text(line), (0, 0, 0, 2)))
    return _finished(console)


def scan_text(result: ScanResult, width: int = 100, color: bool = False) -> str:
    """Failures first, then every printed value."""
    console = _console(width, color)
    if not result.complete:
        console.print(Text("The log is cut: what is absent was not seen to pass.", style="bold yellow"))
    if not result.failures:
        console.print(Text(f"No failed test in {'this log' if result.complete else 'what is there'}."))
    for failure in result.failures[:_ROWS]:
        name = one_line(failure.test or failure.file or "a test the log does not name", 200)
        what = "recovered on retry" if failure.recovered else "red"
        console.print(
            Text(f"{what}  {name}", style="bold yellow" if failure.recovered else "bold red"), soft_wrap=True
        )
        console.print(
            Padding(Text(_failure(failure.value, failure.threshold, failure.message)), (0, 0, 0, 2))
        )
        console.print(Text(f"  {failure.attempts} attempt{'s' if failure.attempts != 1 else ''}"))
    _more(console, len(result.failures), "failures")
    if result.readings:
        table = _table("test", "check", "try", "KL", "bound", right=(2, 3, 4))
        for reading in result.readings[:_ROWS]:
            table.add_row(*_reading_cells(reading))
        console.print(table)
        _more(console, len(result.readings), "readings")
    return _finished(console)


def site_text(site: Site, width: int = 100, color: bool = False) -> str:
    """Where the bound stands and what hangs on it."""
    console = _console(width, color)
    console.print(Text(f"{one_line(site.path)}:{site.line}:{site.column}", style="bold"), soft_wrap=True)
    set_in = f"{one_line(site.cls)}.{one_line(site.attribute)} = {one_line(site.spelling)}"
    console.print(Text(f"  {set_in}  ({plain(site.value)}, scope {one_line(site.scope)})"), soft_wrap=True)
    for test in site.governs[:_ROWS]:
        console.print(Text(f"  governs  {one_line(test)}"), soft_wrap=True)
    for sibling in site.siblings[:_ROWS]:
        console.print(
            Text(f"  sibling  {one_line(sibling.cls)} = {plain(sibling.value)} in {one_line(sibling.path)}"),
            soft_wrap=True,
        )
    _more(console, max(len(site.governs), len(site.siblings)), "lines")
    return _finished(console)


def _arms(verdict: Verdict, bound: float | None) -> Table:
    numbers = verdict.numbers
    limits = [] if bound is None else [bound]
    over = "over the bound" if bound is None else f"over {plain(bound)}"
    table = _table("arm", "runs", "missing", over, "median (range), nats", right=(1, 2))
    known = {*numbers.runs, *numbers.exceedance, *numbers.levels}
    for arm in [*(str(arm) for arm in Arm if arm in known), *sorted(known - {str(arm) for arm in Arm})]:
        runs, rate, level = numbers.runs.get(arm), numbers.exceedance.get(arm), numbers.levels.get(arm)
        table.add_row(
            Text(one_line(arm, 20)),
            str(runs.ok) if runs else "-",
            str(runs.missing) if runs else "-",
            exceeded(rate) if rate and rate.n else "-",
            spread(level, *limits) if level else "-",
        )
    return table


def _plot(readings: Sequence[Reading], bound: float | None, new: float | None, width: int) -> list[str]:
    """One row of dots an arm; the bound stands as a line through all rows."""
    arms = {arm: [v for v in values(readings, arm) if math.isfinite(v)] for arm in Arm}
    scale = axis((v for found in arms.values() for v in found), [b for b in (bound, new) if b is not None])
    room = min(width - _NAME - 2, 90)
    if scale is None or room < 20 or not any(arms.values()):
        return []
    lines = [""]
    for arm, found in arms.items():
        if found:
            lines.append(f"{arm:>{_NAME}} {_dots(found, scale, bound, new, room)}")
    marks = [" "] * (width - _NAME - 1)
    for limit, name in ((bound, "bound"), (new, "proposed")):
        if limit is not None:
            column, label = _column(scale, limit, room), f"{name} {plain(limit)}"
            if not _write(marks, column, f"^ {label}"):
                _write(marks, column - len(label) - 1, f"{label} ^")
    ticks = [" "] * (width - _NAME - 1)
    for tick in scale.ticks():
        _write(ticks, _column(scale, tick, room), plain(tick))
    pad = " " * (_NAME + 1)
    kind = "log axis" if scale.log else "linear axis"
    legend = f"{pad}KL in nats, {kind}; · one run, : two or three, # more"
    return [*lines, pad + "".join(marks).rstrip(), pad + "".join(ticks).rstrip(), legend, ""]


def _dots(found: Sequence[float], scale: Axis, bound: float | None, new: float | None, room: int) -> str:
    counts = [0] * room
    for value in found:
        counts[_beside(scale, value, bound, room)] += 1
    cells = [" " if not n else "·" if n == 1 else ":" if n < 4 else "#" for n in counts]
    if new is not None and cells[_column(scale, new, room)] == " ":
        cells[_column(scale, new, room)] = "┊"
    if bound is not None:
        cells[_column(scale, bound, room)] = "│"
    return "".join(cells)


def _column(scale: Axis, limit: float, room: int) -> int:
    """Leaves a column on either side for the dots."""
    return min(max(int(scale.place(limit) * room), 1), room - 2)


def _beside(scale: Axis, value: float, bound: float | None, room: int) -> int:
    """A dot never stands in the bound's own column, nor on its wrong side."""
    column = min(int(scale.place(value) * room), room - 1)
    if bound is None:
        return column
    line = _column(scale, bound, room)
    return max(column, line + 1) if value > bound else min(column, line - 1)


def _write(cells: list[str], start: int, text: str) -> bool:
    """Only where it does not run into what stands there already or over the edge."""
    end = start + len(text)
    if start < 0 or end > len(cells) or any(cell != " " for cell in cells[max(start - 1, 0) : end + 1]):
        return False
    cells[start:end] = text
    return True


def _next(verdict: Verdict) -> str:
    if verdict.next is None and verdict.proposal is not None:
        return "next: a person decides on the proposed bound"
    if verdict.next is None:
        return f"next: {words(verdict).next.replace('`', '')}"
    wanted = [f"{arm} {plan.launches} launches × {plan.repeats}" for arm, plan in verdict.next.arms.items()]
    return f"next: run {', '.join(wanted)}, append the readings and decide again"


def _proposal(proposal: Proposal) -> list[str]:
    expected = proposal.exceedance
    move, why = (
        f"{plain(proposal.old)} -> {plain(proposal.threshold)}",
        one_line(proposal.why_this_value, 400),
    )
    interval = percent_interval(expected.low, expected.high)
    lines = [
        f"proposal: {move}; {why}",
        f"expected over it: {percent(expected.rate)} of CI jobs ({interval}),"
        f" at most {percent(expected.exact_high)} without a model",
    ]
    if proposal.still_catches:
        catches = (
            f"×{plain(c.ratio)} {percent(c.before)} -> {percent(c.after)}" for c in proposal.still_catches
        )
        lines.append(f"one CI job red when the level is multiplied by: {', '.join(catches)}")
    return [*lines, *(f"instead: {one_line(remedy)}" for remedy in proposal.remedies[:5])]


def _failure(value: float | None, bound: float | None, message: str) -> str:
    if value is None:
        return one_line(message, 200) or "no value printed"
    limit = "" if bound is None else f", bound {plain(bound)}"
    return f"KL {number(value, *([] if bound is None else [bound]))}{limit}"


def _reading_cells(reading: Reading) -> tuple[Text, Text, str, str, str]:
    bound = reading.threshold
    shown = str(reading.status)
    if reading.status is Status.OK and reading.value is not None:
        shown = number(reading.value, *([] if bound is None else [bound]))
    attempt = "-" if reading.attempt is None else str(reading.attempt)
    name = reading.test.rpartition("::")[2] or reading.test
    limit = "-" if bound is None else plain(bound)
    return Text(one_line(name, 120)), Text(one_line(reading.label or "-", 80)), attempt, shown, limit


def _bound(verdict: Verdict, readings: Sequence[Reading]) -> float | None:
    if verdict.proposal is not None:
        return verdict.proposal.old
    found = {reading.threshold for reading in readings if reading.threshold is not None}
    return found.pop() if len(found) == 1 else None


def _table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in right else "left", header_style="dim")
    return table


def _more(console: Console, count: int, what: str) -> None:
    if count > _ROWS:
        console.print(Text(f"{count - _ROWS} more {what}"))


def _console(width: int, color: bool) -> Console:
    return Console(
        file=io.StringIO(),
        record=True,
        width=max(width, 40),
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _finished(console: Console) -> str:
    text = console.export_text(styles=bool(console.color_system))
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
