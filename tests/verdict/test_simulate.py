"""The loop that runs what the judge asks for, and the fitted test it can run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from bot.verdict import Arm, ArmPlan, Policy, VerdictKind
from bot.verdict.fitted import FittedTest, Host
from bot.verdict.mixed import Posterior
from bot.verdict.simulate import Fault, SimulatedTest, play
from tests.verdict.build import TEST, noisy, trigger

SAME = Fault("same code")
NORMAL = ndtri((np.arange(2_000) + 0.5) / 2_000)
LEVEL = math.log(0.002)


def known(level: float, repeat_sd: float, launch_sd: float = 0.0) -> Posterior:
    """A posterior without doubt."""
    one = np.ones(1)
    return Posterior(one, one * level, one * 0.0, one * repeat_sd**2, one * launch_sd**2)


FITTED = FittedTest(
    test=TEST,
    threshold=0.003,
    gpu="gpu-x",
    readings=40,
    level=known(LEVEL, 0.4, 0.3),
    offsets=None,
    prompt_sds=None,
    residuals=NORMAL,
    hosts=(Host("host-0", 1.0),),
    past=5,
    listed=frozenset(),
    trigger=(),
    notes=(),
)
NINE = replace(
    FITTED,
    level=known(LEVEL, 0.2),
    offsets=np.linspace(-0.4, 0.4, 9),
    prompt_sds=np.full(9, 0.6),
    listed=frozenset({Arm.HEAD, Arm.BASE}),
)


def world(test: FittedTest = FITTED, fault: Fault = SAME, seed: int = 1) -> SimulatedTest:
    return SimulatedTest(test, fault, np.random.default_rng(seed))


class Recorder:
    """Log-normal values round 0.002, and a note of what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Arm, int]] = []

    def launch(self, arm: Arm, repeats: int) -> list[dict[str, object]]:
        self.asked.append((arm, repeats))
        records = noisy(arm, 0.002, 1, repeats, seed=len(self.asked))
        return [record | {"launch": f"{arm}-{len(self.asked)}"} for record in records]


def test_play_runs_what_is_asked_until_answered_and_counts_what_it_cost():
    simulator = Recorder()
    outcome = play(simulator, trigger(0.0031, 0.0032), Policy(launch_minutes=5, repeat_minutes=2))
    assert outcome.verdict.next is None
    runs = sum(repeats for _, repeats in simulator.asked)
    assert {arm for arm, _ in simulator.asked} == {Arm.HEAD, Arm.BASE}
    assert (outcome.launches, outcome.runs) == (len(simulator.asked), runs)
    assert outcome.minutes == 5 * len(simulator.asked) + 2 * runs
    assert sum(run.ok for arm, run in outcome.verdict.numbers.runs.items() if arm != "trigger") == runs


def test_play_ends_after_so_many_rounds_with_the_question_open():
    simulator = Recorder()
    outcome = play(simulator, trigger(0.0031, 0.0032), most=0)
    assert outcome.verdict.kind is VerdictKind.INCONCLUSIVE and set(outcome.verdict.next.arms) == {
        "head",
        "base",
    }
    assert (outcome.rounds, outcome.runs, outcome.minutes, simulator.asked) == (0, 0, 0.0, [])


def test_play_follows_each_arms_own_plan():
    simulator = Recorder()
    outcome = play(simulator, trigger(0.0031), Policy(first_launches=3, first_repeats=5), most=1)
    first = play(Recorder(), trigger(0.0031), Policy(first_launches=3, first_repeats=5), most=0).verdict.next
    for arm, plan in first.arms.items():
        assert [repeats for name, repeats in simulator.asked if name == arm] == [plan.repeats] * plan.launches
        assert isinstance(plan, ArmPlan)
    assert outcome.rounds == 1


def test_values_have_the_fitted_level_and_both_spreads():
    """0.5 = sqrt(0.4^2 + 0.3^2): a normal lies over 1 sd with chance 15.87 %."""
    assert world().exceedance(0.002, 100_000) == pytest.approx(0.5, abs=0.006)
    assert world().exceedance(0.002 * math.exp(0.5), 100_000) == pytest.approx(0.1587, abs=0.006)


