from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from bot.report import PullLink, RedTest, comment, find_marker, tables, words
from bot.report.markdown import LIMIT
from bot.verdict.answer import ArmPlan, OutlierPrompt, Plan, Rung, Runs, VerdictKind
from bot.verdict.reading import Arm, Reading, Status
from tests.report.builders import ASKING, CASE, INTERMITTENT, NOISE, PLAN, REGRESSION, lost, of, readings
from tests.report.hostile import OWN_HTML, hostile, html_in, is_inert, shape


def test_the_order_is_verdict_next_numbers_reasons_runs_picture_details():
    text = comment.result(CASE, NOISE, readings())
    places = [
        text.index(piece)
        for piece in (
            "<!-- kl-triage:v1 key=",
            "### ✅ KL triage: NOISE - `TestHybridCacheKL.test_decode_cache_hit`",
            "The bound 0.003 lies inside the noise",
            "**Next:** review [draft pull request #13](https://github.com/acme/engine/pull/13)",
            "| KL in nats | head [`ab12cd3`]",
            "**Head over base:** ×1.01 (0.88–1.16, 95 % confidence)",
            "**Why:** head and base exceed 0.003 alike",
            "**Why not:**",
            "**Could be wrong if:** there is a shift of head below ×1.25, or a fault too rare to show",
            "**Proposed bound:** 0.003 → 0.005 (looser, +67 %)",
            "**Runs:** 16 of 16 planned · 1 round",
            "```mermaid",
            "<details><summary>How it was decided",
            "<details><summary>Value of each prompt (3)",
            "<details><summary>Value of every run (18)",
            "`/rerun-kl`",
            "<!-- kl-triage:data {",
        )
    ]
    assert places == sorted(places) and places[0] == 0


def test_the_table_shows_both_arms_the_missing_history_and_the_bound():
    lines = comment.result(CASE, NOISE, readings()).splitlines()
    assert "| runs with a value | 8 | 8 | no history yet |  |" in lines
    assert (
        "| median (range) | 0.00230 (0.00187–0.00312) | 0.00226 (0.00194–0.00305) | no history yet | 0.003 |"
        in lines
    )
    assert (
        "| over the bound (95 % interval) | 1/8 (0.3–52.6 %) | 1/8 (0.3–52.6 %) | no history yet |  |"
        in lines
    )


@pytest.mark.parametrize(
    ("kind", "icon", "label"),
    [
        (VerdictKind.NOISE, "✅", "NOISE"),
        (VerdictKind.REGRESSION, "❌", "REGRESSION"),
        (VerdictKind.OLD_REGRESSION, "❌", "OLD REGRESSION"),
        (VerdictKind.DETERMINISTIC, "❌", "LEVEL SHIFT (deterministic)"),
        (VerdictKind.INTERMITTENT, "❌", "INTERMITTENT FAULT"),
        (VerdictKind.NON_FINITE, "❌", "NOT A NUMBER"),
        (VerdictKind.EXACT_GATE, "❌", "EXACT GATE"),
        (VerdictKind.HARDWARE, "⚠️", "HARDWARE-SPECIFIC"),
        (VerdictKind.INFRA, "⚠️", "INFRA"),
        (VerdictKind.NOT_REPRODUCED, "⚠️", "NOT REPRODUCED"),
        (VerdictKind.REFUSED, "⚠️", "REFUSED"),
        (VerdictKind.INCONCLUSIVE, "⚠️", "NO VERDICT"),
    ],
)
def test_each_kind_has_its_icon_and_only_noise_a_green_one(kind, icon, label):
    assert f"\n### {icon} KL triage: {label} - `" in comment.result(CASE, of(kind), readings())


@pytest.mark.parametrize(
    "case",
    [
        replace(CASE, not_measured=("Rerun 2 was cancelled.",)),
        replace(CASE, also_red=(RedTest("test/x.py::TestOther.test_y"),)),
        replace(CASE, current_head="c" * 40),
    ],
)
def test_noise_is_not_green_while_anything_is_unmeasured_or_unjudged(case):
    text = comment.result(case, NOISE, readings())
    assert "### ⚠️ KL triage: NOISE" in text and "✅" not in text
    assert "**Not measured or not judged:**" in text


def test_noise_is_not_green_with_runs_missing_and_says_how_many():
    numbers = replace(NOISE.numbers, runs={"head": Runs(7, 1), "base": Runs(8, 0)})
    text = comment.result(CASE, replace(NOISE, numbers=numbers), (*readings(), lost()))
    assert "✅" not in text and "1 of 8 runs of head gave no value." in text
    assert "| head | `head-9` | timeout | `cpu-local-0` | `the server did not start` |" in text


