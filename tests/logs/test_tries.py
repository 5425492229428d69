"""Which test and which try a printed check is of: banners, labels, bounds, equal values, retries."""

from __future__ import annotations

import pytest

from bot.logs import scan
from tests.logs.builders import (
    NO_MORE_TRIES,
    PATH,
    RAN_GREEN,
    RAN_RED,
    banner,
    block,
    check,
    forms,
    listed,
    listed_other,
    raised,
    read,
    read_green,
    retry,
    retry_other,
    seen,
    traceback,
)

FEW = "AssertionError: 0 not greater than 4 : Too few decode cache hits"


def told(result):
    """Kind, Class.method, tries, recovered and value of each failure."""
    return [
        (f.kind, (f.test or "").removeprefix(f"{PATH}::"), f.attempts, f.recovered, f.value)
        for f in result.failures
    ]


# --- banner and label --------------------


def test_a_label_takes_no_check_from_the_test_that_runs():
    lines = [banner("A.test_decode"), *check("decode", "0.001"), "."]
    lines += [banner("B.test_restart"), *check("decode", "0.012", "0.02"), "."]
    assert seen(read_green(*lines, *RAN_GREEN)) == [("A.test_decode", 1, 0.001), ("B.test_restart", 1, 0.012)]


@pytest.mark.parametrize(("threshold", "test"), [("0.003", "A.test_decode"), ("0.02", "B")])
def test_a_late_check_goes_by_its_label_unless_its_bound_contradicts(threshold, test):
    lines = [banner("A.test_decode"), *check("decode", "0.001"), "."]
    lines += [banner("B.test_restart"), ".", *check("decode", "0.002", threshold)]
    assert seen(read_green(*lines, *RAN_GREEN))[1] == (test, 1, 0.002)


# --- equal values --------------------


@pytest.mark.parametrize("value", ["0.0034", "nan", "inf"])
def test_a_passing_test_keeps_a_value_that_another_one_crossed_with(value):
    """nan is over no bound in one test and fails the other's."""
    passing = [banner("A.test_decode"), *check("decode", value, "0.005"), "."]
    lines = [banner("B.test_decode"), *check("decode", value), *traceback(value), retry(value)]
    result = read_green(*passing, *lines, *check("decode", "0.002"), ".", *RAN_GREEN)
    assert [(test, attempt, repr(number)) for test, attempt, number in seen(result)] == [
        ("A.test_decode", 1, value),
        ("B.test_decode", 1, value),
        ("B.test_decode", 2, "0.002"),
    ]
    assert [(f.test, f.attempts, f.recovered) for f in result.failures] == [
        (f"{PATH}::B.test_decode", 2, True)
    ]


def test_a_frozen_sampler_prints_one_value_in_two_classes_and_on_every_try():
    lines = [banner("A.test_decode"), *check("decode", "0.0034", "0.005"), "."]
    lines += [banner("B.test_decode"), *check("decode", "0.0034"), *traceback("0.0034"), retry("0.0034")]
    lines += [*check("decode", "0.0034"), *traceback("0.0034"), *listed("B.test_decode", "0.0034")]
    result = read(*lines, *RAN_RED)
    assert seen(result) == [
        ("A.test_decode", 1, 0.0034),
        ("B.test_decode", 1, 0.0034),
        ("B.test_decode", 2, 0.0034),
    ]
    assert [r.threshold for r in result.readings] == [0.005, 0.003, 0.003]
    assert told(result) == [("bound", "B.test_decode", 2, False, 0.0034)]


def test_another_bound_bars_a_late_check_of_equal_value():
    lines = [banner("A.test_x"), ".", banner("B.test_x"), *traceback("0.004"), retry("0.004"), "."]
    late = [*check("decode", "0.004", "0.005"), *check("decode", "0.004", "0.003")]
    result = read_green(*lines, *RAN_GREEN, *late)
    assert [(r.threshold, r.test == f"{PATH}::B.test_x") for r in result.readings] == [
        (0.005, False),
        (0.003, True),
    ]


# --- a message with fewer digits --------------------


def test_a_message_that_rounds_the_printed_value_is_no_second_reading():
    lines = [banner("A.test_x"), *block("0.00341234567"), *traceback("0.0034"), retry("0.0034")]
    lines += [*block("0.00321234567"), *traceback("0.0032"), *listed("A.test_x", "0.0032")]
    result = read(*lines, *RAN_RED)
    assert seen(result) == [("A.test_x", 1, 0.00341234567), ("A.test_x", 2, 0.00321234567)]
    assert told(result) == [("bound", "A.test_x", 2, False, 0.0032)]


@pytest.mark.parametrize(
    ("printed", "label"), [("0.00361234567", "decode"), ("0.00291234567", "decode"), ("0.00341234567", "x")]
)
def test_a_value_that_rounds_otherwise_passes_or_has_another_label_is_its_own(printed, label):
    value = "0.0029" if printed.startswith("0.0029") else "0.0034"
    lines = [banner("A.test_x"), *check(label, printed), *traceback(value), *listed("A.test_x", value)]
    assert [r.value for r in read(*lines, *RAN_RED).readings] == [float(printed), float(value)]


