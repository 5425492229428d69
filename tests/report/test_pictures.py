from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report import chart
from bot.report.axis import axis
from bot.verdict.reading import Arm, Reading, Status
from tests.report.builders import HEAD_VALUES, TEST, lost, readings
from tests.report.hostile import hostile

_SVG = "{http://www.w3.org/2000/svg}"
any_value = st.floats() | st.sampled_from((0.0, 1e-9, 2e-5, 0.003, 1e6, math.nan, math.inf))


def test_the_mermaid_block_letter_by_letter():
    assert chart.xychart(readings(head=(0.002, 0.00002), base=(0.0021, 0.0019)), 0.003, 0.005) == "\n".join(
        [
            "KL of each run in rising order"
            " (red: head, blue: base, grey: bound 0.003, green: proposed bound 0.005):",
            "",
            "```mermaid",
            '%%{init: {"xyChart": {"width": 760, "height": 300}, "themeVariables": {"xyChart":'
            ' {"plotColorPalette": "#cf222e, #0969da, #6e7781, #1a7f37"}}}}%%',
            "xychart-beta",
            '    x-axis "run" [1, 2]',
            '    y-axis "KL in nats" 0 --> 0.0055',
            "    line [0.00002, 0.002]",
            "    line [0.0019, 0.0021]",
            "    line [0.003, 0.003]",
            "    line [0.005, 0.005]",
            "```",
        ]
    )


def test_too_few_values_give_no_line_and_one_arm_alone_is_drawn():
    assert chart.xychart(readings(head=(0.002,), base=()), 0.003) == ""
    alone = chart.xychart(readings(base=()), None)
    assert "red: head" in alone and "blue" not in alone and alone.count("    line [") == 1


def test_long_arms_are_thinned_to_their_own_values_with_both_ends():
    many = tuple(0.001 + n * 1e-6 for n in range(500))
    text = chart.xychart(readings(head=many), 0.003)
    assert "; drawn: head 8 of 500 values, evenly by rank:" in text
    assert "drawn" not in chart.xychart(readings(), 0.003)
    lines = re.findall(r"line \[(.*)\]", text)
    assert [len(line.split(", ")) for line in lines] == [8, 8, 8]
    alone = re.findall(r"line \[(.*)\]", chart.xychart(readings(head=many, base=many), 0.003))[0].split(", ")
    assert len(alone) == 60 and (alone[0], alone[-1]) == ("0.001", "0.001499")


@given(st.lists(any_value, max_size=80), any_value)
def test_mermaid_gets_plain_finite_numbers_only(values, bound):
    limit = bound if math.isfinite(bound) else None
    text = chart.xychart(readings(head=tuple(values), base=()), limit)
    for numbers in re.findall(r"line \[(.*)\]", text):
        points = numbers.split(", ")
        assert len(points) <= 60 and all(re.fullmatch(r"\d+(\.\d+)?", point) for point in points)
    assert "nan" not in text and "inf" not in text


def test_the_picture_has_a_dot_for_every_value_and_both_bounds():
    root = ET.fromstring(chart.svg(readings(), 0.003, 0.005))  # noqa: S314 - our own text
    circles = root.findall(f"{_SVG}circle")
    assert len(circles) == 18
    assert sum("over" in circle.get("class") for circle in circles) == 4
    texts = [element.text for element in root.iter(f"{_SVG}text")]
    assert {"red job", "head launch 1", "head launch 2", "base launch 1", "base launch 2"} <= set(texts)
    assert "bound 0.003" in texts and "proposed 0.005" in texts
    assert root.get("role") == "img" and root.get("aria-labelledby") == "t"
    assert root.find(f"{_SVG}title").text == (
        "KL of each run (8 of head, 8 of base, 2 of trigger)"
        " against the bound 0.003 and the proposed bound 0.005"
    )


def test_dots_over_the_bound_stand_right_of_its_line():
    root = ET.fromstring(chart.svg(readings(), 0.003))  # noqa: S314 - our own text
    bound = float(next(line.get("x1") for line in root.iter(f"{_SVG}line") if line.get("class") == "bound"))
    for circle in root.iter(f"{_SVG}circle"):
        assert (float(circle.get("cx")) > bound) == ("over" in circle.get("class"))


def test_far_values_make_the_axis_logarithmic_and_nan_is_counted():
    text = chart.svg(readings(head=(*HEAD_VALUES, 0.21, math.nan)), 0.003)
    assert "log axis" in text and "1 nan or inf not drawn" in text
    assert "linear axis" in chart.svg(readings(), 0.003)


def test_many_launches_share_one_row():
    many = tuple(Reading(Arm.HISTORY, TEST, Status.OK, 0.002, launch=f"l{n}") for n in range(200))
    assert "history, 200 launches" in chart.svg(many, 0.003)


def test_nothing_measured_is_said():
    assert "No value was measured." in chart.svg((lost(),), 0.003)
    assert "No value was measured." in chart.svg((), None)


@given(st.lists(any_value, max_size=20), any_value, hostile)
def test_every_picture_is_well_formed_and_inside_its_frame(values, bound, text):
    found = tuple(replace(r, launch=text, host=text) for r in readings(head=tuple(values), base=()))
    root = ET.fromstring(chart.svg(found, bound if math.isfinite(bound) else None))  # noqa: S314 - our own text
    for circle in root.iter(f"{_SVG}circle"):
        assert 150 <= float(circle.get("cx")) <= 736


@given(st.lists(any_value, min_size=1, max_size=30))
def test_places_keep_the_order_of_the_values(values):
    scale = axis(values, ())
    finite = sorted(v for v in values if math.isfinite(v) and abs(v) < 1e100)
    if scale is None:
        assert not finite
        return
    places = [scale.place(value) for value in finite]
    assert places == sorted(places) and all(0 <= place <= 1 for place in places)
    assert len(scale.ticks()) <= 8


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((0.002, 0.0035), [0.0, 0.001, 0.002, 0.003]),
        ((0.002, 0.2), [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]),
    ],
)
def test_ticks_are_round(values, ticks):
    assert axis(values, ()).ticks() == ticks
