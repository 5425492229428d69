from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from bot.report import RedTest, check
from bot.report.markdown import CHECK_LIMIT
from bot.verdict.answer import VerdictKind
from tests.report.builders import ASKING, CASE, NOISE, PLAN, REGRESSION, lost, of, readings
from tests.report.hostile import hostile


@pytest.mark.parametrize(
    ("kind", "conclusion"),
    [
        (VerdictKind.NOISE, "success"),
        (VerdictKind.REGRESSION, "failure"),
        (VerdictKind.OLD_REGRESSION, "failure"),
        (VerdictKind.DETERMINISTIC, "failure"),
        (VerdictKind.INTERMITTENT, "failure"),
        (VerdictKind.NON_FINITE, "failure"),
        (VerdictKind.EXACT_GATE, "failure"),
        (VerdictKind.HARDWARE, "neutral"),
        (VerdictKind.INFRA, "neutral"),
        (VerdictKind.NOT_REPRODUCED, "neutral"),
        (VerdictKind.REFUSED, "neutral"),
        (VerdictKind.INCONCLUSIVE, "neutral"),
    ],
)
def test_conclusions(kind, conclusion):
    assert check.completed(CASE, of(kind)).conclusion == conclusion


def test_success_needs_an_answer_without_gaps():
    assert check.completed(CASE, NOISE).conclusion == "success"
    assert check.completed(CASE, replace(NOISE, next=PLAN)).conclusion == "neutral"
    assert check.completed(CASE, ASKING).conclusion == "neutral"
    for gap in ({"not_measured": ("x",)}, {"also_red": (RedTest("t"),)}, {"current_head": "c" * 40}):
        assert check.completed(replace(CASE, **gap), NOISE).conclusion == "neutral"


def test_no_green_beside_an_interval_that_lies_over_one():
    numbers = replace(NOISE.numbers, ratio=replace(NOISE.numbers.ratio, estimate=1.08, low=1.01, high=1.15))
    output = check.completed(CASE, replace(NOISE, numbers=numbers))
    assert output.conclusion == "neutral" and output.summary.startswith("### ⚠️ KL triage: NOISE")
    assert "there is more than chance in the ×1.08 (1.01–1.15, 95 % confidence) of head" in output.summary
    assert "a shift of head below" not in output.summary


def test_a_gap_never_softens_a_failure():
    assert check.completed(replace(CASE, not_measured=("x",)), REGRESSION).conclusion == "failure"


def test_the_title_holds_the_counts():
    name = "TestHybridCacheKL.test_decode_cache_hit"
    assert check.completed(CASE, REGRESSION).title == f"REGRESSION: head 8/8, base 1/8 over 0.003 - {name}"
    gap = replace(CASE, not_measured=("x",))
    title = "NOISE: head 1/8, base 1/8 over 0.003 (not everything was measured) - " + name
    assert check.completed(gap, NOISE).title == title


def test_the_summary_is_the_head_of_the_comment_and_the_text_its_details():
    output = check.completed(CASE, NOISE, readings())
    assert output.summary.startswith("### ✅ KL triage: NOISE") and "| KL in nats |" in output.summary
    assert "kl-triage:v1" not in output.summary and "<details>" not in output.summary
    assert output.text and output.text.startswith("<details><summary>How it was decided")


def test_progress_counts_runs():
    assert check.in_progress(CASE, 3, 16) == check.CheckOutput(
        "Measuring: 3 of 16 runs",
        "Measuring `TestHybridCacheKL.test_decode_cache_hit` against `kl_threshold` = 0.003: 3 of 16 runs."
        " No verdict yet.",
    )
    assert check.in_progress(CASE, 0, 0).title == "Measuring: the first runs are being started"


def test_giving_up_is_neutral_and_says_nothing_of_the_change():
    output = check.given_up(CASE)
    assert output.conclusion == "neutral" and "This says nothing about the change." in output.summary


def test_both_texts_keep_to_the_limit():
    output = check.completed(CASE, NOISE, tuple(lost(error="e" * 500) for _ in range(5_000)))
    assert (
        len(output.summary) <= CHECK_LIMIT and len(output.text) <= CHECK_LIMIT and "more rows" in output.text
    )


@given(hostile)
def test_a_title_is_one_line_that_mentions_nobody(text):
    title = check.completed(replace(CASE, test=f"x::{text}"), REGRESSION).title
    assert len(title.splitlines()) == 1 and len(title) <= 200 and "@m" not in title
