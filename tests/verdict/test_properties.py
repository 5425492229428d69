"""What holds for any evidence: with prompts or without, past runs, hosts, uneven launches."""

import math

import hypothesis.strategies as st
from hypothesis import HealthCheck, assume, given, settings

from bot.verdict import Context, Evidence, Policy, VerdictKind, decide
from tests.verdict.build import healthy, judge, lost, noisy, prompts, record, trigger

SLOW = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
LOST = ["lost", "timeout", "error", "cancelled"]


@st.composite
def cases(draw, ratios=(0.9, 1.0, 1.0, 1.2, 1.6, 2.5)):
    """A red job, reruns of both arms and past runs."""
    make = draw(st.sampled_from([noisy, prompts]))
    level = draw(st.floats(0.0012, 0.0026))
    launches, repeats = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    seed = draw(st.integers(0, 10_000))
    sd = draw(st.sampled_from([0.1, 0.25, 0.5]))
    head = make("head", level * draw(st.sampled_from(ratios)), launches, repeats, seed, sd)
    base = make("base", level, launches, repeats, seed + 1, sd)
    past = make("history", level, draw(st.sampled_from([0, 8, 25])), 1, seed + 2, sd)
    records = [*trigger(draw(st.floats(0.0031, 0.0052)), 0.0031), *_uneven(draw, head), *base, *past]
    return _on_hosts(records, draw(st.integers(0, 3)))


def _uneven(draw, records):
    """Without the last few, and without the prompts of the last few of those."""
    records = records[: len(records) - draw(st.integers(0, min(3, len(records) - 1)))]
    bare = draw(st.sampled_from([0, 0, 1, 3]))
    cut = len(records) - bare
    return records[:cut] + [{k: v for k, v in r.items() if k != "per_prompt"} for r in records[cut:]]


def _on_hosts(records, hosts):
    """Each launch on the next of so many hosts; 0: hosts are unknown."""
    if hosts == 0:
        return records
    turn: dict[object, int] = {}
    return [r | {"host": f"host-{turn.setdefault(r['launch'], len(turn)) % hosts}"} for r in records]


def scaled(item, factor):
    """One reading times a factor, prompts and all."""
    item = item | {"value": item["value"] * factor}
    if "per_prompt" in item:
        item["per_prompt"] = [v * factor for v in item["per_prompt"]]
    return item


@given(cases(), st.randoms(use_true_random=False))
@SLOW
def test_order_does_not_matter(records, random):
    shuffled = records[:]
    random.shuffle(shuffled)
    assert judge(shuffled).as_dict() == judge(records).as_dict()


@given(st.one_of(cases(), st.builds(healthy, st.integers(0, 500))), st.sampled_from([0.1, 4.0, 10.0, 100.0]))
@SLOW
def test_scaling_changes_nothing_but_units(records, factor):
    """Steps are round numbers, so where the factor is no power of ten only the ladder is the same."""
    other = judge([scaled(r, factor) | {"threshold": 0.003 * factor} for r in records])
    one = judge(records)
    if math.log10(factor) == round(math.log10(factor)):
        assert (one.kind, one.reason, one.next) == (other.kind, other.reason, other.next)
        assert (one.proposal is None) == (other.proposal is None)
        if one.proposal is not None:
            assert math.isclose(one.proposal.threshold * factor, other.proposal.threshold)
            assert math.isclose(one.proposal.exceedance.high, other.proposal.exceedance.high, rel_tol=1e-6)
    if one.numbers.ratio is not None:
        assert math.isclose(one.numbers.ratio.estimate, other.numbers.ratio.estimate, rel_tol=1e-9)
        assert math.isclose(one.numbers.ratio.high, other.numbers.ratio.high, rel_tol=1e-6)
    assert {a: (e.exceeded, e.n) for a, e in one.numbers.exceedance.items()} == {
        a: (e.exceeded, e.n) for a, e in other.numbers.exceedance.items()
    }


