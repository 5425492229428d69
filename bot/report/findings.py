"""What a look at the bot's surroundings found, for a terminal, for programs and for the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.report.console import console, finished
from bot.report.markdown import one_line


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Works, but not as it should, or could not be seen."""
    WRONG = "wrong"
    """The bot cannot do its work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `about`: what it belongs to; `fix`: what to do, where something is to be done."""

    level: Level
    about: str
    sentence: str
    fix: str | None = None


_STYLE: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.WRONG: "bold red"}
_SENTENCE: Final = 600


def findings_text(findings: Sequence[Finding], width: int = 100, color: bool = False) -> str:
    """Under the name of what was looked at, then how many are of which level."""
    printed = console(width, color)
    for about, group in groupby(findings, key=lambda finding: finding.about):
        printed.print(Text(one_line(about), style="bold"))
        printed.print(Padding(_rows(list(group)), (0, 0, 0, 2)))
        printed.print()
    printed.print(Text(summary(findings)))
    return finished(printed)


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """{"fine": whether nothing is wrong, "findings": [{level, about, sentence, fix}]}."""
    return {
        "fine": is_fine(findings),
        "findings": [
            {"level": str(f.level), "about": f.about, "sentence": f.sentence, "fix": f.fix} for f in findings
        ],
    }


def log_line(finding: Finding) -> str:
    fix = f" Fix: {finding.fix}" if finding.fix else ""
    return one_line(f"{finding.about}: {finding.sentence}{fix}", 2 * _SENTENCE)


def summary(findings: Sequence[Finding]) -> str:
    """2 wrong, 1 warning, 9 ok"""
    counts = {level: sum(found.level is level for found in findings) for level in reversed(Level)}
    plural = {Level.WARNING: "warnings"}
    told = [
        f"{count} {plural.get(level, level) if count > 1 else level}"
        for level, count in counts.items()
        if count
    ]
    return ", ".join(told) or "nothing was looked at"


def is_fine(findings: Sequence[Finding]) -> bool:
    return all(found.level is not Level.WRONG for found in findings)


def _rows(findings: Sequence[Finding]) -> Table:
    drawn = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True, width=len(Level.WARNING))
    drawn.add_column(overflow="fold")
    for found in findings:
        drawn.add_row(Text(found.level, style=_STYLE[found.level]), Text(one_line(found.sentence, _SENTENCE)))
        if found.fix:
            drawn.add_row("", Text(f"fix: {one_line(found.fix, _SENTENCE)}", style="cyan"))
    return drawn
