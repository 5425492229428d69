from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.report import BUMP, find_marker, pull_request
from bot.report.markdown import LIMIT
from bot.source.site import Sibling
from bot.verdict.answer import Candidate, Expected, Numbers, Rung
from bot.verdict.reading import Arm
from tests.report.builders import CASE, NOISE, PROPOSAL, REGRESSION, SITE, readings
from tests.report.hostile import OWN_HTML, hostile, html_in, is_inert, shape


def test_title():
    assert pull_request.title(CASE, NOISE) == (
        "[CI] Relax TestHybridCacheKL kl_threshold 0.003 -> 0.005 (noise, 16 runs, x1.01 vs base)"
    )


def test_comment_line():
    assert pull_request.comment_line(CASE, NOISE) == (
        "# 0.003 -> 0.005: 2/16 runs exceeded 0.003, expected 0.11 % at 0.005 (kl-triage, #12)"
    )
    assert pull_request.comment_line(replace(CASE, pull=None), NOISE).endswith("(kl-triage)")


positive = st.floats(1e-300, 1e300)


@given(positive, positive, st.floats(0, 1), st.none() | st.integers(1, 10**12))
def test_the_comment_line_is_one_short_ascii_comment_for_any_numbers(old, new, rate, pull):
    proposal = replace(PROPOSAL, old=old, threshold=new, exceedance=Expected(rate, 0, 1, "", 1))
    line = pull_request.comment_line(replace(CASE, pull=pull), replace(NOISE, proposal=proposal))
    assert line.startswith("# ") and line.isascii() and len(line) <= 100 and len(line.splitlines()) == 1


def test_branch_is_the_same_for_the_same_site_and_bound_only():
    name = pull_request.branch(SITE, 0.005)
    assert name == "kl-triage/bump/testhybridcachekl-4e0e1ef2/0.005"
    assert name == pull_request.branch(replace(SITE, line=99, column=1, governs=()), 0.005)
    assert name != pull_request.branch(SITE, 0.004)
    assert name != pull_request.branch(replace(SITE, path="other.py"), 0.005)


@settings(max_examples=25, deadline=None)
@given(hostile, positive)
def test_git_takes_every_branch_name(text, new):
    name = pull_request.branch(replace(SITE, cls=text, path=text), new)
    assert subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True).returncode == 0


def test_commit_message():
    assert pull_request.commit_message(CASE, NOISE) == (
        "[CI] Relax TestHybridCacheKL kl_threshold 0.003 -> 0.005 (noise, 16 runs, x1.01 vs base)\n"
        "\n"
        "test/registered/kl/test_hybrid_cache_kl.py: one number and one comment line.\n"
        "2 of 16 runs exceeded 0.003; 0.11 % of CI jobs are expected over 0.005.\n"
        "\n"
        "Evidence: commit 9f8e7d6222222222222222222222222222222222\n"
    )


def test_the_body_in_order():
    text = pull_request.body(CASE, NOISE, readings())
    places = [
        text.index(piece)
        for piece in (
            "<!-- kl-triage:bump-v1 key=",
            "**NOISE:** The bound 0.003 lies inside the noise",
            "### What changes",
            "`TestHybridCacheKL.kl_threshold`: 0.003 → 0.005 (looser, +67 %), and one comment line above it.",
            "- Unchanged beside it: `TestHybridCacheKLHiCache.kl_threshold` (0.005).",
            "### Evidence",
            "| 0.003 | 2/16 | - | - | the bound today |",
            "| 0.004 | 0/16 | 0.9 % (0.4–2.1 %) | 17 % | expected over 0.5 % of CI jobs |",
            "| 0.005 | 0/16 | 0.11 % (0.02–0.31 %) | 17 % | **proposed** |",
            "[raw readings](https://github.com/acme/engine/blob/9f8e7d6/investigations/7/readings.jsonl)",
            "### Head beside base, and history",
            "Head over base ×1.01 (0.88–1.16, 95 % confidence).",
            "**Could be wrong if:**",
            "### What it still catches",
            "| ×1.5 | 71 % | 9 % |",
            "### History",
            "### Before loosening",
            "- Twice as many prompts would exceed 0.003 in 1.2 % of runs.",
            "### If you do not want this",
            "Close this pull request to decline. It is a draft",
            "<details><summary>Where this comes from",
        )
    ]
    assert places == sorted(places) and places[0] == 0
    assert find_marker(text, BUMP) == SITE.key


