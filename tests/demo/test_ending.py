"""The demo's own judgement of its ending must be able to say no."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.demo.ending import Ending, faults_of, is_one_number_and_one_comment
from bot.demo.scenario import SCENARIOS

DIFF = """\
diff --git a/test/t.py b/test/t.py
--- a/test/t.py
+++ b/test/t.py
@@ -14 +14,2 @@
-    kl_threshold = 0.003
+    # 0.003 -> 0.005: 4/48 runs exceeded 0.003
+    kl_threshold = 0.005
"""


def told(kind: str) -> list[dict[str, object]]:
    return [{"id": 1, "body": f'### KL triage\n<!-- kl-triage:data {{"kind":"{kind}"}} -->'}]


NOISE = Ending(
    verdict={"kind": "noise"},
    comments=told("noise"),
    checks=[{"conclusion": "success"}],
    bumps=[{"draft": True, "body": "### What it still catches"}],
    diff=DIFF,
    evidence=("investigations/kl-1/readings.jsonl",),
)


def test_a_right_ending_has_no_faults():
    assert faults_of(SCENARIOS["noise"], NOISE) == []
    regression = replace(
        NOISE, comments=told("regression"), checks=[{"conclusion": "failure"}], bumps=[], diff=""
    )
    assert faults_of(SCENARIOS["regression"], regression) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"comments": told("regression")}, "comment says regression"),
        ({"comments": [{"body": "INVESTIGATING"}]}, "comment says no verdict"),
        ({"comments": []}, "0 comments"),
        ({"comments": told("noise") * 2}, "2 comments"),
        ({"checks": []}, "0 check runs"),
        ({"checks": [{"conclusion": "neutral"}]}, "ended as neutral"),
        ({"bumps": []}, "0 pull requests"),
        ({"bumps": [{"draft": False, "body": ""}]}, "not a draft"),
        ({"bumps": [{"draft": True, "body": ""}]}, "still catches"),
        ({"diff": ""}, "more than one number"),
        ({"evidence": ()}, "no readings"),
    ],
)
def test_each_fault_is_told(changed, told):
    assert any(told in sentence for sentence in faults_of(SCENARIOS["noise"], replace(NOISE, **changed)))


def test_a_bump_in_a_fault_story_is_told():
    ending = replace(NOISE, comments=told("regression"), checks=[{"conclusion": "failure"}])
    assert faults_of(SCENARIOS["regression"], ending) == ["A pull request was opened that moves the bound."]


@pytest.mark.parametrize(
    "diff",
    [
        DIFF.replace("kl_threshold = 0.005", "kl_threshold = 0.003"),
        DIFF.replace("+    kl_threshold", "+    gsm8k_threshold"),
        DIFF.replace("+    #", "+    x = 1  #"),
        DIFF + "diff --git a/other.py b/other.py\n",
        DIFF + "-    est_time = 8\n",
    ],
)
def test_anything_but_one_number_and_one_comment_is_seen(diff):
    assert is_one_number_and_one_comment(DIFF)
    assert not is_one_number_and_one_comment(diff)
