"""Pictures of the readings against the bound: mermaid for the comment, SVG for the evidence branch."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from bot.report.axis import Axis, axis
from bot.report.markdown import one_line
from bot.report.numbers import plain
from bot.report.tables import RERUN, values
from bot.verdict.reading import Arm, Reading

_POINTS: Final = 60
_COLOURS: Final = {Arm.HEAD: ("#cf222e", "red"), Arm.BASE: ("#0969da", "blue")}
_BOUND: Final = ("#6e7781", "grey")
_PROPOSED: Final = ("#1a7f37", "green")

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 150, 24, 58, 22
_LAUNCHES: Final = 10  # an arm with more launches than this is drawn in one row
_STYLE: Final = """
text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;fill:#24292f}
.grid{stroke:#d0d7de}.bound{stroke:#24292f;stroke-width:1.5}
.proposed{stroke:#1a7f37;stroke-width:1.5;stroke-dasharray:5 4}
.bound-text{fill:#24292f}.proposed-text{fill:#1a7f37}circle{fill-opacity:.25;stroke-width:1.5}.over{fill-opacity:1}
.head{fill:#cf222e;stroke:#cf222e}.base{fill:#0969da;stroke:#0969da}
.trigger{fill:#bf8700;stroke:#bf8700}.history{fill:#6e7781;stroke:#6e7781}
@media (prefers-color-scheme:dark){text{fill:#9198a1}.title,.bound-text{fill:#f0f6fc}.grid{stroke:#3d444d}
.bound{stroke:#f0f6fc}.proposed{stroke:#3fb950}.proposed-text{fill:#3fb950}.head{fill:#ff7b72;stroke:#ff7b72}
.base{fill:#58a6ff;stroke:#58a6ff}.trigger{fill:#d29922;stroke:#d29922}}
"""


def xychart(readings: Sequence[Reading], bound: float | None, new_bound: float | None = None) -> str:
    """A mermaid block with each arm's measured values in rising order; '' where a line needs more values.

    Arms of different size are drawn with equally many of their own values, smallest and largest included.
    """
    arms = {arm: sorted(v for v in values(readings, arm) if math.isfinite(v)) for arm in RERUN}
    drawn = {arm: found for arm, found in arms.items() if len(found) >= 2}
    if not drawn:
        return ""
    count = min(_POINTS, *(len(found) for found in drawn.values()))
    lines = [(*_COLOURS[arm], str(arm), _thinned(found, count)) for arm, found in drawn.items()]
    for limit, colour, name in ((bound, _BOUND, "bound"), (new_bound, _PROPOSED, "proposed bound")):
        if limit is not None:
            lines.append((*colour, f"{name} {plain(limit)}", [limit] * count))
    points = [point for _, _, _, line in lines for point in line]
    top = max(points)
    if min(points) < 0 or not 0 < top < 1e9:
        return ""
    legend = ", ".join(f"{colour}: {name}" for _, colour, name, _ in lines)
    colours = {"xyChart": {"plotColorPalette": ", ".join(code for code, _, _, _ in lines)}}
    settings = {"xyChart": {"width": 760, "height": 300}, "themeVariables": colours}
    larger = [f"{arm} {count} of {len(found)}" for arm, found in drawn.items() if len(found) > count]
    thinned = f"; drawn: {', '.join(larger)} values, evenly by rank" if larger else ""
    runs = f"[{', '.join(str(place) for place in range(1, count + 1))}]" if count <= 20 else f"1 --> {count}"
    return "\n".join(
        [
            f"KL of each run in rising order ({legend}){thinned}:",
            "",
            "```mermaid",
            f"%%{{init: {json.dumps(settings)}}}%%",
            "xychart-beta",
            f'    x-axis "run" {runs}',
            f'    y-axis "KL in nats" 0 --> {_decimal(top * 1.1)}',
            *(f"    line [{', '.join(_decimal(point) for point in line)}]" for _, _, _, line in lines),
            "```",
        ]
    )


def svg(readings: Sequence[Reading], bound: float | None, new_bound: float | None = None) -> str:
    """A stand-alone picture: one row a launch, one dot a run, filled where it is over the bound."""
    limits = [limit for limit in (bound, new_bound) if limit is not None]
    scale = axis(values(readings, *Arm), limits)
    rows = _rows(readings)
    if scale is None or not rows:
        return _frame(90, "No value was measured", [_text(str(_LEFT), 60, "No value was measured.")])
    bottom = _TOP + _ROW * len(rows)
    parts = _grid(scale, bottom)
    for index, line in enumerate(rows):
        parts += _dots(line, scale, _TOP + _ROW * index + _ROW // 2, bound)
    parts += _bound_line(scale, bound, bottom, "bound", 40)
    parts += _bound_line(scale, new_bound, bottom, "proposed", 24)
    parts.append(
        _text(str((_LEFT + _WIDTH - _RIGHT) // 2), bottom + 38, _caption(readings, scale), anchor="middle")
    )
    return _frame(bottom + 52, _alternative(readings, bound, new_bound), parts)


@dataclass(frozen=True, slots=True)
class _Row:
    arm: Arm
    name: str
    values: tuple[float, ...]


def _rows(readings: Sequence[Reading]) -> list[_Row]:
    rows = []
    for arm in (Arm.TRIGGER, Arm.HEAD, Arm.BASE, Arm.HISTORY):
        launches: dict[str, list[float]] = {}
        for reading in readings:
            if reading.arm is arm:
                launches.setdefault(reading.launch or "", []).extend(values([reading], arm))
        measured = {launch: found for launch, found in launches.items() if found}
        if len(measured) > _LAUNCHES:
            everything = tuple(value for found in measured.values() for value in found)
            rows.append(_Row(arm, f"{arm}, {len(measured)} launches", everything))
            continue
        for place, found in enumerate(measured.values(), start=1):
            name = "red job" if arm is Arm.TRIGGER else f"{arm} launch {place}"
            rows.append(_Row(arm, name, tuple(found)))
    return rows


def _grid(scale: Axis, bottom: int) -> list[str]:
    parts = []
    for tick in scale.ticks():
        x = _x(scale, tick)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 17, plain(tick), anchor="middle"))
    return parts


def _dots(line: _Row, scale: Axis, y: int, bound: float | None) -> list[str]:
    parts = [_text(str(_LEFT - 12), y + 4, line.name, anchor="end")]
    for value in line.values:
        if math.isfinite(value):
            over = " over" if bound is not None and value > bound else ""
            parts.append(f'<circle class="{line.arm}{over}" cx="{_x(scale, value)}" cy="{y}" r="4"/>')
    return parts


def _bound_line(scale: Axis, limit: float | None, bottom: int, name: str, y: int) -> list[str]:
    if limit is None:
        return []
    x = _x(scale, limit)
    anchor = "end" if float(x) > _WIDTH - 60 else "middle"
    return [
        f'<line class="{name}" x1="{x}" x2="{x}" y1="{y + 4}" y2="{bottom}"/>',
        f'<text class="{name}-text" x="{x}" y="{y}" text-anchor="{anchor}">{name} {plain(limit)}</text>',
    ]


def _caption(readings: Sequence[Reading], scale: Axis) -> str:
    odd = sum(not math.isfinite(value) for value in values(readings, *Arm))
    kind = "log axis" if scale.log else "linear axis"
    left_out = f"; {odd} nan or inf not drawn" if odd else ""
    return f"KL in nats ({kind}); filled: over the bound{left_out}"


def _alternative(readings: Sequence[Reading], bound: float | None, new_bound: float | None) -> str:
    counts = ", ".join(f"{len(values(readings, arm))} of {arm}" for arm in Arm if values(readings, arm))
    limits = "" if bound is None else f" against the bound {plain(bound)}"
    proposed = "" if new_bound is None else f" and the proposed bound {plain(new_bound)}"
    return f"KL of each run ({counts}){limits}{proposed}"


def _frame(height: int, title: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t">'
        f'<title id="t">{escape(one_line(title))}</title><style>{_STYLE}</style>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _text(x: str, y: int, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(one_line(text, 80))}</text>'


def _x(scale: Axis, value: float) -> str:
    return f"{_LEFT + scale.place(value) * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _thinned(found: Sequence[float], count: int) -> list[float]:
    """`count` of the sorted values, evenly spread by rank."""
    return [found[round(place * (len(found) - 1) / (count - 1))] for place in range(count)]


def _decimal(value: float) -> str:
    """Mermaid's grammar has no exponent: five significant digits, written out."""
    if value == 0 or abs(value) < 1e-12:
        return "0"
    digits = max(0, 4 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
