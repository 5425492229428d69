"""The odds for single-prompt faults, and the references they rest on, on simulated tests."""

import math
from functools import cache

import numpy as np
import pytest

from bot.verdict.faults import Runs, _clipped_squares, _launch_effects, _law, judge_faults

EQUAL = np.full(9, 0.6)
UNEQUAL = np.linspace(0.3, 1.2, 9)
FAULT_ODDS = math.log(200)


def standard(rng, runs, tail=None):
    """Residuals of nine prompts, of unit variance: normal or Student's t."""
    if tail is None:
        return rng.standard_normal((runs, 9))
    return rng.standard_t(tail, (runs, 9)) * math.sqrt((tail - 2) / tail)


def draw(seed, runs, sds=EQUAL, tail=None):
    return 0.002 * np.exp(sds * standard(np.random.default_rng(seed), runs, tail))


def bound(sds=EQUAL, tail=None):
    """Exceeded in 5 % of runs."""
    return _bound(tuple(sds), tail)


@cache
def _bound(sds, tail):
    return math.log(float(np.quantile(draw(0, 50_000, np.array(sds), tail).mean(axis=1), 0.95)))


def judged(head, base, log_bound):
    """Four repeats a launch, no red job."""
    values = np.vstack([head, base])
    is_head = np.arange(len(values)) < len(head)
    runs = Runs(values, is_head, np.zeros(len(values), bool), np.arange(len(values)) // 4)
    return judge_faults(runs, log_bound, 0.05)


def lifted(seed, values, hits, factor=20.0, same_prompt=True):
    """One prompt of so many runs times a factor."""
    rng = np.random.default_rng([seed, 1])
    rows = rng.choice(len(values), hits, replace=False)
    values = values.copy()
    values[rows, 0 if same_prompt else rng.integers(9, size=hits)] *= factor
    return values


def scales(sds, tail=None, lifted_runs=0.0, every_prompt=False):
    """Estimated over true sd, 40 tests of 100 runs x 9 prompts; the truth is the t law's own scale."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        logs = sds * (rng.standard_normal((100, 9)) if tail is None else rng.standard_t(tail, (100, 9)))
        hit = rng.random(100) < lifted_runs
        logs[hit, rng.integers(9, size=int(hit.sum()))] += math.log(20)
        if every_prompt:
            logs[rng.random((100, 9)) < 0.1] += math.log(20)
        residual = logs - np.median(logs, axis=0)
        found.append(_law(tail or 100.0, *_clipped_squares(residual)).sd / sds)
    return np.array(found)


@pytest.mark.parametrize("tail", [None, 5.0])
@pytest.mark.parametrize("sds", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_the_scale_of_each_prompt_is_found(sds, tail):
    found = scales(sds, tail)
    assert found.mean() == pytest.approx(1.0, abs=0.02)
    assert found.mean(axis=0) == pytest.approx(np.ones(9), abs=0.07)


@pytest.mark.parametrize("tail", [None, 5.0])
@pytest.mark.parametrize("sds", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_a_fault_in_a_tenth_of_runs_hardly_widens_the_scale(sds, tail):
    assert scales(sds, tail, lifted_runs=0.1).mean() == pytest.approx(1.02, abs=0.03)


def test_a_tenth_of_all_values_lifted_widen_the_scale_by_a_quarter():
    """The sd itself would be 1.8 x as large: (1 + 0.09 x (3.0 / 0.6)^2)^0.5."""
    assert 1.1 < scales(EQUAL, every_prompt=True).mean() < 1.35


def launches(effect_sd):
    """Mean square errors of the estimated effects and of plain medians; 100 tests of 8 launches x 4 runs."""
    estimate, medians = [], []
    numbers = np.repeat(np.arange(8), 4)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        true = rng.normal(0, effect_sd, 8)[numbers]
        residual = true[:, None] + 0.6 * rng.standard_normal((32, 9))
        plain = np.array([np.median(residual[numbers == i]) for i in range(8)])[numbers]
        estimate.append(np.mean((_launch_effects(residual, numbers)[:, 0] - true) ** 2))
        medians.append(np.mean((plain - true) ** 2))
    return float(np.mean(estimate)), float(np.mean(medians))


def test_a_launch_effect_is_removed_nearly_whole():
    """Of a variance of 0.25 less than a tenth is left: the error of a median of 36, 0.016."""
    assert launches(0.5)[0] < 0.025


def test_without_launch_effects_none_is_made_up():
    estimate, medians = launches(0.0)
    assert estimate < medians / 8


TESTS = {
    "normal": (EQUAL, None),
    "unequal": (UNEQUAL, None),
    "t5": (EQUAL, 5.0),
    "t4": (EQUAL, 4.0),
}


@pytest.mark.parametrize("name", TESTS)
def test_a_healthy_test_is_not_called_intermittent(name):
    """200 tests each, four looks at 8 to 32 runs an arm. Ville's inequality allows 10 of 200 to reach 20 : 1
    and 1 to reach 200 : 1. Measured: none of the normal ones, 5 and 5 of t(5) and t(4), 1 and 0."""
    sds, tail = TESTS[name]
    at = bound(sds, tail)
    largest, called = [], 0
    for seed in range(200):
        head, base = draw([seed, 3], 32, sds, tail), draw([seed, 4], 32, sds, tail)
        looks = [judged(head[:n], base[:n], at) for n in (8, 16, 24, 32)]
        largest.append(max(look.log_odds for look in looks))
        called += any(look.log_odds >= FAULT_ODDS and bool(look.suspects) for look in looks)
    assert np.mean(np.array(largest) >= math.log(20)) <= 0.05
    assert called <= 0.03 * 200


@pytest.mark.parametrize(("same_prompt", "least"), [(True, 0.98), (False, 0.9)])
def test_a_fault_in_a_fifth_of_thirty_runs_is_seen(same_prompt, least):
    """x 20 in 6 of 30 head runs reaches 200 : 1. Measured, n = 200: all where it is always the same prompt,
    96 % where it hits any."""
    at = bound()
    seen = []
    for seed in range(100):
        head = lifted(seed, draw([seed, 3], 30), 6, same_prompt=same_prompt)
        seen.append(judged(head, draw([seed, 4], 30), at).log_odds >= FAULT_ODDS)
    assert np.mean(seen) >= least


def test_the_runs_and_the_prompt_of_a_fault_are_named():
    head = draw(1, 30)
    head[[4, 9, 17], 2] = 0.2
    found = judged(head, draw(2, 30), bound())
    assert sorted(found.suspects) == [(4, 2), (9, 2), (17, 2)]


def test_clean_runs_of_head_lower_the_odds():
    at = bound()
    odds = np.array(
        [
            [judged(draw([seed, 3], 64)[:n], draw([seed, 4], 16), at).log_odds for n in (8, 16, 32, 64)]
            for seed in range(40)
        ]
    )
    assert np.all(np.diff(np.median(odds, axis=0)) < -0.3)


@pytest.mark.parametrize("factor", [1.5, 3.0])
def test_code_that_lifts_all_prompts_is_no_single_prompt_fault(factor):
    at = bound()
    odds = [judged(factor * draw([seed, 3], 30), draw([seed, 4], 30), at).log_odds for seed in range(60)]
    assert max(odds) < math.log(20)


@pytest.mark.parametrize("name", ["head", "base"])
def test_a_launch_that_lies_high_is_no_single_prompt_fault(name):
    """All prompts of one launch's four runs x 6: three robust sd, of which under 0.6 is left on average."""
    at = bound()
    for seed in range(20):
        arms = {"head": draw([seed, 3], 32), "base": draw([seed, 4], 32)}
        arms[name][8:12] *= 6
        found = judged(arms["head"], arms["base"], at)
        assert found.log_odds < math.log(20)
        first = 8 if name == "head" else 40
        assert abs(found.z[first : first + 4].mean()) < 0.6


def with_red_job(seed, tries=2, factor=1.0):
    """A red job (healthy runs over the bound, their worst prompts times a factor), 16 runs an arm."""
    at = bound()
    many = draw([seed, 5], 1_000)
    red = many[many.mean(axis=1) > math.exp(at)][:tries]
    red[np.arange(tries), red.argmax(axis=1)] *= factor
    values = np.vstack([red, draw([seed, 3], 16), draw([seed, 4], 16)])
    rerun = np.arange(len(values)) - tries
    runs = Runs(values, (rerun >= 0) & (rerun < 16), rerun < 0, np.where(rerun < 0, 0, 1 + rerun // 4))
    return judge_faults(runs, at, 0.05)


def test_a_red_job_is_high_because_it_was_chosen():
    """Two tries over the bound by chance speak against a fault, on average over 100."""
    with_it, without = ([with_red_job(seed, n).log_odds for seed in range(100)] for n in (2, 0))
    assert np.mean(with_it) < np.mean(without) - 0.5
    assert sum(odds >= math.log(20) for odds in with_it) <= 1


def test_a_red_job_far_beyond_what_chose_it_shows_the_fault():
    """The worst prompt of each try x 20 on top: in each of 20 the odds rise and name a try first."""
    for seed in range(20):
        clean, faulty = with_red_job(seed), with_red_job(seed, factor=20.0)
        assert faulty.log_odds > clean.log_odds + 2
        assert faulty.suspects[0][0] < 2


def test_the_odds_do_not_depend_on_the_unit():
    head, base = lifted(1, draw(1, 30), 3), draw(2, 30)
    one, other = judged(head, base, bound()), judged(100 * head, 100 * base, bound() + math.log(100))
    assert one.log_odds == pytest.approx(other.log_odds)
    assert one.suspects == other.suspects
