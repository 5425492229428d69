"""Each rung, by values a reader can check."""

import pytest

from bot.verdict import Context, Policy, Refusal, VerdictKind
from tests.verdict.build import arm, healthy, judge, lost, noisy, prompts, record, trigger

K = VerdictKind


def test_a_first_question_asks_for_two_launches_of_four_on_both_arms():
    verdict = judge(trigger(0.0034, 0.0031))
    assert (verdict.kind, verdict.reason) == (K.INCONCLUSIVE, "no_reruns")
    assert {a: (p.launches, p.repeats) for a, p in verdict.next.arms.items()} == {
        "head": (2, 4),
        "base": (2, 4),
    }


def test_what_is_no_bound_failure_is_refused_at_once():
    refusal = Refusal("not_a_bound", "The red test checks no bound.")
    verdict = judge(healthy(), context=Context(refusal=refusal))
    assert (verdict.kind, verdict.reason, verdict.sentence) == (K.REFUSED, refusal.code, refusal.sentence)
    assert [rung.name for rung in verdict.trace] == ["refused"]


def test_a_red_job_under_the_bound_is_refused():
    assert judge(trigger(0.0021, 0.0022)).reason == "trigger_under_bound"


def test_a_red_job_with_one_try_over_the_bound_is_judged():
    assert judge(trigger(0.0031, 0.0022)).reason == "no_reruns"


@pytest.mark.parametrize("bound", [0.0, 1e-9, 1e-6])
def test_an_exact_gate_is_never_loosened(bound):
    verdict = judge([r | {"threshold": bound} for r in healthy()])
    assert (verdict.kind, verdict.next, verdict.proposal) == (K.EXACT_GATE, None, None)


@pytest.mark.parametrize("broken", ["nan", "inf"])
@pytest.mark.parametrize("name", ["trigger", "head", "base"])
def test_nan_and_inf_are_breakage(name, broken):
    verdict = judge([*healthy(), record(name, broken)])
    assert (verdict.kind, verdict.reason) == (K.NON_FINITE, f"non_finite_{name}")


def test_nan_in_one_prompt_is_breakage():
    assert judge([*healthy(), record("head", 0.002, per_prompt=[0.002, "nan"])]).kind is K.NON_FINITE


def test_lost_runs_are_no_answer():
    records = [*trigger(0.0034), *noisy("head", 0.002, 2, 4, 1), *[lost("head", launch="x")] * 3]
    verdict = judge(records)
    assert verdict.kind is K.INFRA
    assert "3 of 11 reruns gave no value (lost)" in verdict.sentence


def test_the_same_number_on_every_launch_is_deterministic():
    records = [*trigger(0.0045, 0.0045), *arm("head", [[0.0045] * 4] * 2), *noisy("base", 0.002, 2, 4, 1)]
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.DETERMINISTIC, "identical_values")
    assert "All 8 runs of head and the red job gave 0.0045" in verdict.sentence


def test_one_number_a_launch_is_deterministic_too():
    records = [*trigger(0.0045, 0.0045), *arm("head", [[0.0045] * 4, [0.0041] * 4])]
    assert judge(records).reason == "identical_within_launch"


def test_one_prompt_far_out_in_some_runs_is_intermittent():
    records = healthy(launches=2, repeats=4)
    hit = 0
    for item in records:
        if item["arm"] in ("head", "trigger") and item["repeat"] in (0, 2):
            item["per_prompt"] = [item["per_prompt"][0] * 40, *item["per_prompt"][1:]]
            item["value"] = sum(item["per_prompt"]) / 9
            hit += 1
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.INTERMITTENT, "single_prompt_fault")
    assert {outlier.prompt for outlier in verdict.numbers.outlier_prompts} == {0}
    assert len(verdict.numbers.outlier_prompts) == hit
    assert "4 of 8 runs of head" in verdict.sentence


def test_rare_large_values_without_prompts_are_intermittent():
    records = [*trigger(0.9), *noisy("head", 0.002, 5, 8, 1, 0.2), *noisy("base", 0.002, 5, 8, 2, 0.2)]
    records += [record("head", 0.4, launch="x"), record("base", 0.7, launch="x")]
    assert judge(records).reason == "rare_large_values"


def test_one_host_that_holds_all_exceedances():
    records = [*trigger(0.004, host="bad", gpu="H100")]
    for name, seed in (("head", 1), ("base", 2)):
        bad = noisy(name, 0.0038, 3, 2, seed, 0.1, host="bad", gpu="H100")
        good = noisy(name, 0.0019, 3, 2, seed + 10, 0.1, host="good", gpu="H100")
        records += bad + [r | {"launch": "good-" + r["launch"]} for r in good]
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.HARDWARE, "one_host")
    assert "bad" not in verdict.sentence, "names of machines stay out of what is published"


