"""Verdict and site as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.report.console import console, finished, table
from bot.report.markdown import one_line
from bot.report.numbers import exceeded, minutes, number, percent, percent_interval, plain, ratio_interval
from bot.report.plot import ORDER, plot
from bot.report.words import AGAIN, CROSS, PASS, words
from bot.source.lines import LineSite
from bot.source.site import Site
from bot.verdict.answer import Numbers, Proposal, Rung, Verdict
from bot.verdict.reading import Arm, Reading

_STYLE: Final = {PASS: "bold green", CROSS: "bold red"}
_ROWS: Final = 200


def verdict_text(
    verdict: Verdict,
    readings: Sequence[Reading] = (),
    width: int = 100,
    color: bool = False,
    bound: float | None = None,
    trace: bool = False,
) -> str:
    """Verdict, numbers, arms against the bound, what comes next. `bound` None: the one in the readings."""
    limit = bound if bound is not None else _bound(verdict, readings)
    new = verdict.proposal.threshold if verdict.proposal else None
    chosen, numbers = words(verdict), verdict.numbers
    printed = console(width, color)
    heading = Text(chosen.label, style=_STYLE.get(chosen.icon, "bold yellow"))
    printed.print(heading.append(f"  {one_line(verdict.reason, 80)}", style="dim"))
    printed.print(Text(one_line(verdict.sentence, 1000)), end="\n\n")
    if numbers.runs or numbers.exceedance or numbers.levels:
        printed.print(_arms(verdict, limit))
    for line in _measured(numbers):
        printed.print(Text(line))
    drawn = plot(readings, limit, new, printed.width)
    for text in [*drawn, Text()] if drawn else []:
        printed.print(text, no_wrap=True, overflow="crop")
    if verdict.proposal is not None:
        _print_proposal(printed, verdict.proposal)
    printed.print(Text(_next(verdict)))
    if trace:
        _print_trace(printed, verdict.trace)
    return finished(printed)


def site_text(site: Site, width: int = 100, color: bool = False) -> str:
    """Where the bound stands and what hangs on it."""
    printed = console(width, color)
    printed.print(Text(f"{one_line(site.path)}:{site.line}:{site.column}", style="bold"), soft_wrap=True)
    set_in = f"{one_line(site.name)} = {one_line(site.spelling)}"
    printed.print(Text(f"  {set_in}  ({plain(site.value)}, scope {one_line(site.scope)})"), soft_wrap=True)
    if site.refusal is not None:
        refused = f"  refused ({one_line(site.refusal.code)}): {one_line(site.refusal.sentence, 1000)}"
        printed.print(Text(refused, style="bold yellow"), soft_wrap=True)
    if site.override is not None:
        own = site.override
        where = f"{one_line(own.cls)} ({one_line(own.path)}:{own.line})"
        printed.print(Text(f"  instead  {one_line(own.attribute)} = … in {where}"), soft_wrap=True)
    for test in site.governs[:_ROWS]:
        printed.print(Text(f"  governs  {one_line(test)}"), soft_wrap=True)
    for sibling in site.siblings[:_ROWS]:
        printed.print(
            Text(f"  sibling  {one_line(sibling.cls)} = {plain(sibling.value)} in {one_line(sibling.path)}"),
            soft_wrap=True,
        )
    _more(printed, max(len(site.governs), len(site.siblings)), "lines")
    if not site.complete:
        printed.print(Text("  not all files of the tree were searched for tests under this bound"))
    return finished(printed)


def line_text(site: LineSite) -> str:
    """A bound outside Python; which tests it governs is not known."""
    where = f"{one_line(site.path)}:{site.line}:{site.column}"
    return f"{where}\n  {one_line(site.spelling)}  ({plain(site.value)}, scope line)\n"


def _arms(verdict: Verdict, bound: float | None) -> Table:
    """n, runs over the bound with the exact interval, median and largest value of each arm."""
    numbers = verdict.numbers
    limits = [] if bound is None else [bound]
    over = "over the bound" if bound is None else f"over {plain(bound)}"
    lost = any(runs.missing for runs in numbers.runs.values())
    drawn = table("arm", "n", *(["missing"] if lost else []), over, "median", "max", right=(1,))
    known = {*numbers.runs, *numbers.exceedance, *numbers.levels}
    for arm in [*(str(arm) for arm in ORDER if arm in known), *sorted(known - {str(arm) for arm in Arm})]:
        runs, rate, level = numbers.runs.get(arm), numbers.exceedance.get(arm), numbers.levels.get(arm)
        drawn.add_row(
            Text(one_line(arm, 20)),
            str(runs.ok) if runs else "-",
            *([str(runs.missing) if runs else "-"] if lost else []),
            exceeded(rate) if rate and rate.n else "-",
            number(level.median, *limits) if level else "-",
            number(level.maximum, *limits) if level else "-",
        )
    return drawn


def _measured(numbers: Numbers) -> list[str]:
    """The ratio, and what the runs cost."""
    lines = []
    if numbers.ratio is not None:
        shown = f"head over base ×{ratio_interval(numbers.ratio)}"
        if numbers.min_detectable_ratio is not None:
            shown += f"; these runs would have shown ×{number(numbers.min_detectable_ratio)} or more"
        lines.append(shown)
    if numbers.gpu_minutes is not None:
        lines.append(f"machine time {minutes(numbers.gpu_minutes)}")
    return [*lines, ""] if lines else []


def _next(verdict: Verdict) -> str:
    if verdict.next is None and verdict.proposal is not None:
        return "next: a person decides on the proposed bound"
    if verdict.next is None:
        return f"next: {words(verdict).next.replace(AGAIN, 'measure again').replace('`', '')}"
    arms = verdict.next.arms
    wanted = [f"{arm} {plan.launches} launches of {plan.repeats} repeats" for arm, plan in arms.items()]
    runs = sum(plan.launches * plan.repeats for plan in arms.values())
    return f"next: {runs} more runs ({', '.join(wanted)}); append the readings and decide again"


def _print_proposal(printed: Console, proposal: Proposal) -> None:
    old, new, expected = plain(proposal.old), plain(proposal.threshold), proposal.exceedance
    interval = percent_interval(expected.low, expected.high)
    printed.print(Text(f"proposal: {old} -> {new}", style="bold"))
    lines = [
        one_line(proposal.why_this_value, 400),
        f"expected over it: {percent(expected.rate)} of CI jobs ({interval}),"
        f" at most {percent(expected.exact_high)} without a model",
    ]
    for line in lines:
        printed.print(Padding(Text(line), (0, 0, 0, 2)))
    if proposal.still_catches:
        caught = table("when the level rises", *(f"×{plain(c.ratio)}" for c in proposal.still_catches))
        caught.add_row(f"CI jobs red at {old}", *(percent(c.before) for c in proposal.still_catches))
        caught.add_row(f"still red at {new}", *(percent(c.after) for c in proposal.still_catches))
        printed.print(Padding(caught, (0, 0, 0, 2)))
    for remedy in proposal.remedies[:5]:
        printed.print(Padding(Text(f"instead: {one_line(remedy)}"), (0, 0, 0, 2)))
    printed.print()


def _print_trace(printed: Console, trace: Sequence[Rung]) -> None:
    """Each rung and what it saw."""
    printed.print(Text(f"\nhow it was decided ({len(trace)} steps, the last one answered)", style="bold"))
    steps = table("", "")
    steps.show_header = False
    for rung in trace:
        steps.add_row(Text(one_line(rung.name, 60)), Text(one_line(rung.saw, 400)))
    printed.print(Padding(steps, (0, 0, 0, 2)))


def _bound(verdict: Verdict, readings: Sequence[Reading]) -> float | None:
    if verdict.proposal is not None:
        return verdict.proposal.old
    found = {reading.threshold for reading in readings if reading.threshold is not None}
    return found.pop() if len(found) == 1 else None


def _more(printed: Console, count: int, what: str) -> None:
    if count > _ROWS:
        printed.print(Text(f"{count - _ROWS} more {what}"))
