"""The rivals do what their names say, on values that can be checked by eye."""

import math

import numpy as np
import pytest

from tests.bench.rivals import RIVALS, Bench, next_step, rank_test, retry_once, tail_point, worst_of_five
from tests.verdict.world import World


@pytest.mark.parametrize(
    ("above", "step"),
    [(0.0031, 0.004), (0.003, 0.004), (0.0085, 0.01), (0.95, 1.0), (0.0, None), (math.inf, None)],
)
def test_the_next_round_step(above, step):
    assert next_step(above) == step


def test_the_tail_point_of_an_exponential_law():
    values = np.random.default_rng(0).exponential(1.0, 20_000)
    assert tail_point(values) == pytest.approx(-math.log(0.005), rel=0.05)
    assert tail_point(values[:19]) is None
    assert tail_point(np.full(50, 0.003)) is None


@pytest.mark.parametrize(
    ("rival", "runs", "launches"),
    [
        ("100 runs of head, next step", 100, 1),
        ("retry once, bump if it passes", 1, 1),
        ("worst of 5 × 1.25", 5, 5),
        ("10 v 10 rank test, then 100", 110, 3),
    ],
)
def test_what_a_rival_costs(rival, runs, launches):
    world = World("noise", seed=3)
    assert world.red_job
    bench = Bench(world)
    RIVALS[rival](bench)
    assert (bench.runs, bench.launches) == (runs, launches)


def test_retry_once_bumps_a_rare_fault_that_did_not_come_back():
    world = World("fault", fault_rate=0.05, fault_factor=30, seed=1)
    assert world.red_job
    assert retry_once(Bench(world)) > max(record["value"] for record in world.red_job)


def test_worst_of_five_bumps_a_regression():
    assert worst_of_five(Bench(World("shift", shift=4.0))) > 0.003


def test_the_rank_test_sees_a_regression():
    bench = Bench(World("shift", shift=4.0))
    assert rank_test(bench) is None
    assert bench.kind == "regression"


@pytest.mark.parametrize("rival", RIVALS)
def test_no_rival_bumps_on_lost_runs_alone(rival):
    world = World("noise", lost_rate=1.0)
    assert world.red_job
    assert RIVALS[rival](Bench(world)) is None
