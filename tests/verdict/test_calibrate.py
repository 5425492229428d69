"""A test fitted to readings, and what its worlds say together."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bot.verdict import Evidence, Policy, Refusal, VerdictKind
from bot.verdict.calibrate import FAULTS, SAME, Played, calibration, play_world
from bot.verdict.fitted import FittedTest, fit_test
from bot.verdict.reading import Arm
from tests.verdict.build import arm, healthy, lost, noisy, prompts, record, trigger


def fitted(records: list[dict[str, object]], **policy: float) -> FittedTest | Refusal:
    return fit_test(Evidence.from_records(records), Policy(**policy))


# --- the fit --------------------


def test_prompts_their_levels_and_spread_are_found():
    """Nine prompts of log-sd 0.5, so a mean log has 0.5 / 3 = 0.167; launches do not differ."""
    test = fitted([*trigger(0.0031), *prompts("head", 0.002, 10, 6, 1), *prompts("base", 0.002, 10, 6, 2)])
    assert test.prompts == 9 and test.readings == 120
    assert test.prompt_sds == pytest.approx(np.full(9, 0.5), abs=0.08)
    assert test.offsets == pytest.approx(np.zeros(9), abs=0.15)
    assert math.exp(test.level.mean) == pytest.approx(0.002, rel=0.05)
    repeat, launch = map(math.sqrt, test.level.variance())
    assert repeat == pytest.approx(0.167, abs=0.03) and launch < 0.06
    assert np.mean(test.residuals**2) == pytest.approx(1.0)
    assert test.listed == {Arm.HEAD, Arm.BASE}, "the red job lists none"


def test_without_prompts_the_values_themselves_spread():
    test = fitted([*trigger(0.0031), *noisy("head", 0.002, 10, 6, 1), *noisy("base", 0.002, 10, 6, 2)])
    assert (test.prompts, test.offsets, test.listed) == (0, None, frozenset())
    assert math.sqrt(test.level.variance()[0]) == pytest.approx(0.25, abs=0.04)


def test_a_heavy_tail_stays():
    """One of 60 values 40 x the usual: over 5 sd of all of them."""
    base = noisy("base", 0.002, 10, 6, 2)
    base[7]["value"] = 0.08
    assert fitted([*trigger(0.0031), *base]).residuals.max() > 5
    assert fitted([*trigger(0.0031), *noisy("base", 0.002, 10, 6, 2)]).residuals.max() < 4


def test_readings_of_head_count_unless_the_judge_speaks_against_them():
    same = [*trigger(0.0031), *noisy("head", 0.002, 6, 4, 1), *noisy("base", 0.002, 6, 4, 2)]
    assert (fitted(same).readings, fitted(same).notes) == (48, ())
    worse = [*trigger(0.0061), *noisy("head", 0.006, 6, 4, 1), *noisy("base", 0.002, 6, 4, 2)]
    test = fitted(worse)
    assert math.exp(test.level.mean) == pytest.approx(0.002, rel=0.15)
    note = "the 24 readings of head are left out, since the judge calls them regression"
    assert (test.readings, test.notes) == (24, (note,))


def test_past_runs_count_since_their_last_step():
    before, after = noisy("history", 0.001, 30, 1, 1), noisy("history", 0.002, 30, 1, 2)
    history = [r | {"launch": f"past-{i}", "seq": i} for i, r in enumerate([*before, *after])]
    test = fitted([*trigger(0.0031), *history])
    assert test.readings == pytest.approx(30, abs=3) and test.past == 60
    assert math.exp(test.level.mean) == pytest.approx(0.002, rel=0.15)


def test_hosts_their_share_and_effect():
    def on(host: str, level: float, launches: int, seed: int) -> list[dict[str, object]]:
        return [
            r | {"host": host, "launch": f"{host}-{r['launch']}"}
            for r in noisy("base", level, launches, 4, seed, 0.1)
        ]

    test = fitted([*trigger(0.0031), *on("a", 0.002, 9, 1), *on("b", 0.0026, 3, 2)])
    assert [(host.name, host.share) for host in test.hosts] == [("a", 0.75), ("b", 0.25)]
    assert test.hosts[1].mean - test.hosts[0].mean == pytest.approx(math.log(1.3), abs=0.1)


def test_the_red_job_of_the_file_carries_the_bound_that_is_judged():
    records = [*trigger(0.0031, 0.0028, 0.0033), *noisy("base", 0.002, 5, 4, 1)]
    test = fit_test(Evidence.from_records(records, threshold=0.0032), Policy())
    assert [(r.value, r.threshold) for r in test.trigger] == [(0.0033, 0.0032)]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (
            [*trigger(0.0031), *noisy("head", 0.002, 2, 2, 1), *noisy("base", 0.002, 3, 1, 2)],
            "too_few_readings",
        ),
        ([*trigger(0.0031), *(lost("head", launch=f"h{i}") for i in range(20))], "too_few_readings"),
        ([*trigger(0.004), *arm("head", [[0.004] * 4] * 2), *noisy("base", 0.002, 2, 4, 1)], "frozen_values"),
        ([*trigger(0.004), *noisy("head", 0.002, 2, 4, 1), *arm("base", [[0.002] * 4] * 2)], "frozen_values"),
        ([record("trigger", 1e-5, threshold=1e-9), record("base", 0, threshold=1e-9)], "exact_gate"),
    ],
)
def test_what_holds_no_noise_to_copy_is_refused(records, code):
    refusal = fitted(records)
    assert isinstance(refusal, Refusal) and refusal.code == code and refusal.sentence.endswith(".")


def test_prompts_that_always_agree_are_no_trouble():
    """Every prompt of a run gives the same value: all spread is shared."""
    base = [r | {"per_prompt": [r["value"]] * 4} for r in noisy("base", 0.002, 6, 4, 1)]
    test = fitted([*trigger(0.0031), *base])
    assert test.prompts == 4 and np.all(np.isfinite(test.residuals))
    assert play_world(test, Policy(), 0, (0, 0)) is not None


# --- the worlds --------------------


def test_a_world_is_a_function_of_seed_scenario_and_number():
    test, policy = fitted(healthy()), Policy()
    first = play_world(test, policy, 0, (0, 3))
    assert first == play_world(test, policy, 0, (0, 3))
    assert first.scenario == "same code" and 0.0 < first.exceedance < 0.3
    others = [play_world(test, policy, seed, job) for seed, job in ((1, (0, 3)), (0, (0, 4)), (0, (2, 3)))]
    assert all(other != first for other in others)


def test_a_doubled_head_is_no_bump_and_equal_code_no_regression():
    test, policy = fitted(healthy()), Policy()
    same = [play_world(test, policy, 0, (0, number)) for number in range(12)]
    doubled = [play_world(test, policy, 0, (3, number)) for number in range(12)]
    assert not any(world.kind is VerdictKind.REGRESSION for world in same)
    assert sum(world.bumped for world in same) >= 6
    assert not any(world.bumped for world in doubled)
    assert sum(world.kind is VerdictKind.REGRESSION for world in doubled) >= 10


def test_where_healthy_code_never_goes_red_the_files_own_red_job_stands_in():
    calm = [*noisy("head", 0.001, 4, 4, 1, sd=0.1), *noisy("base", 0.001, 4, 4, 2, sd=0.1)]
    test = fitted([*trigger(0.0031, 0.0032), *calm])
    played = play_world(test, Policy(), 0, (0, 0))
    assert played.own_red_job and played.exceedance == 0.0
    found = calibration(test, Policy(), [played])
    assert found.notes[-1] == "in 1 of 1 worlds equal code never went red: the file's red job stands in"
    assert play_world(replace(test, trigger=()), Policy(), 0, (0, 0)) is None
    refusal = calibration(test, Policy(), [])
    assert isinstance(refusal, Refusal) and refusal.code == "never_red"


# --- the summary --------------------

CALM = Played("same code", VerdictKind.NOISE, True, 16, 40.0, False, 0.05, 0.001)


def hundred() -> list[Played]:
    """Equal code: 1 regression, 9 without answer, 90 bumps, 2 of them loud. × 1.25: 1 bump in 50."""
    return [
        replace(CALM, kind=VerdictKind.REGRESSION, bumped=False, exceedance_after=None),
        *[replace(CALM, kind=VerdictKind.INCONCLUSIVE, bumped=False, runs=80, exceedance_after=None)] * 9,
        *[replace(CALM, exceedance_after=0.006)] * 2,
        *[CALM] * 88,
        replace(CALM, scenario=FAULTS[0].name),
        *[replace(CALM, scenario=FAULTS[0].name, bumped=False, exceedance_after=None)] * 49,
    ]


def test_shares_and_their_exact_intervals():
    found = calibration(fitted(healthy()), Policy(), hundred())
    assert (found.worlds, found.median_runs, found.mean_minutes) == (100, 16.0, 40.0)
    regression = found.false_alarms["regression"]
    assert (regression.count, regression.n) == (1, 100)
    assert (regression.low, regression.high) == pytest.approx((0.00025, 0.0545), abs=5e-5)
    assert {kind: share.count for kind, share in found.false_alarms.items()} == {
        "regression": 1,
        "deterministic": 0,
        "intermittent": 0,
        "hardware": 0,
        "any": 1,
    }
    assert {kind: share.count for kind, share in found.endings.items()} == {
        "bump": 90,
        "inconclusive": 9,
        "regression": 1,
    }
    assert (found.loud_bumps.count, found.loud_bumps.n) == (2, 90)
    assert (found.false_bumps["head × 1.25"].count, found.false_bumps["head × 1.25"].n) == (1, 50)
    assert (found.false_bumps["head × 2"].n, found.false_bumps["head × 2"].high) == (0, 1.0)


def test_one_sentence_for_a_comment():
    found = calibration(fitted(healthy()), Policy(), hundred())
    assert found.sentence == (
        "On 100 simulated runs like this test's, the judge called equal code worse in 1 (at most 5.4 %) and "
        "moved the bound in 90 (2 to one that over 0.5 % of runs exceed); with a planted fault it moved the "
        "bound in 1 of 50 (at most 10.6 %)."
    )


def test_it_is_json():
    found = calibration(fitted(healthy()), Policy(), hundred())
    document = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert document["false_alarms"]["any"]["count"] == 1
    assert document["false_bumps"]["head × 1.25"] == {
        "count": 1,
        "n": 50,
        "low": pytest.approx(0.0005, abs=1e-4),
        "high": pytest.approx(0.1065, abs=1e-4),
    }
    assert document["sentence"] == found.sentence and SAME.name == "same code"
