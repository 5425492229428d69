"""The one line for pull requests that were not measured: never green, never without evidence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from bot.report import comment, find_marker, line
from bot.report.facts import PullLink
from bot.report.markdown import LIMIT
from bot.verdict.answer import VerdictKind
from tests.report.builders import BASE, CASE, EVIDENCE, HEAD, NUMBERS, TEST
from tests.report.hostile import OWN_HTML, hostile, html_in, is_inert, shape

OTHER = "77aa88b" + "3" * 33
COMMENT_URL = "https://github.com/acme/engine/pull/12#issuecomment-5"
RED = line.Red(
    key=CASE.key,
    test=TEST,
    head_sha=OTHER,
    job_url="https://github.com/acme/engine/actions/runs/51/job/9",
    values=(0.0032, 0.00301),
    bound=0.003,
    bound_name="kl_threshold",
)
NOISE = line.Verdict(
    pull=PullLink(12, COMMENT_URL),
    kind=VerdictKind.NOISE,
    head_sha=HEAD,
    base_sha=BASE,
    day="2026-06-01",
    rates=NUMBERS.exceedance,
    ratio=NUMBERS.ratio,
    min_detectable_ratio=1.25,
    evidence=EVIDENCE,
    proposal=PullLink(13, "https://github.com/acme/engine/pull/13"),
)
OLD = replace(NOISE, kind=VerdictKind.OLD_REGRESSION, since="0badc0d" + "4" * 33, proposal=None)


def test_the_line_names_whose_runs_which_commits_when_and_what_would_make_it_wrong():
    text = line.answered(RED, NOISE)
    for piece in (
        "KL triage: NOISE, measured for another pull request - `TestHybridCacheKL.test_decode_cache_hit`",
        "KL was 0.00320 and then 0.00301 against `kl_threshold` = 0.003 in [this job]",
        "at `77aa88b`",
        "**Your commit was not measured.**",
        f"**Measured** for [#12]({COMMENT_URL}) on 2026-06-01",
        "head `ab12cd3` 1/8 (0.3–52.6 %), base `de45fa6` 1/8 (0.3–52.6 %)",
        "head over base ×1.01 (0.88–1.16, 95 % confidence)",
        f"[readings]({EVIDENCE.readings_url})",
        "[draft pull request #13](https://github.com/acme/engine/pull/13)",
        "**Could be wrong if:** this pull request raises KL by itself",
        "would have shown ×1.25",
        "`/rerun-kl`",
    ):
        assert piece in text, piece


def test_an_old_regression_is_not_this_pull_requests_and_older_than_it():
    text = line.answered(RED, OLD)
    assert "got worse since `0badc0d` by an earlier change, so probably not by this pull request" in text
    assert "or starts from a commit before that change" in text
    assert "look for the cause on the default branch" in text


TEXTS = {
    "waiting": lambda red: line.waiting(red, PullLink(12, COMMENT_URL)),
    "noise": lambda red: line.answered(red, NOISE),
    "old": lambda red: line.answered(red, OLD),
    "no answer": lambda red: line.unanswered(red, "The pull request has moved on."),
}


@pytest.mark.parametrize("build", TEXTS.values(), ids=TEXTS)
def test_every_text_is_found_as_the_sticky_comment_is_short_and_never_green(build):
    text = build(RED)
    assert find_marker(text) == CASE.key
    assert text.startswith(comment.marker_prefix(CASE.key))
    assert "✅" not in text and "❌" not in text
    assert len(text) < 2_500
    assert not re.search(r"^\s*/rerun-kl", text, re.MULTILINE)


@pytest.mark.parametrize("build", TEXTS.values(), ids=TEXTS)
def test_an_older_commit_is_named_and_a_forks_is_bound(build):
    assert "**Older commit:**" not in build(replace(RED, current_head=OTHER))
    assert "**Older commit:** this is about `77aa88b`" in build(replace(RED, current_head=HEAD))
    assert f"`/rerun-kl {OTHER}`" in build(replace(RED, fork=True))


def test_what_waits_says_for_whom_and_where():
    text = line.waiting(RED, PullLink(12, COMMENT_URL))
    assert f"is being measured for [#12]({COMMENT_URL})" in text and "this comment gets the answer" in text


def test_the_comment_of_an_older_commit_says_that_a_newer_one_went_red_too():
    assert line.red_again(OTHER, (0.0032,), 0.003) == (
        "Commit 77aa88b went red too (0.00320), within what these runs showed, and was not measured."
    )


@given(hostile)
@settings(max_examples=60, deadline=None)
def test_strangers_text_changes_no_element_mentions_nobody_and_starts_no_command(text):
    def told(word):
        red = replace(RED, test=f"{word}::{word}", bound_name=word)
        proposal = PullLink(13, "https://github.com/acme/engine/pull/13")
        return [
            line.waiting(red, PullLink(12, COMMENT_URL)),
            line.answered(red, replace(OLD, since=word, proposal=proposal)),
            line.unanswered(red, word),
        ]

    for page, plain in zip(told(text), told("word"), strict=True):
        assert shape(page) == shape(plain)
        assert is_inert(re.sub(r"<!--.*?-->", "", page))
        assert {html for html in html_in(page) if not html.startswith("<!-- kl-triage:")} <= OWN_HTML


def test_hostile_size_still_fits():
    big = "|`*<@" * 5_000
    red = replace(RED, test=f"x.py::{big}", bound_name=big, values=(0.0032,) * 5_000)
    assert "and 4996 more" in line.answered(red, NOISE)
    assert len(line.answered(red, replace(NOISE, since=big))) < LIMIT
    assert len(line.unanswered(red, big)) < LIMIT