def test_what_has_no_data_says_so_and_nothing_is_promised():
    bare = replace(PROPOSAL, still_catches=(), remedies=(), alternatives=())
    text = pull_request.body(replace(CASE, evidence=None), replace(NOISE, numbers=Numbers(), proposal=bare))
    for line in (
        "| 0.003 | not measured | - | - | the bound today |",
        "No raw readings were kept for this case.",
        "Head over base: not measured.",
        "Not measured: the chance to catch a shift was not estimated.",
        "- Replay of past runs of `main`: no history yet, so not measured.",
        "- Earlier moves of this bound: not read, so the cumulative factor is not given.",
        "Not measured: no other remedy was estimated.",
    ):
        assert line in text
    assert "days" not in text


def test_the_declined_time_is_named_where_there_is_one():
    text = pull_request.body(replace(CASE, declined_for_days=90), NOISE)
    assert "to decline; the bot will not open it again for 90 days." in text


def test_history_is_replayed_on_both_bounds():
    past = tuple(replace(r, arm=Arm.HISTORY) for r in readings(head=(0.002, 0.0031), base=(), trigger=()))
    text = pull_request.body(CASE, NOISE, (*readings(), *past))
    assert "- Replay of past runs of `main`: 1/2 over 0.003, 0/2 over 0.005." in text


def test_a_larger_bound_that_would_also_hold_is_named_as_larger_than_needed():
    proposal = replace(PROPOSAL, alternatives=(Candidate(0.006, Expected(1e-5, 0, 2e-5, "", 0.17), ""),))
    assert "| 0.006 | 0/16 | under 0.01 % (under 0.01 %) | 17 % | larger than needed |" in pull_request.body(
        CASE, replace(NOISE, proposal=proposal), readings()
    )


def test_without_a_site_or_a_proposal_there_is_no_bump():
    for case, verdict in ((replace(CASE, site=None), NOISE), (CASE, REGRESSION)):
        with pytest.raises(ValueError, match="a bump needs"):
            pull_request.body(case, verdict)


def test_the_body_fits_whatever_comes():
    big = "|`*<@" * 5_000
    site = replace(SITE, cls=big, siblings=(Sibling(big, big, 0.1),) * 500, governs=(big,) * 500)
    proposal = replace(
        PROPOSAL,
        why_this_value=big,
        remedies=(big,) * 500,
        alternatives=tuple(Candidate(n * 1e-3, PROPOSAL.exceedance, big) for n in range(500)),
    )
    verdict = replace(NOISE, sentence=big, proposal=proposal, trace=(Rung(big, big),) * 500)
    text = pull_request.body(replace(CASE, site=site, hosts=(big,) * 500), verdict, readings())
    assert len(text) <= LIMIT and text.startswith(pull_request.marker(site))


@settings(max_examples=40, deadline=None)
@given(hostile)
def test_strangers_text_changes_no_element_and_mentions_nobody(text):
    def told(word):
        site = replace(SITE, path=word, cls=word, attribute=word, governs=(word,))
        site = replace(site, siblings=(Sibling(word, word, 0.1),))
        candidate = Candidate(0.004, PROPOSAL.exceedance, word)
        proposal = replace(PROPOSAL, why_this_value=word, remedies=(word,), alternatives=(candidate,))
        verdict = replace(NOISE, sentence=word, proposal=proposal, trace=(Rung(word, word),))
        case = replace(CASE, site=site, test=word, runner=word, hosts=(word,), pull=None)
        return pull_request.body(case, verdict, readings())

    page = told(text)
    assert shape(page) == shape(told("x"))
    assert is_inert(page)
    assert {h for h in html_in(page) if "details>" not in h and not h.startswith("<!--")} <= OWN_HTML


@given(hostile)
def test_title_and_message_mention_nobody(text):
    case = replace(CASE, site=replace(SITE, cls=text, path=text, attribute=text), evidence=None)
    for made in (pull_request.title(case, NOISE), pull_request.commit_message(case, NOISE)):
        assert "@m" not in made and "@a" not in made and "#1" not in made
    assert len(pull_request.title(case, NOISE).splitlines()) == 1


def test_a_marker_needs_its_kind():
    assert find_marker(pull_request.marker(SITE)) is None