def test_repeats_on_one_launch_share_its_effect():
    simulated = world()
    means = [np.mean([math.log(r.value) for r in simulated.launch(Arm.BASE, 50)]) for _ in range(400)]
    assert np.std(means) == pytest.approx(math.sqrt(0.3**2 + 0.4**2 / 50), rel=0.12)


def test_prompts_spread_each_round_its_own_level():
    readings = world(NINE).launch(Arm.BASE, 4_000)
    logs = np.log([r.per_prompt for r in readings])
    assert readings[0].value == pytest.approx(np.mean(readings[0].per_prompt))
    assert logs.mean(axis=0) - logs.mean() == pytest.approx(NINE.offsets, abs=0.05)
    # 0.6 of its own; the mean of nine has 0.6 / 3 = 0.2 of that, so there is nothing left to share.
    assert logs.std(axis=0) == pytest.approx(np.full(9, 0.6), rel=0.06)
    assert logs.mean(axis=1).std() == pytest.approx(0.2, rel=0.06)


def test_a_shift_moves_head_and_the_red_job_only():
    simulated = world(replace(NINE, level=known(LEVEL, 0.2)), Fault("× 2", shift=2.0))
    medians = {arm: np.median([r.value for r in simulated.launch(arm, 2_000)]) for arm in Arm}
    base = medians[Arm.BASE]
    assert medians[Arm.HEAD] / base == pytest.approx(2.0, rel=0.05)
    assert medians[Arm.TRIGGER] / base == pytest.approx(2.0, rel=0.05)
    assert medians[Arm.HISTORY] / base == pytest.approx(1.0, rel=0.05)


def test_a_fault_lifts_one_prompt_in_its_share_of_runs():
    """Residuals of sd 0.6 never reach ln 1000 = 6.9."""
    simulated = world(NINE, Fault("one prompt", rate=0.2, factor=1e3))
    head = np.log([r.per_prompt for r in simulated.launch(Arm.HEAD, 4_000)])
    lifted = head > LEVEL + 4
    assert lifted.mean(axis=0).max() == pytest.approx(0.2, abs=0.02)
    assert np.count_nonzero(lifted.any(axis=0)) == 1
    assert not np.any(np.log([r.per_prompt for r in simulated.launch(Arm.BASE, 400)]) > LEVEL + 4)


def test_where_prompts_are_unknown_the_fault_is_in_one_of_nine():
    simulated = world(replace(FITTED, level=known(LEVEL, 1e-3)), Fault("one prompt", rate=1.0, factor=19.0))
    (reading,) = simulated.launch(Arm.HEAD, 1)
    assert reading.value == pytest.approx(0.002 * (1 + 18 / 9), rel=0.01) and reading.per_prompt == ()


def test_a_red_job_is_two_tries_on_one_server_both_over_the_bound():
    first, second = world(NINE).red_job()
    assert min(first.value, second.value) > 0.003
    assert (first.arm, first.attempt, second.attempt) == (Arm.TRIGGER, 1, 2)
    assert first.launch == second.launch and first.host == second.host == "host-0"
    assert first.per_prompt == (), "the red job of this file lists none"
    assert world(replace(NINE, threshold=1.0)).red_job() is None


def test_past_runs_are_jobs_of_their_own_in_order():
    history = world().history()
    assert len({r.launch for r in history}) == len(history) == 5
    assert [r.seq for r in history] == sorted(r.seq for r in history)
    assert len({r.commit for r in history}) == 5


def test_launches_meet_hosts_by_their_share_with_their_effect():
    slow = (Host("a", 0.75), Host("b", 0.25, mean=math.log(3.0)))
    simulated = world(replace(FITTED, level=known(LEVEL, 0.01), hosts=slow))
    readings = [r for _ in range(800) for r in simulated.launch(Arm.BASE, 1)]
    values = {name: [r.value for r in readings if r.host == name] for name in ("a", "b")}
    assert len(values["b"]) / 800 == pytest.approx(0.25, abs=0.05)
    assert np.median(values["b"]) / np.median(values["a"]) == pytest.approx(3.0, rel=0.02)


def test_the_same_seed_gives_the_same_readings():
    assert world(NINE).launch(Arm.HEAD, 3) == world(NINE).launch(Arm.HEAD, 3)
    assert world(NINE).launch(Arm.HEAD, 3) != world(NINE, seed=2).launch(Arm.HEAD, 3)