# --- retries --------------------


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_a_first_try_that_failed_otherwise_after_its_check(passes, late):
    first, second = check("decode", "0.0011"), check("decode", "0.0012")
    failed = [*raised(FEW), retry_other(FEW)]
    tries = [*failed, *first, *second] if late else [*first, *failed, *second]
    end = ["."] if passes else [*raised(FEW), *listed_other("A.test_x", FEW)]
    result = read_green(banner("A.test_x"), *tries, *end, *(RAN_GREEN if passes else RAN_RED))
    assert seen(result) == [("A.test_x", 1, 0.0011), ("A.test_x", 2, 0.0012)]
    assert told(result) == ([] if passes else [("other", "A.test_x", 2, False, None)])


def test_a_first_try_that_failed_otherwise_without_a_check():
    lines = [banner("A.test_x"), *raised("HTTPError: 503"), retry_other("503"), *check("decode", "0.0034")]
    result = read(*lines, *traceback("0.0034"), "E", *listed("A.test_x", "0.0034"), *RAN_RED)
    assert seen(result) == [("A.test_x", 2, 0.0034)]
    assert told(result) == [("bound", "A.test_x", 2, False, 0.0034)]


def test_a_lone_check_after_a_retry_is_no_first_try():
    lines = [banner("A.test_x"), *raised("HTTPError: 503"), retry_other("503"), *check("decode", "0.001")]
    assert seen(read_green(*lines, ".", *RAN_GREEN)) == [("A.test_x", 2, 0.001)]


def test_the_retry_of_a_server_is_not_the_tests():
    hub = "[2026-04-07 21:53:52] " + retry_other("503")
    lines = [banner("A.test_x"), hub, *check("decode", "0.001")]
    assert seen(read_green(*lines, ".", *RAN_GREEN)) == [("A.test_x", 1, 0.001)]


@pytest.mark.parametrize("labels", [("prefill", "decode"), (None, None)])
@pytest.mark.parametrize("late", [True, False])
def test_all_checks_after_a_crossing_are_of_the_next_try(labels, late):
    def printed(*values: str) -> list[str]:
        pairs = zip(labels, values, strict=True)
        return [line for label, value in pairs for line in (check(label, value) if label else block(value))]

    first, second = printed("0.0011", "0.0034"), printed("0.0012", "0.0021")
    failed = [*traceback("0.0034"), retry("0.0034")]
    tries = [*failed, *first, *second] if late else [*first, *failed, *second]
    result = read_green(banner("A.test_x"), *tries, ".", *RAN_GREEN)
    assert seen(result) == [
        ("A.test_x", 1, 0.0011),
        ("A.test_x", 1, 0.0034),
        ("A.test_x", 2, 0.0012),
        ("A.test_x", 2, 0.0021),
    ]
    assert told(result) == [("bound", "A.test_x", 2, True, 0.0034)]


def test_a_retry_that_dies_otherwise_leaves_one_failure_of_the_bound():
    gone = "ConnectionError: refused"
    lines = [banner("A.test_x"), *block("0.004"), *traceback("0.004"), retry("0.004"), *raised(gone), "E"]
    result = read(*lines, *listed_other("A.test_x", gone), *RAN_RED)
    assert told(result) == [("bound", "A.test_x", 2, False, 0.004)]
    assert seen(result) == [("A.test_x", 1, 0.004)]


def test_without_banners_a_first_try_may_be_of_any_test_that_failed_otherwise():
    tries = [*traceback("0.004"), retry("0.004"), *raised(FEW), retry_other(FEW)]
    entries = [*listed_other("A.test_x", FEW), *listed_other("A.test_y", FEW)]
    result = read(*tries, *entries, *RAN_RED)
    assert ("bound", PATH, 1, False, 0.004) in told(result)
    (failure,) = read(*tries[:4], *entries[:9], *RAN_RED).failures
    assert (failure.test, failure.attempts, failure.recovered) == (f"{PATH}::A.test_x", 2, False)


def test_in_pytest_the_tries_of_one_test_share_its_file():
    node = "test/kl/test_a.py::A::test_x "
    lines = ["=== test session starts ===", node + banner("A.test_x"), *raised(FEW), retry_other(FEW)]
    lines += [*raised(FEW), "FAILED", "=== FAILURES ===", "___ A.test_x ___", f"E   {FEW}"]
    lines += [f"E   {NO_MORE_TRIES}"]
    lines += ["=== short test summary info ===", "FAILED test/kl/test_a.py::A::test_x - Exception"]
    (failure,) = scan(["\n".join([*lines, "=== 1 failed in 1.20s ===", ""]).encode()], forms()).failures
    assert (failure.test, failure.attempts) == ("test/kl/test_a.py::A.test_x", 2)


# --- unittest -v --------------------


def test_a_head_with_a_docstring_names_the_check_printed_behind_it():
    lines = ["test_x (__main__.A.test_x)", "Hits twice ... [decode] 9 samples", *block("0.001"), "ok"]
    lines += ["test_x (__main__.B.test_x)", "Hits ... twice ... [decode] 9 samples", *block("0.002"), "ok"]
    result = read_green(*lines, *RAN_GREEN)
    assert seen(result) == [("A.test_x", 1, 0.001), ("B.test_x", 1, 0.002)]
    assert [r.label for r in result.readings] == ["decode", "decode"]