def test_noise_that_moves_no_bound_is_told_as_noise_and_is_not_green():
    barred = replace(of(VerdictKind.REFUSED), reason="asked_again", trace=(Rung("noise", "alike"),))
    text = comment.result(
        replace(CASE, proposal_pull=None, open_bump=PullLink(9, "https://ghe.example/9")), barred
    )
    assert "### ⚠️ KL triage: NOISE, NO BUMP - " in text and words.conclusion(CASE, barred) == "neutral"
    assert "**Next:** a person decides on the bound, which stays." in text
    assert "A pull request that moves `kl_threshold` is open already: [#9](https://ghe.example/9)." in text


def test_a_measurement_that_was_stopped_says_where_and_what_a_rerun_can_give():
    stopped = replace(of(VerdictKind.REFUSED), reason="stopped", trace=())
    text = comment.result(replace(CASE, stopped_in="https://ghe.example/7", earlier="NOISE"), stopped)
    assert "### ⚠️ KL triage: STOPPED - " in text
    assert "**Next:** comment `/rerun-kl` to measure again." in text
    assert (
        "It was stopped in [this comment](https://ghe.example/7). Runs were seen, so a rerun is judged but"
        " moves no bound. Before that, this commit was judged NOISE."
    ) in text


@pytest.mark.parametrize("kind", [VerdictKind.INFRA, VerdictKind.INCONCLUSIVE, VerdictKind.NOT_REPRODUCED])
def test_the_command_for_a_fork_names_its_commit(kind):
    fork = replace(CASE, from_fork=True)
    text = comment.result(fork, of(kind))
    assert text.count(f"comment `/rerun-kl {CASE.head_sha}` to measure again") == 2
    moved = comment.result(replace(fork, current_head="c" * 40), of(kind))
    assert (
        "`/rerun-kl` with the full SHA of the newest commit" in moved
        and f"/rerun-kl {CASE.head_sha}" not in moved
    )


def test_a_verdict_that_still_wants_runs_is_no_verdict():
    text = comment.result(CASE, replace(NOISE, next=PLAN, proposal=None), readings())
    assert "### ⚠️ KL triage: NO VERDICT" in text and "more runs are wanted" in text and "✅" not in text


def test_faults_never_speak_of_a_new_bound():
    for verdict in (REGRESSION, INTERMITTENT, of(VerdictKind.DETERMINISTIC), of(VerdictKind.OLD_REGRESSION)):
        text = comment.result(CASE, verdict, readings())
        assert "Proposed bound" not in text and "bound stays" in text


def test_an_intermittent_fault_names_the_prompt():
    text = comment.result(CASE, INTERMITTENT, readings())
    assert "prompt 4 on head, launch `head-1`: 0.210, its reference 0.00210." in text


def test_a_result_for_an_older_commit_says_so():
    text = comment.result(replace(CASE, current_head="c" * 40), REGRESSION)
    assert "**Older commit:** this is about `ab12cd3`; the pull request has moved on." in text


def test_noise_without_a_pull_request_says_why_there_is_none():
    case = replace(CASE, proposal_pull=None, no_pull_because="The mode of this repository is comment.")
    text = comment.result(case, NOISE)
    assert "no pull request is open for it. The mode of this repository is comment." in text and "✅" in text


def test_noise_without_history_says_what_only_history_would_show():
    shared = "an older fault that head and base share (no history yet)"
    assert shared in comment.result(CASE, NOISE)
    known = replace(NOISE.numbers, runs={**NOISE.numbers.runs, "history": Runs(60, 0)})
    assert shared not in comment.result(CASE, replace(NOISE, numbers=known))


def test_the_red_job_is_shown_but_not_counted():
    text = comment.result(CASE, NOISE, readings(trigger=(0.0030000004, 0.0041)))
    assert "**Red job:** 0.0030000004, then 0.00410; selected for being high" in text


def test_nan_is_over_the_bound_and_not_drawn():
    text = comment.result(CASE, of(VerdictKind.NON_FINITE), readings(head=(math.nan, 0.002, 0.0021, 0.0019)))
    assert "| head | `head-0` | 0 | nan | yes | `cpu-local-0` |" in text
    assert "nan" not in text[text.index("```mermaid") : text.index("<details>")]


def test_investigating_says_what_is_measured_and_why():
    text = comment.investigating(CASE, PLAN, readings()[:2])
    assert find_marker(text) == CASE.key
    assert "KL was 0.00341 and then 0.00328 against `kl_threshold` = 0.003 in [this job](" in text
    assert "head `ab12cd3` 2 server starts × 4 runs, base `de45fa6` 2 server starts × 4 runs" in text
    assert "alternating on `kl-cpu`: 16 runs" in text and "⏳" in text
    one = comment.investigating(CASE, Plan({"head": ArmPlan(1, 3)}))
    assert "head `ab12cd3` 1 server start × 3 runs, alternating on `kl-cpu`: 3 runs" in one


