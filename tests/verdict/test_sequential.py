"""Error rates over all looks, and what intervals cover, by simulation of whole investigations."""

import math

import numpy as np
import pytest

from bot.verdict import Evidence, Policy, VerdictKind, decide
from bot.verdict.case import Case
from bot.verdict.mixed import Column, fit
from bot.verdict.prompts import prompt_effects
from bot.verdict.tail import Tail
from tests.verdict.world import World
from tests.verdict.worlds import play


def investigations(n, seed=0, **world):
    """n tests with red jobs, past runs, hosts and reruns of their own; 25 share prompts and bound."""
    for i in range(n):
        if i % 25 == 0:
            first = World(seed=seed + i, **world)
        drawn = first.twin()
        drawn.rng = np.random.default_rng([seed, i])
        drawn.host_effects = drawn.rng.normal(0, drawn.host_sd, drawn.hosts)
        yield drawn


def batch(world, number, launches=3, repeats=4):
    """Fresh launches on both arms: six are one look."""
    records = []
    for name in ("head", "base"):
        for i in range(launches):
            records += world.launch(name, f"{name}-{number}-{i}", repeats, 0)
    return records


def test_a_head_a_quarter_worse_is_hardly_ever_called_noise():
    """Over all looks at most 3 % of n = 150 (measured: 2.7 %, 4 bumps; 76 % are called a regression)."""
    kinds = [play(world).verdict.kind for world in investigations(150, truth="shift", shift=1.25, past=60)]
    assert kinds.count(VerdictKind.NOISE) <= 0.03 * 150
    assert kinds.count(VerdictKind.REGRESSION) >= 0.6 * 150


def test_an_equal_head_is_hardly_ever_called_worse():
    """At most 1.5 % of n = 100 (measured: none)."""
    kinds = [play(world).verdict.kind for world in investigations(100, truth="noise", past=60)]
    assert kinds.count(VerdictKind.REGRESSION) <= 0.015 * 100
    assert kinds.count(VerdictKind.NOISE) >= 0.9 * 100


def test_an_equal_head_is_hardly_ever_called_worse_if_nobody_stops():
    """All four looks are taken whatever the verdict: worse at any of them in at most 1.5 % of n = 100
    (measured: none)."""
    worse = 0
    for world in investigations(100, seed=7, truth="noise", launch_sd=0.05):
        records, kinds = world.red_job, []
        for number in range(Policy().max_looks):
            records = records + batch(world, number)
            kinds.append(decide(Evidence.from_records(records)).kind)
        worse += VerdictKind.REGRESSION in kinds
    assert worse <= 0.015 * 100


@pytest.mark.parametrize(
    "machines",
    [
        {"past": 60},
        {"past": 60, "launch_sd": 0.1},
        {"past": 60, "hosts": 3, "host_sd": 0.1, "launch_sd": 0.05},
    ],
    ids=["alike", "launches differ", "hosts differ"],
)
def test_the_ratio_interval_covers_beside_past_runs_and_hosts(machines):
    """The 90 % interval of a head x 1.25 misses in at most 15 % of n = 300: 10 % and three standard errors.
    Measured on 800: 6 %, 12 % where launches differ by 0.1 (all that the prior expects of most)."""
    missed = 0
    for world in investigations(300, truth="shift", shift=1.25, **machines):
        ratio = Case(Evidence.from_records(world.history + batch(world, 0)), Policy()).shift
        missed += not ratio.quantile(0.05) <= math.log(1.25) <= ratio.quantile(0.95)
    assert missed <= 0.15 * 300


def past_runs_help(records):
    case = Case(Evidence.from_records(records), Policy())
    return case.shift_history is not None, case.shift.sd


def test_past_runs_narrow_the_ratio_only_where_they_agree_with_base():
    world = World("noise", past=60, seed=3)
    reruns, past = batch(world, 0), world.history
    high = [r | {"value": 2 * r["value"], "per_prompt": [2 * v for v in r["per_prompt"]]} for r in past]
    alone, beside, strange = (past_runs_help(past + reruns) for past in ([], past, high))
    assert (alone[0], beside[0], strange[0]) == (False, True, False)
    assert beside[1] < 0.9 * alone[1]
    assert strange[1] == alone[1]


def low_limits(sds, rate, runs=32, tests=100):
    """Share of tests whose one-sided 95 % limit on the exceedance of a bound lies under the true rate."""
    truth = np.exp(sds * np.random.default_rng(1).standard_normal((400_000, len(sds)))).mean(axis=1)
    at = np.array([math.log(float(np.quantile(truth, 1 - rate)))])
    low = 0
    for seed in range(tests):
        logs = sds * np.random.default_rng([seed, 2]).standard_normal((runs, len(sds)))
        level = fit(logs.mean(axis=1), np.arange(runs) // 4, [Column(np.ones(runs))], 0, 0.1)
        low += Tail(level, prompt_effects(logs)).rates(at, 0.95)[2][0] < rate
    return low / tests


@pytest.mark.parametrize("width", [4, 9])
@pytest.mark.parametrize("rate", [0.05, 0.005])
def test_the_upper_limit_of_an_exceedance_holds_for_equal_prompts(width, rate):
    """Under the truth in at most 9 % of n = 100 (5 % and two standard errors; measured: 1 to 5 %)."""
    assert low_limits(np.full(width, 0.8), rate) <= 0.09


@pytest.mark.parametrize("width", [4, 9])
@pytest.mark.parametrize("rate", [0.05, 0.005])
def test_the_upper_limit_of_an_exceedance_holds_for_unequal_prompts(width, rate):
    """Log-sd 0.3 to 1.2, where one prompt's own spread decides: 3 to 12 % under the truth (n = 100)."""
    assert low_limits(np.linspace(0.3, 1.2, width), rate) <= 0.15
