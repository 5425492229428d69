from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.result import Failure, ScanResult
from bot.report import evidence, terminal
from bot.verdict.answer import Numbers
from bot.verdict.reading import Arm, Reading, Status
from tests.report.builders import ASKING, CASE, EVIDENCE, NOISE, REGRESSION, SITE, TEST, lost, readings
from tests.report.hostile import hostile, is_inert, shape


def test_a_verdict_reads_top_to_bottom():
    text = terminal.verdict_text(NOISE, readings(), width=100)
    lines = text.splitlines()
    assert lines[0] == "NOISE  noise_same_on_base"
    assert "head     8        0  1/8 (0.3–52.6 %)  0.00230 (0.00187–0.00312)" in lines
    assert (
        "head over base ×1.01 (0.88–1.16, 95 % confidence); these runs would have shown ×1.25 or more"
        in lines
    )
    assert "next: a person decides on the proposed bound" in lines
    assert any(line.startswith("  proposal: 0.003 -> 0.005; ") for line in lines)
    assert all(len(line) <= 100 for line in lines) and "\x1b" not in text


def test_the_plot_puts_every_run_on_its_side_of_the_bound():
    lines = terminal.verdict_text(
        REGRESSION, readings(head=(0.0031, 0.0045), base=(0.0029, 0.0021))
    ).splitlines()
    head = next(line for line in lines if line.startswith("    head "))
    base = next(line for line in lines if line.startswith("    base "))
    assert [head.split("│")[0].count("·"), head.split("│")[1].count("·")] == [0, 2]
    assert [base.split("│")[0].count("·"), base.split("│")[1].count("·")] == [2, 0]
    assert head.index("│") == base.index("│")


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=30), st.floats(1e-6, 10), st.integers(40, 160))
def test_no_dot_is_lost_under_the_bound_or_on_its_wrong_side(values, bound, width):
    text = terminal.verdict_text(
        REGRESSION, readings(head=tuple(values), base=(), trigger=()), width, bound=bound
    )
    line = next(line for line in text.splitlines() if line.startswith("    head ") and "│" in line)
    left, right = line.split("│")
    assert bool(set(left[9:]) & set("·:#")) == any(value <= bound for value in values)
    assert bool(set(right) & set("·:#")) == any(value > bound for value in values)


def test_wanted_runs_are_the_next_step():
    text = terminal.verdict_text(ASKING)
    assert text.startswith("NO VERDICT  more_runs\n")
    assert "next: run head 2 launches × 4, base 2 launches × 4, append the readings and decide again" in text


def test_colour_only_on_request():
    assert "\x1b[1;32mNOISE" in terminal.verdict_text(NOISE, color=True)
    assert "\x1b" not in terminal.verdict_text(NOISE, color=False)


@given(hostile)
def test_no_control_sequence_of_a_stranger_reaches_the_terminal(text):
    verdict = replace(NOISE, sentence=text, reason=text)
    scan = ScanResult(
        (Reading(Arm.TRIGGER, text, Status.OK, 0.001, label=text),),
        (Failure("other", text, file=text, message=text),),
        complete=True,
    )
    site = replace(SITE, path=text, cls=text, spelling=text)
    for told in (
        terminal.verdict_text(verdict, readings()),
        terminal.scan_text(scan),
        terminal.site_text(site),
    ):
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in told)


def test_a_scan_shows_failures_first_then_values():
    red = Failure("bound", TEST, value=0.00341, threshold=0.003, attempts=2)
    values = tuple(r for r in readings() if r.arm is Arm.TRIGGER)
    lines = terminal.scan_text(ScanResult(values, (red,), complete=True), width=120).splitlines()
    assert lines[:3] == [f"red  {TEST}", "  KL 0.00341, bound 0.003", "  2 attempts"]
    assert [line.split() for line in lines[4:]] == [
        ["TestHybridCacheKL.test_decode_cache_hit", "-", "1", "0.00341", "0.003"],
        ["TestHybridCacheKL.test_decode_cache_hit", "-", "2", "0.00328", "0.003"],
    ]


def test_a_cut_log_is_never_a_pass():
    text = terminal.scan_text(ScanResult((), (), complete=False))
    assert text == "The log is cut: what is absent was not seen to pass.\nNo failed test in what is there.\n"
    assert terminal.scan_text(ScanResult((), (), complete=True)) == "No failed test in this log.\n"


def test_a_recovered_failure_and_one_without_a_value():
    found = (
        Failure("bound", TEST, value=math.nan, threshold=0.003, recovered=True),
        Failure("other", None, message="CUDA out of memory"),
    )
    lines = terminal.scan_text(ScanResult((), found, complete=True)).splitlines()
    assert lines[0] == f"recovered on retry  {TEST}" and lines[1] == "  KL nan, bound 0.003"
    assert lines[3:5] == ["red  a test the log does not name", "  CUDA out of memory"]


def test_a_site():
    assert terminal.site_text(SITE).splitlines() == [
        "test/registered/kl/test_hybrid_cache_kl.py:21:20",
        "  TestHybridCacheKL.kl_threshold = 0.003  (0.003, scope class)",
        f"  governs  {TEST}",
        "  sibling  TestHybridCacheKLHiCache = 0.005 in test/registered/kl/test_hybrid_cache_kl.py",
    ]


def test_readings_come_back_from_the_lines():
    given_readings = (*readings(head=(math.nan, math.inf, 0.002)), lost())
    lines = evidence.readings_jsonl(given_readings).splitlines()
    back = tuple(Reading.from_record(json.loads(line)) for line in lines)
    assert [repr(reading) for reading in back] == [repr(reading) for reading in given_readings]
    assert evidence.readings_jsonl(()) == ""


def test_the_lines_keep_the_contract():
    contract = Path(__file__).parents[1] / "contracts" / "reading.schema.json"
    if not contract.exists():
        pytest.skip("the contracts are not here")
    import jsonschema_rs

    schema = jsonschema_rs.validator_for(json.loads(contract.read_text()))
    for line in evidence.readings_jsonl((*readings(head=(math.nan, 0.002)), lost())).splitlines():
        schema.validate(json.loads(line))


def test_the_evidence_page_says_how_to_check():
    text = evidence.evidence_readme(CASE, NOISE)
    assert text.startswith("# NOISE: `TestHybridCacheKL.test_decode_cache_hit`\n")
    assert "kl-triage decide readings.jsonl --threshold 0.003" in text and "(chart.svg)" in text
    assert EVIDENCE.readings_url not in text  # the folder holds them itself


@given(hostile)
def test_the_evidence_page_is_not_moved_by_strangers(text):
    def told(word):
        verdict = replace(NOISE, sentence=word, numbers=Numbers())
        return evidence.evidence_readme(replace(CASE, test=f"a::{word}", runner=word), verdict)

    assert shape(told(text)) == shape(told("x")) and is_inert(told(text))
