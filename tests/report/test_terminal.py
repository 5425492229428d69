from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report import evidence, terminal
from bot.report.console import ascii_text
from bot.source.site import Override
from bot.verdict.answer import Numbers, Refusal, Rung, Runs, VerdictKind
from bot.verdict.reading import Arm, Reading
from tests.report.builders import ASKING, CASE, EVIDENCE, NOISE, REGRESSION, SITE, TEST, lost, of, readings
from tests.report.hostile import hostile, is_inert, shape


def test_a_verdict_reads_top_to_bottom():
    text = terminal.verdict_text(NOISE, readings(), width=100)
    lines = text.splitlines()
    assert lines[0] == "NOISE  noise_same_on_base"
    assert "arm   n  over 0.003        median   max" in lines
    assert "head  8  1/8 (0.3–52.6 %)  0.00230  0.00312" in lines
    assert (
        "head over base ×1.01 (0.88–1.16, 95 % confidence); these runs would have shown ×1.25 or more"
        in lines
    )
    assert "next: a person decides on the proposed bound" in lines
    assert "proposal: 0.003 -> 0.005" in lines
    assert "  when the level rises  ×1.25  ×1.5  ×2    ×3" in lines
    assert "  CI jobs red at 0.003  27 %   71 %  99 %  100 %" in lines
    assert "  still red at 0.005    1.1 %  9 %   46 %  98 %" in lines
    assert all(len(line) <= 100 for line in lines) and "\x1b" not in text


@pytest.mark.parametrize("kind", VerdictKind)
def test_no_comment_is_asked_for_where_there_is_no_pull_request(kind):
    text = terminal.verdict_text(of(kind), readings())
    assert "rerun-kl" not in text and "{" not in text


def test_the_plot_puts_every_run_on_its_side_of_the_bound():
    lines = terminal.verdict_text(
        REGRESSION, readings(head=(0.0031, 0.0045), base=(0.0029, 0.0021))
    ).splitlines()
    head = next(line for line in lines if line.startswith("    head "))
    base = next(line for line in lines if line.startswith("    base "))
    assert [head.split("│")[0].count("·"), head.split("│")[1].count("·")] == [0, 2]
    assert [base.split("│")[0].count("·"), base.split("│")[1].count("·")] == [2, 0]
    assert head.index("│") == base.index("│")


VALUES = st.one_of(st.floats(1e-6, 10), st.sampled_from([0.0, 5e-324, 1e-12, 1e99]))


@given(st.lists(VALUES, min_size=1, max_size=30), st.floats(1e-6, 10), st.integers(40, 160))
def test_no_dot_is_lost_under_the_bound_or_on_its_wrong_side(values, bound, width):
    text = terminal.verdict_text(
        REGRESSION, readings(head=tuple(values), base=(), trigger=()), width, bound=bound
    )
    line = next(line for line in text.splitlines() if line.startswith("    head ") and "│" in line)
    left, right = line.split("│")
    assert bool(set(left[9:]) & set("·:#")) == any(value <= bound for value in values)
    assert bool(set(right) & set("·:#")) == any(value > bound for value in values)


def test_rows_stand_in_the_order_of_the_story_on_a_log_axis():
    past = tuple(replace(r, arm=Arm.HISTORY) for r in readings(base=(0.001, 0.01), head=(), trigger=()))
    lines = terminal.verdict_text(REGRESSION, (*past, *readings())).splitlines()
    rows = [line.split()[0] for line in lines if "│" in line]
    assert rows == ["trigger", "head", "base", "history"]
    history = next(line for line in lines if line.startswith(" history "))
    bound = history.index("│")
    middle = (history.index("·") + history.rindex("·")) / 2  # of 0.001 and 0.01, on a log axis 0.00316
    assert 0 <= middle - bound <= 3
    assert any("0.002" in line and "0.005" in line and "0.01" in line for line in lines), "round ticks"


def test_only_what_exceeds_is_red():
    text = terminal.verdict_text(REGRESSION, readings(head=(0.0021, 0.0045), base=(), trigger=()), color=True)
    row = next(line for line in text.splitlines() if "│" in line)
    left, right = row.split("│")
    assert "·" in left and "\x1b[1;31m" not in left
    assert "\x1b[1;31m·" in right


