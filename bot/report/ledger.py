"""The ledger of a bound in words and tables: Markdown for comment and pull request, text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.table import Table
from rich.text import Text

from bot.report.console import console, finished, table
from bot.report.facts import BoundMove, Case
from bot.report.markdown import code, link, one_line, row, short
from bot.report.markdown import table as markdown_table
from bot.report.numbers import plain, times
from bot.source.history import factor_over
from bot.verdict.answer import Proposal

MAX_MOVES: Final = 20
MAX_TOUCHED: Final = 10
BAR_WIDTH: Final = 9
MIN_WHERE: Final = 24
"""Characters of a commit and its subject that must be left."""
MIN_MARKS: Final = 18
WHOLE: Final = 3
"""Columns that are never cut: date, bound, factor."""
GAP: Final = 2
UNCERTAIN: Final = " or earlier"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a site's ledger: a commit that moved the bound, or a bump that did not.

    `certain`: as of BoundMove; `marks`: words such as expired.
    """

    date: str
    old: float
    new: float
    factor: float | None
    """`new` over the first bound."""
    commit: str | None = None
    subject: str = ""
    pull: int | None = None
    """The bot's own."""
    certain: bool = True
    marks: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        number = "" if self.pull is None else f"#{self.pull} "
        commit = "" if self.commit is None else self.commit[:12] + ("" if self.certain else UNCERTAIN)
        return f"{number}{commit} {self.subject}".strip()


@dataclass(frozen=True, slots=True)
class SiteLedger:
    """A site, its bound today, its first one, and every move between, oldest first.

    `notes`: sentences about what is not known; `first_known`: `first` is not just the oldest that was read.
    """

    name: str
    test: str
    value: float
    first: float | None
    since: str
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    first_known: bool = True


def last_move(case: Case) -> str:
    """One line of the comment; '' where the ledger was not read."""
    if case.ledger is None or case.ledger.first is None:
        return ""
    if not case.ledger.moves:
        return f"**Bound:** {_unmoved(case)}."
    move = case.ledger.moves[-1]
    factor = f"; {_times(move.factor)} the first bound" if move.factor is not None else ""
    moved = f"last changed {plain(move.old)} → {plain(move.new)} in {_commit(move)} on {move.date}"
    return f"**Bound:** {moved}{factor}."


def touched(case: Case) -> str:
    """One line: the newest commits to the files that the bound rests on."""
    found = case.ledger.touched[:MAX_TOUCHED] if case.ledger is not None else ()
    if not found:
        return ""
    listed = [f"{code(t.path, 160)} in {link(short(t.commit), t.url)} ({t.date})" for t in found]
    return f"**Recently touched:** {', '.join(listed)}."


def summary(case: Case, proposal: Proposal) -> list[str]:
    """What the pull request says of the bound's past and of its expiry, as list items."""
    expiry = (
        f"- Expires: after {case.expires} the comment beside the bound asks for another look;"
        " nothing changes by itself."
    )
    return [f"- Earlier moves of this bound: {_past(case, proposal)}", *([expiry] if case.expires else [])]


def moves_table(case: Case) -> str:
    """Markdown; '' without moves. Of too many the newest."""
    moves = case.ledger.moves if case.ledger is not None else ()
    if not moves:
        return ""
    rows = [
        row(move.date, f"{plain(move.old)} → {plain(move.new)}", _commit(move), _times(move.factor))
        for move in moves[-MAX_MOVES:]
    ]
    left_out = f"\n\n{len(moves) - MAX_MOVES} older moves are left out." if len(moves) > MAX_MOVES else ""
    header = ("date", "bound", "commit", "over the first bound")
    return f"**Earlier moves of this bound**\n\n{markdown_table(header, rows)}{left_out}"


