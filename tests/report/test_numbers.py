from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report.numbers import (
    exceeded,
    minutes,
    number,
    percent,
    percent_interval,
    plain,
    ratio_interval,
    times,
)
from bot.verdict.answer import Exceedance, Ratio

kl = st.floats(min_value=1e-12, max_value=1e6)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.003, "0.003"), (4e-3, "0.004"), (2e-5, "0.00002"), (1e-9, "0.000000001"), (0.0, "0"), (10.0, "10")],
)
def test_bounds_are_written_as_the_shortest_plain_decimal(value, text):
    assert plain(value) == text


def test_values_beyond_plain_decimals_still_have_no_exponent_letter():
    assert plain(1.25e-20) == "1.25×10^-20"
    assert plain(3e200) == "3×10^200"
    assert (plain(math.nan), plain(math.inf), plain(-math.inf)) == ("nan", "inf", "-inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0021349, "0.00213"),
        (0.0030000001, "0.0030000001"),
        (0.00299999, "0.00299999"),
        (0.003004, "0.003004"),
        (0.003, "0.00300"),
    ],
)
def test_a_value_next_to_the_bound_gets_the_digits_that_keep_it_on_its_side(value, text):
    assert number(value, 0.003) == text


@given(kl, kl)
def test_rounding_never_moves_a_value_across_a_bound(value, bound):
    shown = Decimal(number(value, bound))
    assert shown.compare(Decimal(repr(bound))) == Decimal(repr(value)).compare(Decimal(repr(bound)))


@given(kl, st.sampled_from((0, 1, -1)), st.integers(1, 3))
def test_rounding_never_moves_a_close_neighbour_across(bound, side, steps):
    value = bound
    for _ in range(steps):
        value = math.nextafter(value, math.inf * side) if side else value
    shown, limit = Decimal(number(value, bound)), Decimal(plain(bound))
    assert (shown > limit, shown == limit) == (value > bound, value == bound)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_is_ever_in_exponent_notation(value):
    for text in (plain(value), number(value), number(value, 0.003)):
        assert "e" not in text.lower() and len(text) < 60


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.0625, "6.2 %"),
        (0.125, "12 %"),
        (0.001, "0.1 %"),
        (0.0011, "0.11 %"),
        (1e-7, "under 0.01 %"),
        (0.9999, "over 99 %"),
        (math.nan, "not measured"),
    ],
)
def test_percent(rate, text):
    assert percent(rate) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0223, 0.1260, "2.2–12.6 %"),
        (0.0, 0.0362, "0–3.6 %"),
        (0.45, 0.74, "45–74 %"),
        (0.0002, 0.0031, "0.02–0.31 %"),
        (0.00001, 0.03, "<0.01–3 %"),
        (0.63, 0.9999, "63–99.9 %"),
        (0.63, 1.0, "63–100 %"),
        (1e-7, 2e-5, "under 0.01 %"),
    ],
)
def test_percent_interval(low, high, text):
    assert percent_interval(low, high) == text


def test_rates_ratios_and_minutes():
    assert exceeded(Exceedance(6, 100, 0.06, 0.0223, 0.1260)) == "6/100 (2.2–12.6 %)"
    assert ratio_interval(Ratio(1.02, 0.95, 1.09, 0.95, "")) == "1.02 (0.95–1.09, 95 % confidence)"
    assert (times(1.002), times(0.9991), times(1.0)) == ("1.002", "0.999", "1.00")
    assert (minutes(0.25), minutes(42.0), minutes(126)) == ("0.25 min", "42 min", "2.1 h")