def test_a_head_twice_as_bad_is_a_regression():
    records = [*trigger(0.0044, 0.0041), *noisy("head", 0.004, 2, 4, 1), *noisy("base", 0.002, 2, 4, 2)]
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.REGRESSION, "head_above_base")
    assert 1.6 < verdict.numbers.ratio.estimate < 2.5
    assert verdict.numbers.ratio.low > 1


def test_head_and_base_on_different_hosts_prove_no_regression():
    head = noisy("head", 0.004, 2, 4, 1, host="a")
    base = noisy("base", 0.002, 2, 4, 2, host="b")
    assert judge([*trigger(0.0044), *head, *base]).kind is K.INCONCLUSIVE


def test_a_step_in_the_past_is_an_old_regression():
    past = [
        record("history", v, seq=i, commit=f"{i:040x}", launch=f"past-{i}")
        for i, v in enumerate([0.0015, 0.0016, 0.0017] * 5 + [0.0031, 0.0029, 0.0033] * 5)
    ]
    records = [
        *trigger(0.0034),
        *past,
        *noisy("head", 0.003, 2, 4, 1, 0.1),
        *noisy("base", 0.003, 2, 4, 2, 0.1),
    ]
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.OLD_REGRESSION, "step_in_history")
    assert verdict.numbers.change_point["last_before"] == f"{14:040x}"
    assert verdict.numbers.change_point["first_after"] == f"{15:040x}"


def test_a_base_above_all_past_runs_is_an_old_regression():
    past = [record("history", v, seq=i) for i, v in enumerate([0.0014, 0.0015, 0.0016, 0.0017] * 5)]
    records = [
        *trigger(0.0034),
        *past,
        *noisy("head", 0.003, 2, 4, 1, 0.1),
        *noisy("base", 0.003, 2, 4, 2, 0.1),
    ]
    assert judge(records).reason == "base_above_history"


def test_few_equal_runs_are_no_evidence():
    records = [*trigger(0.0034), *noisy("head", 0.002, 2, 2, 1), *noisy("base", 0.002, 2, 2, 2)]
    verdict = judge(records)
    assert (verdict.kind, verdict.reason) == (K.INCONCLUSIVE, "shift_not_excluded")
    assert verdict.next is not None


def test_an_arm_without_two_launches_is_asked_for():
    verdict = judge([*trigger(0.0034), *noisy("head", 0.002, 2, 8, 1), *noisy("base", 0.002, 1, 8, 2)])
    assert verdict.reason == "one_arm"
    assert set(verdict.next.arms) == {"base"}


def test_out_of_budget_says_what_would_settle_it():
    records = [*trigger(0.0034), *noisy("head", 0.002, 2, 4, 1), *noisy("base", 0.002, 2, 4, 2)]
    verdict = judge(records, policy=Policy(budget_minutes=28))
    assert verdict.next is None
    assert "runs an arm would settle the ratio. The bound stays." in verdict.sentence


def test_a_rare_draw_keeps_the_bound():
    red = [r | {"attempt": 1} for r in prompts("trigger", 0.00285, 1, 1, 12, 0.4)]
    records = [*red, *prompts("head", 0.0014, 6, 10, 3, 0.45), *prompts("base", 0.0014, 6, 10, 4, 0.45)]
    verdict = judge(records)
    assert (verdict.kind, verdict.proposal) == (K.NOT_REPRODUCED, None)


def test_noise_moves_the_bound_and_says_what_it_still_catches():
    verdict = judge(healthy(), context=Context(siblings=(0.005,)))
    assert verdict.kind is K.NOISE
    proposal = verdict.proposal
    assert proposal.threshold in (0.004, 0.005)
    assert proposal.exceedance.high <= 0.005
    assert [c.ratio for c in proposal.still_catches] == [1.25, 1.5, 2.0, 3.0]
    assert all(c.after < c.before for c in proposal.still_catches)
    assert proposal.still_catches[-1].after > 0.6
    assert "With 2 × the prompts" in proposal.remedies[0]


def test_a_run_unfit_for_a_bump_gives_the_refusal_instead():
    refusal = Refusal("touches_test", "This pull request changes the test itself.")
    verdict = judge(healthy(), context=Context(bump_refusal=refusal))
    assert (verdict.kind, verdict.reason, verdict.proposal) == (K.REFUSED, "touches_test", None)