def test_every_state_is_found_again_by_the_same_prefix():
    prefix = comment.marker_prefix(CASE.key)
    for text in (
        comment.investigating(CASE, PLAN),
        comment.result(replace(CASE, head_sha="c" * 40), NOISE),
    ):
        assert text.startswith(prefix)
    assert not comment.result(replace(CASE, key=CASE.key + "2"), NOISE).startswith(prefix)


def test_the_same_facts_give_the_same_text():
    assert comment.result(CASE, NOISE, readings()) == comment.result(CASE, NOISE, readings())


def test_hidden_data_holds_the_numbers():
    text = comment.result(CASE, NOISE, readings())
    found = json.loads(re.search(r"<!-- kl-triage:data (.*) -->\Z", text)[1])
    assert found["kind"] == "noise" and found["bound"] == 0.003 and found["head"] == CASE.head_sha
    assert found["numbers"]["exceedance"]["head"]["exceeded"] == 1
    assert found["proposal"]["threshold"] == 0.005


def test_ten_thousand_runs_still_fit_and_the_verdict_stays():
    many = [
        Reading(
            Arm.HEAD, CASE.test, Status.OK, 0.002, (0.002,) * 32, 0.003, launch=f"head-{n}", host="h" * 50
        )
        for n in range(5_000)
    ]
    text = comment.result(CASE, NOISE, (*many, *(lost(error="e" * 500) for _ in range(5_000))))
    assert len(text) <= LIMIT and "### ✅ KL triage: NOISE" in text
    assert len(re.findall(r"\d+ more rows", text)) == 2
    assert text.count("<details>") == text.count("</details>") and text.endswith(" -->")


def test_hostile_size_in_every_field_still_fits():
    big = "|`*<@" * 5_000
    case = replace(
        CASE,
        test=f"x.py::{big}",
        not_measured=(big,) * 500,
        also_red=(RedTest(big, big),) * 500,
        hosts=(big,) * 500,
        runner=big,
        rules=big,
        run_urls=(big,) * 500,
        default_branch=big,
    )
    verdict = replace(NOISE, sentence=big, trace=tuple(Rung("regression", big) for _ in range(500)))
    text = comment.result(case, verdict, (replace(lost(), error=big, host=big, label=big),) * 500)
    assert len(text) <= LIMIT and find_marker(text) == CASE.key and text.endswith(" -->")


@settings(max_examples=60, deadline=None)
@given(hostile)
def test_strangers_text_changes_no_element_mentions_nobody_and_starts_no_command(text):
    def told(word):
        case = replace(
            CASE,
            test=f"{word}::{word}",
            runner=word,
            hosts=(word,),
            rules=word,
            attribute=word,
            default_branch=word,
            proposal_pull=None,
            no_pull_because=word,
            also_red=(RedTest(word, word),),
            not_measured=(word,),
        )
        outlier = OutlierPrompt(1, 0.2, 0.002, word, word)
        verdict = replace(
            NOISE,
            reason=word,
            sentence=word,
            numbers=replace(NOISE.numbers, outlier_prompts=(outlier,)),
            proposal=replace(NOISE.proposal, why_this_value=word),
            trace=(Rung("regression", word), Rung(word, word)),
        )
        strange = replace(lost(), error=word, host=word, label=word, launch=word)
        return comment.result(case, verdict, (*readings(), strange))

    page = told(text)
    assert shape(page) == shape(told("x"))
    assert is_inert(page)
    assert {html for html in html_in(page) if not re.match(r"<!-- kl-triage:|</?details>", html)} <= OWN_HTML


def test_our_own_texts_never_start_a_line_with_a_command():
    texts = [comment.investigating(CASE, PLAN), comment.result(CASE, ASKING)]
    texts += [comment.result(CASE, of(kind), readings()) for kind in VerdictKind]
    for text in texts:
        assert is_inert(re.sub(r"<!--.*?-->", "", text))


def test_a_bump_that_is_open_is_linked_by_its_number():
    assert "#77](https://github.com/acme/engine/pull/77)" in comment.result(
        replace(CASE, proposal_pull=PullLink(77, "https://github.com/acme/engine/pull/77")), NOISE
    )


def test_the_tables_of_the_red_check_leave_out_the_others():
    """Eight runs of head with one over, eight of base with one over; the second check lies at x 100."""
    red = [replace(r, label="first") for r in readings()]
    second = [
        replace(r, label="second", value=r.value * 100, per_prompt=tuple(v * 100 for v in r.per_prompt))
        for r in readings()
        if r.arm is not Arm.TRIGGER
    ]
    alone, both = tables.prompt_values(red, LIMIT), tables.prompt_values([*red, *second], LIMIT)
    assert alone == both
    assert "| 0.003 | 2/16 |" in tables.candidates_table([*red, *second], NOISE.proposal)
    assert comment.result(CASE, NOISE, [*red, *second]).count("second") == len(second), "in the table of runs"