@given(
    st.one_of(cases(), st.builds(healthy, st.integers(0, 500), st.integers(2, 4), st.just(4))),
    st.integers(1, 30),
    st.sampled_from(["head", "base", "trigger", "history"]),
    st.sampled_from(LOST),
    st.booleans(),
)
@SLOW
def test_missing_runs_never_turn_a_refusal_into_a_bump(records, count, name, status, on_known_launch):
    """On launches of their own, or beside readings of the arm's first."""
    assume(judge(records).proposal is None)
    launch = f"{name}-0" if on_known_launch else f"lost-{count}"
    missing = [lost(name, launch=launch, repeat=90 + i) | {"status": status} for i in range(count)]
    assert judge(records + missing).proposal is None


@given(cases(ratios=(1.6, 2.5)), st.floats(1.0, 6.0))
@SLOW
def test_a_worse_head_never_turns_regression_into_noise(records, factor):
    assume(judge(records).kind is VerdictKind.REGRESSION)
    verdict = judge([scaled(r, factor) if r["arm"] == "head" else r for r in records])
    assert verdict.kind is not VerdictKind.NOISE
    assert verdict.proposal is None


seen_elsewhere = st.lists(
    st.builds(
        lambda arm, value, gpu, attempt: record(arm, value, gpu=gpu, attempt=attempt, launch="elsewhere"),
        st.just("history"),
        st.floats(0.001, 0.0065),
        st.sampled_from([None, "gpu-y"]),
        st.just(2),
    ),
    max_size=2,
)


@given(
    st.integers(0, 10_000),
    st.floats(0.0031, 0.0055),
    seen_elsewhere,
    st.sampled_from([None, 0.0014, 0.0015, 0.0017, 0.003]),
    st.sampled_from([(), (0.0045,), (0.00555,), (0.02,)]),
    st.sampled_from([(), (0.0041,), (0.0055,)]),
)
@SLOW
def test_a_proposal_keeps_every_rule(seed, highest, elsewhere, first, siblings, known_bad):
    """Second tries and other GPU types count as seen; a bound lies under each known regression."""
    records = [*healthy(seed), *trigger(highest), *elsewhere]
    policy = Policy(trigger_share=0.0, known_bad=known_bad)
    verdict = judge(records, context=Context(siblings=siblings, first_bound=first), policy=policy)
    assert (verdict.proposal is None) == (verdict.kind is not VerdictKind.NOISE)
    if verdict.proposal is not None:
        new = verdict.proposal.threshold
        assert max(r["value"] for r in records) * policy.margin <= new <= 0.006 * (1 + 1e-9)
        assert new <= (first or 0.003) * 3 * (1 + 1e-9)
        assert all(new < level for level in known_bad)
        assert verdict.proposal.exceedance.high <= 0.005


def test_the_rules_of_a_proposal_are_tried_on_proposals():
    """Of 20 such tests most get one, or the property above would hold of nothing."""
    offers = [
        judge([*healthy(seed), *trigger(0.0035)], policy=Policy(trigger_share=0.0)) for seed in range(20)
    ]
    assert sum(verdict.proposal is not None for verdict in offers) >= 10


@given(st.one_of(cases(), st.builds(healthy, st.integers(0, 500))), st.sampled_from([0.0, 1e-9, 1e-6]))
@SLOW
def test_an_exact_gate_gets_no_proposal(records, bound):
    evidence = Evidence.from_records(records, threshold=bound)
    verdict = decide(evidence)
    assert verdict.proposal is None
    assert verdict.kind is VerdictKind.EXACT_GATE


@given(cases())
@SLOW
def test_while_runs_are_asked_for_the_answer_is_inconclusive(records):
    verdict = judge(records)
    if verdict.next is not None:
        assert verdict.kind is VerdictKind.INCONCLUSIVE
        assert all(p.launches > 0 and p.repeats > 0 for p in verdict.next.arms.values())
