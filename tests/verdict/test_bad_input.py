"""Evidence that says next to nothing, or several things at once: an error, or an answer without a bump."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from bot.verdict import Evidence, RecordError, VerdictKind, decide
from tests.verdict.build import arm, judge, lost, prompts, record, trigger

K = VerdictKind


@pytest.mark.parametrize("name", ["trigger", "head", "base", "history"])
def test_nothing_but_one_missing_run_asks_for_runs(name):
    verdict = judge([lost(name)])
    assert (verdict.kind, verdict.proposal) == (K.INCONCLUSIVE, None)
    assert set(verdict.next.arms) == {"head", "base"}
    assert verdict.numbers.runs[name].missing == 1


@pytest.mark.parametrize("names", [("head",), ("base",), ("head", "base")])
def test_nothing_but_missing_runs_is_infra(names):
    verdict = judge([*trigger(0.0034), *[lost(name, launch=f"{i}") for name in names for i in range(4)]])
    assert (verdict.kind, verdict.reason) == (K.INFRA, "too_few_usable_runs")


@pytest.mark.parametrize(("name", "wanted"), [("head", {"head", "base"}), ("history", {"head", "base"})])
def test_one_reading_of_any_arm_asks_for_runs(name, wanted):
    verdict = judge([record(name, 0.004)])
    assert verdict.kind is K.INCONCLUSIVE and set(verdict.next.arms) == wanted


@pytest.mark.parametrize("value", [-1e-6, -0.001, -1e308])
def test_a_negative_kl_is_an_error_on_any_arm(value):
    for name in ("trigger", "head", "base", "history"):
        with pytest.raises(RecordError, match=r"record 2: field 'value': .* is negative"):
            judge([*trigger(0.0034), record(name, value)])


def test_minus_infinity_is_breakage_as_inf_is():
    assert judge([*trigger(0.0034), record("head", "-inf")]).kind is K.NON_FINITE


@pytest.mark.parametrize("bound", [0, 0.0, 1e-300, 5e-324])
def test_a_bound_of_nothing_is_an_exact_gate(bound):
    assert judge([record("head", 0.004, threshold=bound)]).kind is K.EXACT_GATE


def test_a_negative_bound_in_a_record_names_the_record():
    with pytest.raises(RecordError, match="record 2: field 'threshold': must not be negative"):
        judge([record("head", 0.004), record("head", 0.004, threshold=-0.003)])


def test_a_missing_run_of_another_bound_is_mixed_too():
    with pytest.raises(RecordError, match=r"record 2: field 'threshold': 0.003 and 0.005"):
        judge([record("head", 0.004), lost("head") | {"threshold": 0.005}])


@pytest.mark.parametrize("sizes", [(9, 4), (4, 9)])
def test_arms_with_lists_of_other_lengths_are_compared_by_value(sizes):
    records = [*trigger(0.0034)]
    for name, size, seed in zip(("head", "base"), sizes, (1, 2), strict=True):
        cut = prompts(name, 0.0019, 2, 4, seed)
        records += [r | {"per_prompt": r["per_prompt"][:size]} for r in cut]
    verdict = judge(records)
    assert verdict.numbers.ratio.method.endswith("log of values")
    assert "8 readings have another number of prompts than 4" in verdict.trace[0].saw


def test_lists_of_one_prompt_are_values():
    records = [*arm("head", [[0.001, 0.002], [0.002, 0.001]]), *arm("base", [[0.001, 0.002], [0.002, 0.001]])]
    listed = [r | {"per_prompt": [r["value"]]} for r in records]
    assert judge([*trigger(0.0034), *listed]).as_dict() == judge([*trigger(0.0034), *records]).as_dict()


finite = st.one_of(st.floats(0, 1e308), st.floats(0.001, 0.004), st.sampled_from([0.0, 5e-324, 1e-12, 0.003]))
broken = st.one_of(finite, st.sampled_from(["nan", "inf", "-inf"]))


def readings(values):
    return st.builds(
        lambda name, value, each, launch, status: record(
            name, value, per_prompt=each, launch=launch, status=status
        ),
        st.sampled_from(["trigger", "head", "base", "history"]),
        values,
        st.lists(values, max_size=4),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from(["ok", "ok", "ok", "ok", "ok", "lost"]),
    )


@given(
    st.one_of(st.lists(readings(values), min_size=1, max_size=40) for values in (finite, finite, broken)),
    st.sampled_from([0.0, 1e-9, 0.0029, 1e300]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_readings_have_an_answer(records, bound):
    verdict = decide(Evidence.from_records(records, threshold=bound))
    assert verdict.sentence and verdict.trace
    assert verdict.next is None or verdict.kind is K.INCONCLUSIVE