def test_a_run_unfit_for_a_bump_is_still_told_of_its_regression():
    records = [*trigger(0.0044), *noisy("head", 0.004, 2, 4, 1), *noisy("base", 0.002, 2, 4, 2)]
    context = Context(bump_refusal=Refusal("touches_test", "This pull request changes the test itself."))
    assert judge(records, context=context).kind is K.REGRESSION


@pytest.mark.parametrize(
    ("context", "policy"),
    [
        (Context(first_bound=0.0012), Policy()),
        (Context(), Policy(known_bad=(0.0035,))),
        (Context(), Policy(max_factor=1.2)),
    ],
)
def test_where_no_bound_passes_nothing_moves(context, policy):
    verdict = judge(healthy(), context=context, policy=policy)
    assert (verdict.kind, verdict.reason, verdict.proposal) == (K.INCONCLUSIVE, "no_bound_holds", None)


def test_reruns_on_another_gpu_move_nothing():
    records = [r | {"gpu": "H200" if r["arm"] == "trigger" else "H100"} for r in healthy()]
    assert judge(records).reason == "other_gpu"


def test_reruns_that_never_met_the_host_move_nothing():
    records = [r | {"host": "c" if r["arm"] == "trigger" else "a"} for r in healthy()]
    assert judge(records).reason == "host_not_seen"


def test_the_trace_names_the_rungs_in_order():
    assert [rung.name for rung in judge(healthy()).trace] == [
        "refused",
        "exact_gate",
        "non_finite",
        "infra",
        "deterministic",
        "intermittent",
        "hardware",
        "regression",
        "other_checks",
        "old_regression",
        "power",
        "not_reproduced",
        "noise",
    ]


def test_all_runs_missing_asks_or_says_infra():
    assert judge([*trigger(0.0034), *[lost("head", launch=f"{i}") for i in range(6)]]).kind is K.INFRA


def test_one_reading_alone_asks_for_runs():
    assert judge([record("head", 0.004)]).next is not None


def test_zero_values_under_a_loose_bound_do_not_crash():
    assert judge([*trigger(0.004), *arm("head", [[0.0, 0.001], [0.0, 0.002]])]).proposal is None


def test_a_suspect_host_is_looked_at_before_a_bump():
    records = healthy(launches=3, repeats=4)
    for item in records:
        on_red_host = item["arm"] == "trigger" or item["launch"].endswith("0")
        item["host"] = "a" if on_red_host else "b"
        if on_red_host and item["arm"] != "trigger":
            item["per_prompt"] = [value * 1.25 for value in item["per_prompt"]]
            item["value"] *= 1.25
    verdict = judge(records)
    assert verdict.proposal is None
    assert verdict.kind in (K.INCONCLUSIVE, K.HARDWARE)


def scaled(
    records: list[dict[str, object]], factor: float, *, which=lambda _number: True
) -> list[dict[str, object]]:
    """The level of some readings multiplied, prompts and all."""
    return [
        record
        | (
            {"value": record["value"] * factor, "per_prompt": [p * factor for p in record["per_prompt"]]}
            if which(number)
            else {}
        )
        for number, record in enumerate(records)
    ]


def test_a_bound_that_most_runs_of_both_arms_exceed_is_not_moved():
    """As with an older change that raised the level: head and base agree, and both are bad."""
    red = [r | {"attempt": i} for i, r in enumerate(prompts("trigger", 0.0034, 1, 2, 12, 0.3), 1)]
    both = [*prompts("head", 0.0034, 5, 8, 1, 0.3), *prompts("base", 0.0034, 5, 8, 101, 0.3)]
    verdict = judge([*red, *both])
    assert (verdict.kind, verdict.reason, verdict.proposal) == (K.INCONCLUSIVE, "exceeded_too_often", None)
    assert "an older change may have raised the level" in verdict.sentence


def test_runs_of_two_kinds_move_no_bound():
    """Every tenth run of head is twice as high in all its prompts: the arms still agree in the mean."""
    red = [
        r | {"attempt": i} for i, r in enumerate(scaled(prompts("trigger", 0.002, 1, 2, 12, 0.25), 2.0), 1)
    ]
    head = scaled(prompts("head", 0.0024, 5, 8, 1, 0.25), 1.9, which=lambda number: number % 10 == 3)
    base = prompts("base", 0.0024, 5, 8, 101, 0.25)
    verdict = judge([*red, *head, *base], context=Context(siblings=(0.005,)))
    assert verdict.kind is not K.NOISE and verdict.proposal is None
