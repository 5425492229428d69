"""The arms against the bound, one row of dots an arm, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

from rich.text import Text

from bot.report.axis import Axis
from bot.report.numbers import plain
from bot.report.tables import values
from bot.verdict.reading import Arm, Reading, Status

ORDER: Final = (Arm.TRIGGER, Arm.HEAD, Arm.BASE, Arm.HISTORY)
_NAME: Final = 8
_WIDEST: Final = 90
_DECADES: Final = 9
_LEGEND: Final = "KL in nats, log axis; · 1 run, : 2–3, # more"


def plot(readings: Sequence[Reading], bound: float | None, new: float | None, width: int) -> list[Text]:
    """Lines to be cropped at `width` columns; none where there is nothing to show or no room.

    The bound and the proposed bound stand as lines through all rows; runs over the bound are red.
    """
    arms = {arm: [v for v in values(readings, arm) if math.isfinite(v)] for arm in ORDER}
    marks = [(limit, name) for limit, name in ((bound, "bound"), (new, "proposed")) if limit is not None]
    scale = _axis((v for found in arms.values() for v in found), [limit for limit, _ in marks])
    room = min(width - _NAME - 2, _WIDEST)
    if scale is None or room < 20 or not any(arms.values()):
        return []
    rows = [
        Text(f"{arm:>{_NAME}} ").append(_dots(found, scale, bound, new, room))
        for arm, found in arms.items()
        if found
    ]
    under = [*_names(marks, scale, room), _ticks(scale, room), _LEGEND, _left_out(readings)]
    pad = " " * (_NAME + 1)
    return [*rows, *(Text(pad + line, style="dim") for line in under if line)]


def _axis(found: Iterable[float], marks: Iterable[float]) -> Axis | None:
    """A log axis, since values spread by factors; zeros sit on its left edge."""
    positive = [v for v in (*found, *marks) if 1e-100 < v < 1e100]
    if not positive:
        return None
    top = max(positive)
    return Axis(max(min(positive), top / 10**_DECADES) / 1.1, top * 1.1, log=True)


def _dots(found: Sequence[float], scale: Axis, bound: float | None, new: float | None, room: int) -> Text:
    counts = [0] * room
    for value in found:
        counts[_beside(scale, value, bound, room)] += 1
    cells = ["" if not n else "·" if n == 1 else ":" if n < 4 else "#" for n in counts]
    line = room if bound is None else _column(scale, bound, room)
    text = Text()
    for column, cell in enumerate(cells):
        if column == line:
            text.append("│", style="bold")
        elif not cell and new is not None and column == _column(scale, new, room):
            text.append("┊", style="green")
        else:
            text.append(cell or " ", style="bold red" if cell and column > line else "")
    return text


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


def _names(marks: Sequence[tuple[float, str]], scale: Axis, room: int) -> list[str]:
    """What each line is, right of its foot or left of it; a second line where one has no room."""
    lines = [[" "] * room for _ in marks]
    for limit, name in marks:
        column, label = _column(scale, limit, room), f"{name} {plain(limit)}"
        places = [(column, f"^ {label}"), (column - len(label) - 1, f"{label} ^")]
        for cells, (start, text) in product(lines, places):
            if _write(cells, start, text):
                break
    return ["".join(cells).rstrip() for cells in lines]


def _ticks(scale: Axis, room: int) -> str:
    """Round values: in even steps within a decade, where a log axis has few."""
    ticks = Axis(scale.low, scale.high, log=scale.high > 10 * scale.low).ticks()
    cells = [" "] * room
    for tick in ticks:
        _write(cells, int(scale.place(tick) * room), plain(tick))
    return "".join(cells).rstrip()


def _write(cells: list[str], start: int, text: str) -> bool:
    """Only where it does not run into what stands there already or over the edge."""
    end = start + len(text)
    if start < 0 or end > len(cells) or any(cell != " " for cell in cells[max(start - 1, 0) : end + 1]):
        return False
    cells[start:end] = text
    return True


def _left_out(readings: Sequence[Reading]) -> str:
    odd = sum(r.status is Status.OK and r.value is not None and not math.isfinite(r.value) for r in readings)
    return f"{odd} run{'s' if odd > 1 else ''} with nan or inf not shown" if odd else ""
