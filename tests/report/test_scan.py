"""What a person reads of a scanned log."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.result import Failure, ScanResult
from bot.report.console import ascii_text
from bot.report.scan import CUT, scan_document, scan_text
from bot.verdict.reading import Arm, Reading, Status
from tests.report.hostile import hostile

FILE = "test/kl/test_a.py"
NOTHING = ScanResult((), (), complete=True)


def value(
    method: str, number: float, attempt: int = 1, label: str | None = None, bound: float | None = 0.003
):
    test = f"{FILE}::TestA.{method}"
    return Reading(Arm.TRIGGER, test, Status.OK, number, threshold=bound, label=label, attempt=attempt)


def over(method: str = "test_decode", number: float = 0.0034, **fields) -> Failure:
    known = {"fails_when": "above", "attempts": 2, **fields}
    return Failure("bound", f"{FILE}::TestA.{method}", FILE, value=number, threshold=0.003, **known)


def lines(*results: ScanResult, width: int = 100) -> list[str]:
    return scan_text([(f"{place}.log", result) for place, result in enumerate(results)], width).splitlines()


def test_a_log_reads_by_file_class_and_method():
    readings = (
        value("test_prefill", 0.0015),
        value("test_decode", 0.0036),
        value("test_decode", 0.0034, attempt=2),
    )
    told = lines(ScanResult(readings, (over(),), complete=True), width=80)
    assert told == [
        "test/kl/test_a.py",
        "  TestA",
        "    test_prefill                        0.00150 < 0.003     ====    │",
        "    RED  test_decode  (2 attempts)",
        "      try 1                             0.00360 > 0.003     ========│==   ×1.2",
        "      try 2                             0.00340 > 0.003     ========│=    ×1.13",
        "",
        "3 values, 2 over their bound; 1 test red",
    ]


def test_a_recovered_test_is_not_red():
    readings = (value("test_decode", 0.0036), value("test_decode", 0.0021, attempt=2))
    told = lines(ScanResult(readings, (over(recovered=True),), complete=True))
    assert "    recovered on retry  test_decode  (2 attempts)" in told
    assert told[-1] == "2 values, 1 over their bound; no test red, 1 recovered on retry"
    assert "RED" not in "\n".join(told)


def test_only_a_red_test_is_red():
    red = scan_text(
        [("a", ScanResult((value("test_decode", 0.0036),), (over(),), complete=True))], color=True
    )
    recovered = ScanResult((value("test_decode", 0.0036),), (over(recovered=True),), complete=True)
    assert "\x1b[1;31mRED" in red and "\x1b[1;31m  0.00360 > 0.003" in red
    assert "\x1b[1;31m" not in scan_text([("a", recovered)], color=True)
    assert "\x1b[1;33mrecovered on retry" in scan_text([("a", recovered)], color=True)
    assert "\x1b" not in scan_text([("a", recovered)])


def test_a_floor_is_passed_from_above():
    floor = Failure("bound", f"{FILE}::TestA.test_acc", FILE, value=0.85, threshold=0.9, fails_when="below")
    readings = (value("test_acc", 0.85, bound=0.9), value("test_acc", 0.95, attempt=2, bound=0.9))
    told = lines(ScanResult(readings, (floor,), complete=True))
    assert told[-1] == "2 values, 1 over their bound; 1 test red"


def test_what_the_log_does_not_name_is_said():
    found = (
        Failure("other", None, message="CUDA out of memory"),
        Failure("other", FILE, FILE, message="exit 1"),
    )
    told = lines(ScanResult((), found, complete=True))
    assert "    RED  a test that the log does not name" in told
    assert "      CUDA out of memory" in told
    assert told[told.index(FILE) + 1 :][:2] == ["    RED", "      exit 1"]


def test_a_label_stands_where_the_name_does_not_tell_it():
    told = "\n".join(lines(ScanResult((value("test_x", 0.001, label="decode"),), (), complete=True)))
    assert "test_x decode " in told
    told = "\n".join(lines(ScanResult((value("test_decode", 0.001, label="decode"),), (), complete=True)))
    assert "test_decode  " in told and "decode decode" not in told


def test_a_parameter_stays_with_its_method():
    reading = Reading(Arm.TRIGGER, f"{FILE}::TestA.test_kl[fp8.4-a.b]", Status.OK, 0.001, threshold=0.003)
    told = lines(ScanResult((reading,), (), complete=True))
    assert told[1] == "  TestA" and told[2].startswith("    test_kl[fp8.4-a.b]  ")


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_nan_and_inf_are_over_the_bound(number):
    told = lines(ScanResult((value("test_x", number),), (), complete=True))
    assert told[-1].startswith("1 value, 1 over their bound")
    assert f"{number} {'?' if math.isnan(number) else '>'} 0.003" in told[2]


def test_methods_that_never_ran_are_named():
    result = ScanResult((value("test_a", 0.0034),), (over("test_a"),), complete=True, censored=(FILE, "b.py"))
    told = lines(result)
    stopped = "  stopped at the first red method (-f): later methods did not run"
    assert told[:2] == [FILE, stopped]
    assert told[told.index("b.py") + 1] == stopped


def test_a_cut_log_is_never_a_pass():
    assert lines(ScanResult((), (), complete=False)) == [CUT, "No KL value and no failed test in this log."]
    assert lines(NOTHING) == ["No KL value and no failed test in this log."]
    assert lines(NOTHING, NOTHING) == ["No KL value and no failed test in these 2 logs."]
    told = lines(ScanResult((value("test_x", 0.001),), (), complete=False))
    assert told[0] == CUT and told[-1].endswith("; no test red in what is there")


def test_several_logs_have_a_line_each_and_details_where_red():
    green = ScanResult((value("test_x", 0.001),), (), complete=True)
    red = ScanResult((value("test_decode", 0.0034),), (over(),), complete=True)
    cut = ScanResult((), (), complete=False)
    told = lines(green, red, cut)
    assert told[:2] == [
        "0.log  1 value, 0 over their bound; no test red",
        "1.log  1 value, 1 over their bound; 1 test red",
    ]
    assert "test_x" not in "\n".join(told) and "    RED  test_decode  (2 attempts)" in told
    assert told[-3:] == [
        "2.log  nothing found  (cut)",
        "1 of the logs cut: what is absent was not seen to pass.",
        "3 logs: 2 values, 1 over their bound; 1 test red",
    ]


def test_a_long_log_is_shortened_but_no_failure_is_left_out():
    many = tuple(value(f"test_{place}", 0.001) for place in range(300))
    told = lines(ScanResult((*many, value("test_last", 0.0034)), (over("test_last"),), complete=True))
    assert "    RED  test_last  (2 attempts)" in told
    assert "more than 200 values: --json has them all" in told
    assert len(told) < 220


def test_one_document_of_several_logs():
    red = ScanResult((value("test_decode", 0.0034),), (over(),), complete=True, job={"runner": "gpu-1"})
    cut = ScanResult((), (), complete=False, censored=(FILE,))
    document = scan_document([("a.log", red), ("run.zip!b.txt", cut)])
    assert [reading["source"] for reading in document["readings"]] == ["a.log"]
    assert [failure["source"] for failure in document["failures"]] == ["a.log"]
    assert document["complete"] is False
    assert document["logs"] == [
        {
            "log": "a.log",
            "complete": True,
            "readings": 1,
            "failures": 1,
            "censored": [],
            "job": {"runner": "gpu-1"},
        },
        {
            "log": "run.zip!b.txt",
            "complete": False,
            "readings": 0,
            "failures": 0,
            "censored": [FILE],
            "job": {},
        },
    ]
    assert scan_document([("a.log", red)])["complete"] is True


@given(hostile, st.integers(40, 120))
def test_no_control_sequence_of_a_stranger_reaches_the_terminal(text, width):
    result = ScanResult(
        (Reading(Arm.TRIGGER, text, Status.OK, 0.001, label=text), value("test_x", 0.004, label=text)),
        (Failure("other", text, file=text, message=text), over("test_x", message=text)),
        complete=True,
        censored=(text,),
    )
    for told in (scan_text([(text, result)], width), scan_text([(text, result), (text, NOTHING)], width)):
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in told)


@given(st.floats(-1, 1e6), st.floats(1e-9, 10), st.integers(40, 120))
def test_rows_fit_the_width_and_survive_ascii(number, bound, width):
    text = scan_text([("a", ScanResult((value("test_x", number, bound=bound),), (), complete=True))], width)
    assert all(len(line) <= max(width, 40) for line in text.splitlines()[2:3])
    assert "?" not in ascii_text(text)
