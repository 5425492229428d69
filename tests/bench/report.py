"""The benchmark's tables as text, and its rows as JSON. Every share with its exact 95 % interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from tests.bench.score import Row, Score, Share, Truth, by_family, by_judge, kinds, score

ASKED = ("asked of this project", "≤ 0.5 %", "≥ 88 %", "≥ 98 %", "≤ 1 %", "≤ 16", "≤ 65")


def judges(rows: Sequence[Row], *, asked: bool = True) -> str:
    """One line a judge."""
    head = ("judge", "false bumps", "noise resolved", "bumps then quiet", "false alarms", "runs", "min")
    lines = [(judge, *_cells(score(mine))) for judge, mine in by_judge(rows).items()]
    return table([head, *lines, *([ASKED] if asked else [])])


def _cells(found: Score) -> tuple[str, ...]:
    shares = (found.false_bumps, found.resolved, found.quiet, found.false_alarms)
    return (*map(share, shares), f"{found.median_runs:.0f}", f"{found.mean_minutes:.0f}")


def families(rows: Sequence[Row]) -> str:
    """One line a family of one judge's rows. A family of noise is resolved, any other falsely bumped."""
    head = ("family", "worlds", "false bumps", "resolved", "then quiet", "runs", "min", "verdicts")
    lines = []
    for family, mine in by_family(rows).items():
        found = score(mine)
        shares = (found.false_bumps, found.resolved, found.quiet)
        ends = ", ".join(f"{kind} {count}" for kind, count in kinds(mine))
        cost = (f"{found.median_runs:.0f}", f"{found.mean_minutes:.0f}")
        lines.append((family, str(found.worlds), *map(share, shares), *cost, ends))
    return table([head, *lines])


def reasons(rows: Sequence[Row]) -> str:
    """How each family ended, with the reason."""
    lines = []
    for family, mine in by_family(rows).items():
        lines.append(f"{family}: {len(mine)}")
        ends = Counter((row.kind, row.reason, row.bumped) for row in mine)
        for (kind, reason, bumped), count in ends.most_common():
            lines.append(f"{count:7d}  {kind} ({reason}){', bump' if bumped else ''}")
    return "\n".join(lines)


def false_bumps(rows: Sequence[Row]) -> str:
    """Seeds by family, to play them again."""
    wrong = by_family(row for row in rows if row.truth is Truth.WRONG and row.bumped)
    lines = (f"    {family}: {', '.join(str(row.seed) for row in mine)}" for family, mine in wrong.items())
    return "\n".join(["Seeds of the judge's false bumps:", *lines]) if wrong else "No false bump."


def share(found: Share) -> str:
    if not found.n:
        return "–"
    low, high = found.interval
    return f"{_percent(found.hits / found.n)} % ({_percent(low)}–{_percent(high)}) of {found.n}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}".removesuffix(".0")


def table(lines: Sequence[Sequence[str]]) -> str:
    """Markdown, its columns aligned; the first line is the head."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    return "\n".join([text[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *text[1:]])


def as_json(parts: dict[str, Sequence[Row]]) -> dict[str, object]:
    """Scores and rows of each part of the benchmark."""
    return {
        name: {
            "scores": {judge: _score_json(score(mine)) for judge, mine in by_judge(rows).items()},
            "rows": [asdict(row) for row in rows],
        }
        for name, rows in parts.items()
    }


def _score_json(found: Score) -> dict[str, object]:
    return {
        name: asdict(value) | {"rate": value.rate, "interval": value.interval}
        if isinstance(value, Share)
        else value
        for name, value in vars(found).items()
    }
