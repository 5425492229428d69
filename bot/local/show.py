"""What the commands on this machine show: a bar while it measures, and both arms when it is done."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from bot.local.fitness import Finding, State
from bot.local.measure import Step
from bot.report.console import console, finished, table
from bot.report.markdown import one_line
from bot.report.numbers import exceeded, number, plain
from bot.report.plot import plot
from bot.verdict import Exceedance, Reading, Status, Verdict
from bot.verdict.stats import clopper_pearson
from runners.plan import RerunPlan

_WHY: int = 5
_OVERALL: float = 24 * 3600.0


class Screen:
    """Progress on standard error: a bar in a terminal, else a line for each repeat."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)

    def judged(self, number: int, verdict: Verdict) -> None:
        """Nothing for what is about to be shown in full."""
        if verdict.next is not None:
            after = f"after round {number}" if number else "so far"
            self.note(f"{after}: {one_line(verdict.sentence, 300)}")

    def note(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=not self._console.is_terminal)

    @contextmanager
    def round(self, number: int, plan: RerunPlan, done: int = 0) -> Iterator[Callable[[Step], None]]:
        if not self._console.is_terminal:
            yield lambda step: self.note(step.line)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.fields[value]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left", style="dim"),
        )
        # The rate of the whole plan: launches take far longer than repeats, so any short window misleads.
        with Progress(*columns, console=self._console, transient=True, speed_estimate_period=_OVERALL) as bar:
            task = bar.add_task("starting", total=plan.planned, completed=done, value="")

            def report(step: Step) -> None:
                where = f"{step.arm} {step.launch}/{step.launches}"
                bar.update(task, completed=step.done, description=where, value=_value(step))

            yield report


def _value(step: Step) -> str:
    if step.value is None:
        return "no value"
    bound = "" if step.bound is None else f" (bound {plain(step.bound)})"
    over = step.bound is not None and not step.value <= step.bound
    text = number(step.value, *([] if step.bound is None else [step.bound]))
    return f"[red]{text}[/red]{bound}" if over else f"{text}{bound}"


def arms_text(readings: Sequence[Reading], bound: float | None, width: int, color: bool) -> str:
    """Both arms against the bound, the picture, and why values are missing."""
    printed = console(width, color)
    limits = [] if bound is None else [bound]
    over = "over the bound" if bound is None else f"over {plain(bound)}"
    drawn = table("arm", "n", "missing", over, "median", "max", right=(1, 2))
    for arm in dict.fromkeys(str(reading.arm) for reading in readings):
        mine = [reading for reading in readings if reading.arm == arm]
        values = [r.value for r in mine if r.status is Status.OK and r.value is not None]
        rate = exceedance(values, bound)
        finite = [value for value in values if math.isfinite(value)]
        drawn.add_row(
            arm,
            str(len(values)),
            str(len(mine) - len(values)),
            exceeded(rate) if rate else "-",
            number(statistics.median(finite), *limits) if finite else "-",
            number(max(values, key=lambda v: (math.isnan(v), v)), *limits) if values else "-",
        )
    printed.print(drawn)
    printed.print()
    lines = plot(readings, bound, None, printed.width)
    for text in [*lines, Text()] if lines else []:
        printed.print(text, no_wrap=True, overflow="crop")
    for line in _missing(readings):
        printed.print(Text(line))
    return finished(printed)


def exceedance(values: Sequence[float], bound: float | None) -> Exceedance | None:
    """A nan is over every bound."""
    if bound is None or not values:
        return None
    count = sum(not value <= bound for value in values)
    return Exceedance(count, len(values), count / len(values), *clopper_pearson(count, len(values)))


def _missing(readings: Sequence[Reading]) -> list[str]:
    """Each reason once, the commonest first."""
    reasons: dict[str, int] = {}
    for reading in readings:
        if reading.status is not Status.OK:
            why = f"{reading.status}: {one_line(reading.error or 'no reason given', 200)}"
            reasons[why] = reasons.get(why, 0) + 1
    ordered = sorted(reasons.items(), key=lambda item: -item[1])
    lines = [f"{count} × {why}" for why, count in ordered[:_WHY]]
    return [*lines, f"and {len(ordered) - _WHY} more reasons"] if len(ordered) > _WHY else lines


def findings_text(found: Sequence[Finding], width: int, color: bool) -> str:
    """Each finding with what to do about it, then whether the machine is fit."""
    printed = console(width, color)
    drawn = table("", "", "")
    drawn.show_header = False
    for one in found:
        text = Text(one_line(one.text, 400))
        if one.do:
            text.append(f"\n→ {one_line(one.do, 400)}", style="bold")
        drawn.add_row(Text(_MARKS[one.state][0], style=_MARKS[one.state][1]), Text(one.name), text)
    printed.print(drawn)
    bad = sum(one.state is State.BAD for one in found)
    said = f"not fit as a runner: {bad} to mend" if bad else "fit as a runner"
    printed.print(Text(f"\n{said}", style="bold red" if bad else "bold green"))
    return finished(printed)


_MARKS = {State.OK: ("ok", "green"), State.NOTE: ("note", "yellow"), State.BAD: ("BAD", "bold red")}
