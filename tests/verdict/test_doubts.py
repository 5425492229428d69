"""What bars a bump although head and base measure about the same; each beside the noise it is made from."""

import math

import numpy as np
import pytest

from bot.verdict import Context, Evidence, Policy, VerdictKind
from bot.verdict.case import Case
from bot.verdict.prompts import prompt_shift
from tests.verdict.build import healthy, judge, record, trigger


def test_the_readings_that_the_others_here_are_made_from_are_noise():
    verdict = judge(healthy())
    assert verdict.kind is VerdictKind.NOISE
    assert verdict.proposal is not None


def changed(change, *arms):
    return [record | change(record) if record["arm"] in arms else record for record in healthy()]


def lift(factor, prompt=3):
    """One prompt times `factor`, the value with it."""

    def change(record):
        each = list(record["per_prompt"])
        each[prompt] *= factor
        return {"per_prompt": each, "value": float(np.mean(each))}

    return change


def test_one_prompt_worse_in_every_run_of_head_bars_a_bump():
    """x 3 in one of nine moves the mean of the logs by x 1.13, under the smallest shift."""
    verdict = judge(changed(lift(3.0), "head"), policy=Policy(alpha_equal=0.4, fault_excluded_early=1e9))
    assert (verdict.reason, verdict.proposal) == ("prompt_above_base", None)
    assert "prompt 3 alone" in verdict.sentence


def test_the_prompt_that_differs_is_named_with_its_ratio():
    rng = np.random.default_rng(1)
    head, base = rng.normal(0, 0.3, (20, 6)), rng.normal(0, 0.3, (30, 6))
    head[:, 4] += math.log(4)
    found = prompt_shift(head, base)
    assert found.prompt == 4
    assert found.p < 1e-10
    # The run's own mean takes a sixth of the rise.
    assert found.ratio == pytest.approx(4 ** (5 / 6), rel=0.1)


def test_equal_arms_hardly_ever_show_such_a_prompt():
    """Bonferroni: of 400 pairs at most 1 % + 2 standard errors lie under p = 0.01."""
    rng = np.random.default_rng(2)
    found = [prompt_shift(rng.normal(0, 0.5, (16, 9)), rng.normal(0, 0.5, (12, 9))) for _ in range(400)]
    assert sum(shift.p < 0.01 for shift in found) <= 8


def test_too_few_runs_or_prompts_show_nothing():
    assert prompt_shift(np.zeros((3, 9)), np.zeros((9, 9))) is None
    assert prompt_shift(np.zeros((9, 1)), np.zeros((9, 1))) is None


def test_readings_that_stand_in_the_file_twice_count_once():
    records = healthy()
    once, twice = Evidence.from_records(records), Evidence.from_records([*records, *records])
    reruns = len([r for r in records if r["arm"] in ("head", "base")])
    assert once.head.n + once.base.n == twice.head.n + twice.base.n == reruns
    assert any("twice" in note for note in twice.notes)
    assert not any("twice" in note for note in once.notes)


def test_equal_values_of_unknown_repeats_are_no_duplicates():
    """A frozen test prints one value again and again."""
    same = [record(arm, 0.0041) for arm in ("head", "base") for _ in range(6)]
    assert Evidence.from_records([*trigger(0.0041), *same]).head.n == 6


@pytest.mark.parametrize("commits", [("a", "a"), ("ab", "c"), ("a", "bc")])
def test_arms_that_are_not_one_commit_each_bar_a_bump(commits):
    """The second commit of an arm is that of its odd repeats."""
    spelled = dict(zip(("head", "base"), commits, strict=True))
    records = healthy()
    for reading in records:
        if reading["arm"] in spelled:
            names = spelled[reading["arm"]]
            reading["commit"] = names[reading["repeat"] % len(names)] * 40
    assert judge(records).reason == "commits_mixed"


def test_two_commits_are_a_comparison():
    records = [r | {"commit": ("b" if r["arm"] == "base" else "a") * 40} for r in healthy()]
    assert judge(records).kind is VerdictKind.NOISE


def test_a_head_far_below_base_is_not_the_same():
    def lower(record):
        return {"value": record["value"] * 0.6, "per_prompt": [v * 0.6 for v in record["per_prompt"]]}

    assert judge(changed(lower, "head")).reason == "head_below_base"


def test_a_head_little_but_surely_above_base_is_no_noise():
    """x 1.15 is under the smallest shift, and 40 runs of nine prompts (sd 0.5) show x 1.08 or more."""

    def higher(record):
        return {"value": record["value"] * 1.15, "per_prompt": [v * 1.15 for v in record["per_prompt"]]}

    verdict = judge(changed(higher, "head"))
    assert (verdict.kind, verdict.reason) == (VerdictKind.INCONCLUSIVE, "head_above_base")
    assert (verdict.proposal, verdict.next) == (None, None)
    assert "× 1.25 of a regression" in verdict.sentence
    assert verdict.numbers.ratio.low > 1


def test_arms_on_different_hosts_bar_a_bump():
    records = [r | {"host": "two" if r["arm"] == "base" else "one"} for r in healthy()]
    verdict = judge(records, policy=Policy(host_sd=0.001))
    assert (verdict.kind, verdict.reason) == (VerdictKind.INCONCLUSIVE, "hosts_differ")


def test_a_reading_no_bound_can_cover_ends_it_before_the_budget_does():
    """0.0061 is over twice 0.003, so 16 runs are enough to say that nothing moves."""
    verdict = judge([*trigger(0.0061), *healthy(launches=2, repeats=4)])
    assert (verdict.reason, verdict.next, verdict.proposal) == ("no_bound_holds", None, None)
    assert "0.0061" in verdict.sentence


def test_values_past_all_measure_do_not_overflow():
    for value in (1e300, 1e-320):
        huge = [record("head", value, launch=f"h{i}", repeat=0) for i in range(4)]
        small = [record("base", 0.0, launch=f"b{i}", repeat=0) for i in range(4)]
        verdict = judge([*trigger(0.004), *huge, *small])
        assert verdict.proposal is None


def test_past_a_million_times_the_bound_a_value_says_no_more():
    evidence = Evidence.from_records([record("head", 1e300), record("head", 0.0)], context=Context())
    logs = Case(evidence, Policy()).logs(evidence.head, by_prompt=False)
    assert sorted(np.exp(logs - math.log(0.003))) == pytest.approx([1e-6, 1e6])


def test_a_budget_under_the_first_batch_asks_for_nothing():
    verdict = judge(trigger(0.0034, 0.0033), policy=Policy(budget_minutes=20))
    assert (verdict.next, verdict.reason) == (None, "no_reruns")
    assert "20 GPU minutes" in verdict.sentence


@pytest.mark.parametrize("most", [1, 2])
def test_a_policy_of_one_or_two_repeats_is_kept(most):
    policy = Policy(max_repeats=most)
    first = judge(trigger(0.0034, 0.0033), policy=policy).next
    assert {plan.repeats for plan in first.arms.values()} == {most}
    more = judge(healthy(launches=2, repeats=2), policy=policy).next
    assert max(plan.repeats for plan in more.arms.values()) <= most
