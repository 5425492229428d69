import math

import hypothesis.strategies as st
from hypothesis import HealthCheck, assume, given, settings

from bot.verdict import Context, Evidence, Policy, VerdictKind, decide
from tests.verdict.build import healthy, judge, lost, noisy, prompts, trigger

SLOW = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@st.composite
def cases(draw):
    """A red job and reruns of both arms, with or without prompts, equal or not."""
    make = draw(st.sampled_from([noisy, prompts]))
    level = draw(st.floats(0.0012, 0.0026))
    ratio = draw(st.sampled_from([0.9, 1.0, 1.0, 1.2, 1.6, 2.5]))
    launches, repeats = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    seed = draw(st.integers(0, 10_000))
    sd = draw(st.sampled_from([0.1, 0.25, 0.5]))
    high = draw(st.floats(0.0031, 0.0052))
    head = make("head", level * ratio, launches, repeats, seed, sd)
    return [*trigger(high, 0.0031), *head, *make("base", level, launches, repeats, seed + 1, sd)]


@given(cases(), st.randoms(use_true_random=False))
@SLOW
def test_order_does_not_matter(records, random):
    shuffled = records[:]
    random.shuffle(shuffled)
    assert judge(shuffled).as_dict() == judge(records).as_dict()


@given(cases(), st.sampled_from([0.1, 10.0, 100.0]))
@SLOW
def test_scaling_changes_nothing_but_units(records, factor):
    scaled = [
        r
        | {"value": r["value"] * factor, "threshold": r["threshold"] * factor}
        | ({"per_prompt": [v * factor for v in r["per_prompt"]]} if "per_prompt" in r else {})
        for r in records
    ]
    one, other = judge(records), judge(scaled)
    assert (one.kind, one.reason, one.next) == (other.kind, other.reason, other.next)
    assert (one.proposal is None) == (other.proposal is None)
    if one.proposal is not None:
        assert math.isclose(one.proposal.threshold * factor, other.proposal.threshold)


@given(cases(), st.integers(1, 30), st.sampled_from(["head", "base", "trigger", "history"]))
@SLOW
def test_missing_runs_never_turn_a_refusal_into_a_bump(records, count, name):
    assume(judge(records).proposal is None)
    missing = [lost(name, launch=f"lost-{i}") for i in range(count)]
    assert judge(records + missing).proposal is None


@given(cases(), st.floats(1.0, 6.0))
@SLOW
def test_a_worse_head_never_turns_regression_into_noise(records, factor):
    assume(judge(records).kind is VerdictKind.REGRESSION)
    worse = [
        r
        | {"value": r["value"] * factor}
        | ({"per_prompt": [v * factor for v in r["per_prompt"]]} if "per_prompt" in r else {})
        if r["arm"] == "head"
        else r
        for r in records
    ]
    verdict = judge(worse)
    assert verdict.kind is not VerdictKind.NOISE
    assert verdict.proposal is None


@given(st.integers(0, 10_000), st.floats(0.0031, 0.0075), st.sampled_from([None, 0.0015, 0.003]))
@SLOW
def test_a_proposal_keeps_every_rule(seed, highest, first):
    records = [*healthy(seed), *trigger(highest)]
    policy = Policy(trigger_share=0.0)
    verdict = judge(records, context=Context(siblings=(0.0045,), first_bound=first), policy=policy)
    if verdict.proposal is not None:
        new = verdict.proposal.threshold
        seen = max(r["value"] for r in records)
        assert seen * policy.margin <= new <= 0.006 * (1 + 1e-9)
        assert new <= (first or 0.003) * 3 * (1 + 1e-9)
        assert verdict.proposal.exceedance.high <= 0.005
    assert (verdict.proposal is None) == (verdict.kind is not VerdictKind.NOISE)


@given(cases(), st.sampled_from([0.0, 1e-9, 1e-6]))
@SLOW
def test_an_exact_gate_gets_no_proposal(records, bound):
    evidence = Evidence.from_records(records, threshold=bound)
    verdict = decide(evidence)
    assert verdict.proposal is None
    assert verdict.kind in (VerdictKind.EXACT_GATE, VerdictKind.REFUSED)


@given(cases())
@SLOW
def test_while_runs_are_asked_for_the_answer_is_inconclusive(records):
    verdict = judge(records)
    if verdict.next is not None:
        assert verdict.kind is VerdictKind.INCONCLUSIVE
        assert all(p.launches > 0 and p.repeats > 0 for p in verdict.next.arms.values())