def test_a_proposed_bound_has_its_line_and_name():
    lines = terminal.verdict_text(NOISE, readings(), width=60).splitlines()
    head = next(line for line in lines if line.startswith("    head "))
    (named,) = (line for line in lines if "proposed 0.005" in line)
    assert named.index("^") == head.index("┊")
    (bound,) = (line for line in lines if "^ bound 0.003" in line)
    assert bound.index("^") == head.index("│")


def test_what_cannot_be_placed_is_counted():
    lines = terminal.verdict_text(REGRESSION, readings(head=(math.nan, math.inf, 0.002))).splitlines()
    assert "         2 runs with nan or inf not shown" in lines


def test_zeros_sit_on_the_left_edge_and_nothing_positive_is_no_plot():
    lines = terminal.verdict_text(REGRESSION, readings(head=(0.0, 0.004), base=(), trigger=())).splitlines()
    assert next(line for line in lines if line.startswith("    head "))[9] == "·"
    nothing = terminal.verdict_text(REGRESSION, readings(head=(0.0,), base=(), trigger=()), bound=0.0)
    assert "KL in nats, log axis" not in nothing


def test_lost_runs_have_a_column_only_where_there_are_some():
    lines = terminal.verdict_text(NOISE).splitlines()
    assert "arm   n  over 0.003        median   max" in lines
    runs = {"head": Runs(8, 2), "base": Runs(8, 0)}
    some = replace(NOISE, numbers=replace(NOISE.numbers, runs=runs))
    lines = terminal.verdict_text(some).splitlines()
    assert "head  8  2        1/8 (0.3–52.6 %)  0.00230  0.00312" in lines


def test_the_trace_only_on_request():
    assert "how it was decided" not in terminal.verdict_text(NOISE)
    lines = terminal.verdict_text(NOISE, trace=True).splitlines()
    assert "how it was decided (5 steps, the last one answered)" in lines
    assert "  exact_gate     the bound 0.003 is far from exact" in lines
    assert lines[-1] == "  noise          head and base exceed 0.003 alike and 0.005 holds"


def test_ascii_keeps_every_row_at_its_place():
    text = terminal.verdict_text(NOISE, readings())
    plain = ascii_text(text)
    assert plain.isascii() and "?" not in plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in text.splitlines()]
    head = next(line for line in plain.splitlines() if line.startswith("    head ") and "|" in line)
    assert set(head[9:]) <= set(" .:#|'") and "'" in head


def test_wanted_runs_are_the_next_step():
    text = terminal.verdict_text(ASKING, width=120)
    assert text.startswith("NO VERDICT  more_runs\n")
    wanted = "next: 16 more runs (head 2 launches of 4 repeats, base 2 launches of 4 repeats); append the"
    assert wanted in text


def test_colour_only_on_request():
    assert "\x1b[1;32mNOISE" in terminal.verdict_text(NOISE, color=True)
    assert "\x1b" not in terminal.verdict_text(NOISE, color=False)


@given(hostile)
def test_no_control_sequence_of_a_stranger_reaches_the_terminal(text):
    verdict = replace(NOISE, sentence=text, reason=text, trace=(Rung(text, text),))
    site = replace(SITE, path=text, cls=text, spelling=text)
    for told in (
        terminal.verdict_text(verdict, readings(), trace=True),
        terminal.site_text(site),
    ):
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in told)


def test_a_site():
    assert terminal.site_text(SITE).splitlines() == [
        "test/registered/kl/test_hybrid_cache_kl.py:21:20",
        "  TestHybridCacheKL.kl_threshold = 0.003  (0.003, scope class)",
        f"  governs  {TEST}",
        "  sibling  TestHybridCacheKLHiCache = 0.005 in test/registered/kl/test_hybrid_cache_kl.py",
        "  not all files of the tree were searched for tests under this bound",
    ]


def test_a_site_that_must_not_be_edited_and_what_goes_there_instead():
    site = replace(
        SITE,
        governs=(),
        siblings=(),
        complete=True,
        scope="kit default",
        refusal=Refusal("kit_default", "It is shared."),
        override=Override("test/test_it.py", "TestIt", "kl_threshold", 7, 99, "    ", "\n"),
    )
    assert terminal.site_text(site).splitlines()[1:] == [
        "  TestHybridCacheKL.kl_threshold = 0.003  (0.003, scope kit default)",
        "  refused (kit_default): It is shared.",
        "  instead  kl_threshold = … in TestIt (test/test_it.py:7)",
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
