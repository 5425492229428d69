import math

import pytest

from bot.verdict import Arm, Context, Evidence, RecordError
from tests.verdict.build import arm, lost, record, trigger


def load(records, **options):
    return Evidence.from_records(records, **options)


def test_no_records_is_an_error():
    with pytest.raises(RecordError, match="no reading at all"):
        load([])


def test_a_bad_record_names_its_number_and_field():
    with pytest.raises(RecordError, match="record 2: field 'status'"):
        load([record("head", 0.001), record("head", 0.001) | {"status": "passed"}])


def test_a_negative_value_is_no_k3_kl():
    with pytest.raises(RecordError, match=r"record 1: field 'value': -0.001 is negative: not a k3 KL"):
        load([record("head", -0.001)])
    with pytest.raises(RecordError, match="record 1: field 'per_prompt'"):
        load([record("head", 0.001, per_prompt=[0.003, -0.001])])


def test_rounding_below_zero_is_zero():
    assert load([record("head", -5e-10)]).head.values.tolist() == [0.0]


def test_two_tests_are_an_error():
    with pytest.raises(RecordError, match="record 2: field 'test'"):
        load([record("head", 0.001), record("head", 0.001) | {"test": "a.py::B.c"}])


def test_the_explicit_bound_wins_over_mixed_ones():
    mixed = [record("head", 0.001), record("head", 0.001, threshold=0.005)]
    with pytest.raises(RecordError, match=r"record 2: field 'threshold': 0.003 and 0.005"):
        load(mixed)
    assert load(mixed, threshold=0.004).threshold == 0.004


@pytest.mark.parametrize("bound", [-0.001, math.nan, math.inf])
def test_a_bound_below_zero_or_not_finite_is_an_error(bound):
    with pytest.raises(RecordError, match="threshold"):
        load([record("head", 0.001)], threshold=bound)


def test_no_bound_anywhere_is_an_error():
    with pytest.raises(RecordError, match="no reading names the bound"):
        load([record("head", 0.001) | {"threshold": None}])


def test_the_label_of_the_trigger_is_judged():
    records = [
        *trigger(0.004, label="decode"),
        record("head", 0.001, label="decode"),
        record("head", 0.9, label="prefill"),
        record("head", 0.002),
    ]
    evidence = load(records)
    assert sorted(evidence.head.values) == [0.001, 0.002]
    assert evidence.notes == ("1 readings of other checks judged apart",)


def test_the_other_checks_of_the_reruns_are_kept_by_label():
    records = [
        *trigger(0.004, label="decode"),
        *(record(name, 0.001, label=label) for name in ("head", "base") for label in ("decode", "prefill")),
        record("history", 0.002, label="old"),
    ]
    assert [(label, one.head.n, one.base.n) for label, one in load(records).others.items()] == [
        ("prefill", 1, 1)
    ]
    asked = load(records, label="prefill")
    assert (asked.head.readings[0].label, list(asked.others)) == ("prefill", ["decode"])
    with pytest.raises(RecordError, match="asked for"):
        load(records, label="none")


def test_a_check_is_judged_by_its_own_bound():
    records = [
        *trigger(0.004, label="decode"),
        record("head", 0.001, label="decode"),
        record("head", 0.001, label="prefill", threshold=0.02),
    ]
    assert load(records).threshold == 0.003


def test_labels_without_a_trigger_to_choose_are_an_error():
    with pytest.raises(RecordError, match="several checks"):
        load([record("head", 0.001, label="decode"), record("head", 0.001, label="prefill")])


def test_missing_is_neither_value_nor_exceedance():
    evidence = load([record("head", 0.001), lost("head"), lost("head")])
    assert (evidence.head.n, evidence.head.missing) == (1, 2)


def test_past_runs_count_first_tries_on_the_gpu_of_the_reruns_only():
    records = [
        record("head", 0.001, gpu="H100"),
        record("history", 0.001, gpu="H100", attempt=1, seq=1),
        record("history", 0.002, gpu="H100", attempt=2, seq=1),
        record("history", 0.009, gpu="H200", attempt=1, seq=2),
    ]
    assert load(records).history.values.tolist() == [0.001]


def test_past_runs_stand_in_order_of_time():
    records = [record("history", v, at=f"2026-01-0{d}T00:00:00Z") for v, d in ((0.3, 3), (0.1, 1), (0.2, 2))]
    assert load(records).history.values.tolist() == [0.1, 0.2, 0.3]


def test_lists_of_another_length_are_not_paired():
    records = [
        record("head", 0.001, per_prompt=[0.001, 0.001]),
        record("head", 0.001, per_prompt=[0.001, 0.001], repeat=1),
        record("head", 0.001, per_prompt=[0.001] * 3, repeat=2),
    ]
    evidence = load(records)
    assert evidence.head.with_prompts.tolist() == [True, True, False]
    assert "another number of prompts" in evidence.notes[0]


def test_unknown_launches_count_as_one_launch_but_past_runs_as_one_each():
    records = [record(a, 0.001, seq=i) for a in ("head", "history") for i in range(3)]
    evidence = load(records)
    assert evidence.arms[Arm.HEAD].launch_count == 1
    assert evidence.arms[Arm.HISTORY].launch_count == 3


def test_the_context_travels_along():
    assert load(arm("head", [[0.001]]), context=Context(siblings=(0.005,))).context.siblings == (0.005,)
