"""Forms and prints against single texts: what is a number, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import LogForms, find_crossing, scan
from bot.logs.numbers import number
from tests.logs.builders import banner, block, forms, listed, over, read, retry, traceback
from tests.logs.dialects import FLOOR, FORMS, LESS, NO_NUMBER, TORCH, form


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.0034", 0.0034),
        ("1.25e-03", 0.00125),
        ("-1E+2", -100.0),
        (".5", 0.5),
        ("np.float64(0.0034)", 0.0034),
        ("tensor(0.5)", 0.5),
        ("tensor(0.5, device='cuda:0')", 0.5),
        ("tensor(1.0000e-03, device='cuda:0', dtype=torch.float64)", 0.001),
        ("inf", math.inf),
        ("0.003,", None),
        ("0.34%", None),
        ("3ms", None),
        ("1_000", None),
        ("0x10", None),
        ("infinity", None),
        ("1e", None),
        ("", None),
        ("tensor([0.5])", None),
        ("tensor(0.5) ms", None),
    ],
)
def test_a_number_is_the_whole_text(text, value):
    assert number(text) == value


@given(st.floats(allow_nan=False))
def test_every_float_is_read_as_python_prints_it(value):
    assert number(repr(value)) == value and number(f"np.float64({value!r})") == value


@pytest.mark.parametrize(
    "text",
    [
        "3.4 ms not less than 3.0 ms",
        "3.4 not less than 3.0 ms",
        "3.4 not less than 3.0%",
        "3.4% not less than 3",
        "3.4 not less than 3 GB",
        "3.4 not less than 3 bits",
        "v3.4 not less than 3",
    ],
)
def test_a_number_with_a_unit_is_refused(text):
    assert find_crossing(text, [LESS]) is None


@pytest.mark.parametrize("text", ["0.004 not less than 0.003", "0.004 not less than 0.003 : msg"])
def test_a_number_without_one_is_read(text):
    crossing = find_crossing(f"AssertionError: {text}", [LESS])
    assert crossing is not None and (crossing.value, crossing.threshold) == (0.004, 0.003)


def test_the_first_form_that_matches_speaks():
    line = "accuracy 0.9 < 0.93: False is not true"
    assert find_crossing(line, [FLOOR, NO_NUMBER]).rule == "floor"
    assert find_crossing(line, [NO_NUMBER, FLOOR]).rule == "no_number"


def test_the_hint_must_stand_on_the_first_line():
    text = "x\nTensor-likes are not close!\nGreatest absolute difference: 0.1 (up to 1e-05 allowed)"
    assert find_crossing(text, [TORCH]) is None


def test_a_form_takes_no_more_lines_than_it_says():
    text = "Tensor-likes are not close!\n1\n2\n3\n4\nGreatest absolute difference: 0.1 (up to 0.01 allowed)"
    assert find_crossing(text, [TORCH]) is None
    assert find_crossing(text.replace("4\n", ""), [TORCH]).value == 0.1


def test_prints_without_forms_still_give_readings():
    log = "\n".join([banner("A.test_x"), *block("0.001"), ""]).encode()
    (reading,) = scan([log], LogForms((), forms().prints)).readings
    assert (reading.test, reading.value, reading.threshold) == ("A.test_x", 0.001, 0.003)


def test_nothing_to_look_for_finds_only_what_the_runner_says():
    log = (
        b"Ran 1 test in 0.1s\n" + "\n".join(listed("A.test_x", "0.004")).encode() + b"\nRan 1 test in 0.1s\n"
    )
    (failure,) = scan([log], LogForms(())).failures
    assert (failure.kind, failure.test, failure.value) == ("other", "A.test_x", None)


@pytest.mark.parametrize("tracebacks", [0, 1])
@pytest.mark.parametrize("entry_prints", [1, 2, 3])
@pytest.mark.parametrize("blocks", [0, 1])
def test_one_failure_however_often_it_is_printed(tracebacks, entry_prints, blocks):
    entry = listed("A.test_x", "0.004")
    entry[3:6] = traceback("0.004") * entry_prints
    lines = [banner("A.test_x"), *(block("0.004") * blocks), *(traceback("0.004") * tracebacks), *entry]
    result = read(*lines, "Ran 1 test in 1.5s", "", "FAILED (errors=1)")
    (failure,) = result.failures
    assert (failure.value, failure.attempts, failure.recovered) == (0.004, 1, False)
    assert [(r.value, r.attempt) for r in result.readings] == [(0.004, 1)]


@pytest.mark.parametrize("second", ["0.004", "0.005"])
@pytest.mark.parametrize("late", [False, True])
def test_both_tries_whether_prints_are_late_or_not(second, late):
    prints = [*block("0.004"), *block(second)]
    tries = [*traceback("0.004"), retry("0.004"), *([] if late else block(second)), *traceback(second)]
    early = [] if late else block("0.004")
    lines = [banner("A.test_decode"), *early, *tries, *listed("A.test_decode", second)]
    result = read(*lines, "Ran 1 test in 1.5s", *(prints if late else []))
    (failure,) = result.failures
    assert (failure.value, failure.attempts) == (float(second), 2)
    assert [(r.value, r.attempt) for r in result.readings] == [(0.004, 1), (float(second), 2)]


def test_a_script_without_a_runner_says_no_number_once():
    script = LogForms((*FORMS.forms,), FORMS.prints)
    log = "AssertionError: False is not true\n" * 3
    exited = "##[error]Process completed with exit code 1.\n"
    (failure,) = scan([(log + exited).encode()], script).failures
    assert (failure.kind, failure.rule, failure.value) == ("other", "no_number", None)
    assert scan([log.encode()], script).failures == ()


def test_a_crossing_outside_any_test_is_a_failure_of_no_known_test():
    (failure,) = scan([f"{over('0.004')}\n".encode()], FORMS).failures
    assert (failure.kind, failure.test, failure.value) == ("bound", None, 0.004)


@pytest.mark.parametrize(
    ("text", "threshold"), [("0.5 over 0.003", 0.003), ("0.5 over 0.003.", 0.003), ("0.5 over 0.00...", None)]
)
def test_a_number_that_the_pattern_cuts_is_none(text, threshold):
    over_form = form("over", r"(?P<value>\d\.\d+) over (?P<threshold>\d\.\d+)", " over ")
    crossing = find_crossing(text, [over_form])
    assert crossing is not None and crossing.threshold == threshold
    assert find_crossing(text.replace("0.5", "1" + "0.5"), [over_form]) is None
