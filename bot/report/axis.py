"""The axis that picture and terminal share: KL in nats, linear, or log where values lie far apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_FAR_APART: Final = 6.0  # largest over smallest value from which a linear axis hides the small ones
_LEAST: Final = 1e-300  # under it the steps between ticks are no numbers any more
_DECADES: Final = 12  # a log axis reaches at most so many powers of ten below its top


@dataclass(frozen=True, slots=True)
class Axis:
    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """0 at the low end to 1 at the high end; what lies outside sits on the edge."""
        if self.log:
            if value <= self.low:
                return 0.0
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round values inside the axis, at most eight."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high)


def axis(values: Iterable[float], bounds: Iterable[float]) -> Axis | None:
    """An axis that shows all finite values and bounds; None where there is nothing to show."""
    shown = [v for v in (*values, *bounds) if math.isfinite(v) and abs(v) < 1e100]
    if not shown:
        return None
    top, bottom = max(shown), min(shown)
    positive = [v for v in shown if v > 0]
    if (bottom > 0 and top / bottom > _FAR_APART) or (positive and top / min(positive) > 1000):
        floor = max(min(positive), top / 10**_DECADES)
        return Axis(floor / 1.3, top * 1.3, log=True)
    low = min(0.0, bottom * 1.05)
    high = top * 1.08 if top > 0 else 0.0
    return Axis(low, high, log=False) if high - low > _LEAST else Axis(low, low + 1.0, log=False)


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 8:
            return inside
    return inside[:: math.ceil(len(inside) / 8)]


def _linear_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    power = math.floor(math.log10(rough))
    step = next(s for s in (1, 2, 5, 10) if s * 10.0**power >= rough)
    count = range(math.ceil(low / (step * 10.0**power)), math.floor(high / (step * 10.0**power)) + 1)
    return [float(f"{index * step}e{power}") for index in count]