def ledger_text(sites: Sequence[SiteLedger], cap: float, width: int = 100, color: bool = False) -> str:
    """A table for each site. The bar shows the factor, `|` the cap; where the width is too small for all, it
    is left out, then the subjects."""
    printed = console(width, color)
    for site in sites:
        printed.print(Text(one_line(site.name), style="bold"), soft_wrap=True)
        printed.print(Text(f"  {one_line(site.test)}"), soft_wrap=True)
        printed.print(Text(f"  {_today(site)}"), soft_wrap=True)
        if site.rows:
            printed.print(_drawn(site.rows, cap, width))
        for note in site.notes:
            printed.print(Text(f"  {one_line(note, 400)}", style="dim"), soft_wrap=True)
        printed.print()
    return finished(printed)


def _drawn(rows: Sequence[Row], cap: float, width: int) -> Table:
    """Moves are shown whole at any width."""
    headers = ["  date", "bound", "factor", "", "", "where"]
    lines = [
        [
            f"  {line.date}",
            f"{plain(line.old)} -> {plain(line.new)}",
            _times(line.factor),
            bar(line.factor, cap),
            one_line(", ".join(line.marks), 80),
            one_line(line.where, 120),
        ]
        for line in rows
    ]

    def needed() -> int:
        columns = list(zip(headers, *lines, strict=True))
        widest = [max(map(len, column)) for column in columns]
        return sum(widest[:-1]) + min(widest[-1], MIN_WHERE) + GAP * (len(headers) - 1)

    if needed() > width:
        for cells in (headers, *lines):
            del cells[3]
    if needed() > width:
        for cells, line in zip(lines, rows, strict=True):
            cells[-1] = one_line(replace(line, subject="").where, 120)
    drawn = table(*headers)
    for *cells, marks, where in lines:
        drawn.add_row(
            *cells, Text(marks, style="bold yellow"), Text(where, no_wrap=True, overflow="ellipsis")
        )
    for place, column in enumerate(drawn.columns):
        column.no_wrap = True
        widest = max(len(cells[place]) for cells in (headers, *lines))
        if place < len(drawn.columns) - 1:
            column.min_width = widest if place < WHOLE else min(widest, MIN_MARKS)
    return drawn


def bar(factor: float | None, cap: float) -> str:
    """`###······|`: a third of the cap; over it the bar passes the `|`."""
    if factor is None:
        return ""
    filled = min(max(round(factor / cap * BAR_WIDTH), 0), BAR_WIDTH)
    return f"{'#' * filled}{'·' * (BAR_WIDTH - filled)}|{'##' if factor > cap * (1 + 1e-9) else ''}"


def _past(case: Case, proposal: Proposal) -> str:
    ledger = case.ledger
    if ledger is None or ledger.first is None:
        return "not read, so the cumulative factor is not given."
    factor = factor_over(ledger.first, proposal.threshold)
    total = f"with this one it is {_times(factor)} the first bound" if factor is not None else ""
    past = f"{len(ledger.moves)}, see below" if ledger.moves else _unmoved(case)
    gaps = "" if ledger.complete else " Not every version of the file could be read."
    return f"{past}{'; ' if total else ''}{total}.{gaps}"


def _unmoved(case: Case) -> str:
    ledger = case.ledger
    if ledger is None or ledger.first is None:
        return "not read"
    versions = f"{ledger.versions} version{'' if ledger.versions == 1 else 's'} of its file"
    return f"never changed from {plain(ledger.first)} in {versions} on {code(case.default_branch, 60)}"


def _today(site: SiteLedger) -> str:
    if site.first is None:
        return f"{plain(site.value)} today"
    moves = "" if site.rows else ", never moved"
    first = "first" if site.first_known else "first known"
    return f"{plain(site.value)} today, {first} {plain(site.first)} on {site.since}{moves}"


def _commit(move: BoundMove) -> str:
    return f"{link(short(move.commit), move.url)}{'' if move.certain else UNCERTAIN}"


def _times(factor: float | None) -> str:
    if factor is None:
        return "-"
    text = times(factor)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}×"
