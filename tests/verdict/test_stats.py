import math

import numpy as np
import pytest

from bot.verdict.mixed import Column, fit
from bot.verdict.prompts import prompt_effects
from bot.verdict.stats import (
    clopper_pearson,
    find_step,
    look_number,
    mean_excess_rate,
    mixture_quantile,
    upper_limit,
)
from bot.verdict.tail import Tail


def test_six_of_a_hundred_is_2_2_to_12_6_percent():
    low, high = clopper_pearson(6, 100)
    assert (round(low, 3), round(high, 3)) == (0.022, 0.126)


def test_none_of_a_hundred_still_allows_3_percent():
    assert round(upper_limit(0, 100), 3) == 0.030
    assert upper_limit(0, 10) == pytest.approx(1 - 0.05 ** (1 / 10))


def test_intervals_at_the_ends():
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert clopper_pearson(0, 20)[0] == 0.0
    assert clopper_pearson(20, 20)[1] == 1.0
    assert upper_limit(3, 3) == 1.0


@pytest.mark.parametrize(("n", "rate"), [(10, 0.05), (40, 0.06), (100, 0.01)])
def test_clopper_pearson_covers_at_least_what_it_says(n, rate):
    covered = 0.0
    for k in range(n + 1):
        low, high = clopper_pearson(k, n)
        if low <= rate <= high:
            covered += math.comb(n, k) * rate**k * (1 - rate) ** (n - k)
    assert covered >= 0.95


def test_a_look_is_a_function_of_the_launches():
    assert [look_number(n, 6, 3) for n in (1, 4, 6, 7, 12, 13, 500)] == [1, 1, 1, 2, 2, 3, 3]


def test_the_quantile_of_one_normal():
    one = np.array([1.0])
    assert mixture_quantile(0.975, one, np.array([2.0]), np.array([3.0])) == pytest.approx(2 + 3 * 1.959964)


def test_a_step_is_found_where_it_is():
    rng = np.random.default_rng(5)
    logs = np.concatenate([rng.normal(0, 0.2, 30), rng.normal(math.log(2), 0.2, 20)])
    step = find_step(logs, 5)
    assert abs(step.at - 30) <= 1
    assert step.ratio == pytest.approx(2, rel=0.15)
    assert step.p < 1e-6
    assert find_step(logs[:9], 5) is None


def test_a_flat_series_hardly_ever_steps():
    rng = np.random.default_rng(6)
    ps = [find_step(rng.normal(0, 0.3, 60), 5).p for _ in range(400)]
    assert np.mean(np.array(ps) < 0.05) <= 0.05


@pytest.mark.parametrize(("launch_sd", "launches", "repeats"), [(0.0, 2, 4), (0.1, 2, 4), (0.1, 4, 8)])
def test_the_shift_interval_covers_with_launch_effects(launch_sd, launches, repeats):
    """The 90 % interval misses in at most 13 % of 300 (10 % and two standard errors)."""
    rng = np.random.default_rng(9)
    missed = 0
    launch = np.repeat(np.arange(2 * launches), repeats)
    head = (launch < launches).astype(float)
    for _ in range(300):
        logs = rng.normal(0, launch_sd, 2 * launches)[launch] + rng.normal(0, 0.3, len(launch))
        ratio = fit(logs, launch, [Column(np.ones(len(logs))), Column(head)], 1, 0.1)
        missed += not ratio.quantile(0.05) <= 0 <= ratio.quantile(0.95)
    assert missed <= 0.135 * 300


def test_repeats_on_one_launch_narrow_less_than_launches():
    rng = np.random.default_rng(10)
    logs = rng.normal(0, 0.2, 32)
    head = np.repeat([0.0, 1.0], 16)

    def sd(per_launch):
        columns = [Column(np.ones(32)), Column(head)]
        return fit(logs, np.arange(32) // per_launch, columns, 1, 0.1).sd

    assert sd(16) > 1.5 * sd(2)


def healthy_tail(n, prompt_sd, seed, width=9):
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, prompt_sd, (n, width))
    level = fit(logs.mean(axis=1), np.arange(n) // 4, [Column(np.ones(n))], 0, 0.1)
    return Tail(level, prompt_effects(logs))


def test_the_upper_exceedance_is_rarely_too_low():
    """The one-sided 95 % limit lies under the truth in at most 8 % of 100 fits."""
    truth = np.exp(np.random.default_rng(1).normal(0, 0.8, (400_000, 9))).mean(axis=1)
    at = math.log(float(np.quantile(truth, 0.995)))
    low = [healthy_tail(32, 0.8, seed).rates(np.array([at]), 0.95)[2][0] < 0.005 for seed in range(100)]
    assert np.mean(low) <= 0.08


def test_more_prompts_exceed_less():
    tail = healthy_tail(64, 0.8, 3)
    at = np.array([tail.level.mean + 0.9])
    rates = [float(tail.more_prompts(times).rate(at)[0]) for times in (1, 2, 4)]
    assert rates[0] > 2 * rates[1] > 4 * rates[2]


def test_peaks_over_a_threshold_see_a_heavy_tail():
    rng = np.random.default_rng(4)
    light = rng.normal(0, 0.3, 200)
    heavy = np.concatenate([light[:185], rng.uniform(1, 4, 15)])
    assert mean_excess_rate(light, 1.2) < 0.005 < 0.02 < mean_excess_rate(heavy, 1.2)
    assert mean_excess_rate(light[:39], 1.2) is None
