"""Numbers as people read them: plain decimals that never cross a bound by rounding."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from bot.verdict.answer import Exceedance, Level, Ratio

_SMALLEST: Final = 1e-15
_LARGEST: Final = 1e15
_EXACT_DIGITS: Final = 17  # a double is told apart from every other by 17 significant digits


def plain(value: float) -> str:
    """The shortest decimal that reads back as `value`: 0.003, 0.00002, never 2e-05."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if not _SMALLEST <= abs(value) < _LARGEST:
        mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
        return f"{mantissa}×10^{int(exponent)}"
    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number(value: float, *bounds: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits, or as many more as keep it on its own side of every bound."""
    if value == 0 or not math.isfinite(value) or not _SMALLEST <= abs(value) < _LARGEST:
        return plain(value)
    exact = Decimal(repr(value))
    limits = [Decimal(repr(bound)) for bound in bounds if math.isfinite(bound)]
    for count in range(digits, _EXACT_DIGITS + 1):
        shown = _rounded(exact, count)
        if all(shown.compare(limit) == exact.compare(limit) for limit in limits):
            return f"{shown:f}"
    return f"{exact:f}"


def spread(level: Level, *bounds: float) -> str:
    """median (minimum–maximum)"""
    low, high = number(level.minimum, *bounds), number(level.maximum, *bounds)
    return f"{number(level.median, *bounds)} ({low}–{high})"


def percent(rate: float) -> str:
    """`6.2 %`; what is not zero is never shown as zero, what is not certain never as 100 %."""
    if not math.isfinite(rate):
        return "not measured"
    share = rate * 100
    if 0 < share < 0.01:
        return "under 0.01 %"
    if 99.5 <= share < 100:
        return "over 99 %"
    return f"{_trim(share, 2 if share < 1 else 1 if share < 10 else 0)} %"


def percent_interval(low: float, high: float) -> str:
    """`2.2–12.6 %`"""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "not measured"
    if 0 < high < 0.0001:
        return "under 0.01 %"
    decimals = 2 if high < 0.01 else 1 if low < 0.1 else 0
    return f"{_end(low * 100, decimals)}–{_end(high * 100, decimals)} %"


def exceeded(rate: Exceedance) -> str:
    """`6/100 (2.2–12.6 %)`"""
    return f"{rate.exceeded}/{rate.n} ({percent_interval(rate.low, rate.high)})"


def times(ratio: float) -> str:
    """`1.02`; an interval that excludes 1 is never shown as touching it."""
    return number(ratio, 1.0, digits=2 if abs(ratio) < 1 else 3)


def ratio_interval(ratio: Ratio) -> str:
    """`1.02 (0.95–1.09, 95 % confidence)`"""
    low, high = times(ratio.low), times(ratio.high)
    return f"{times(ratio.estimate)} ({low}–{high}, {percent(ratio.confidence)} confidence)"


def minutes(value: float) -> str:
    return f"{value / 60:.1f} h" if value >= 120 else f"{_trim(value, 1 if value >= 1 else 2)} min"


def _rounded(exact: Decimal, digits: int) -> Decimal:
    """Never coarser than whole numbers: 12346, not 12300."""
    return exact.quantize(Decimal(1).scaleb(min(exact.adjusted() - digits + 1, 0)), ROUND_HALF_EVEN)


def _end(share: float, decimals: int) -> str:
    if 0 < share < 0.01:
        return "<0.01"
    if 0 < share < 0.1:
        return _trim(share, 2)
    return _trim(share, decimals) if share < 99.5 or share == 100 else f"{math.floor(share * 10) / 10:.1f}"


def _trim(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
