"""How prompts lie, spread and tail off, from simulated logs with a known truth."""

import math

import numpy as np
import pytest

from bot.verdict.prompts import prompt_effects

OFFSETS = np.array([-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8])
EQUAL = np.full(9, 0.6)
UNEQUAL = np.linspace(0.3, 1.2, 9)


def logs(seed, sds=EQUAL, runs=64, tail=None):
    """Runs differ in level (sd 0.3), prompts in offset and spread."""
    rng = np.random.default_rng(seed)
    size = (runs, 9)
    if tail is None:
        standard = rng.standard_normal(size)
    else:
        standard = rng.standard_t(tail, size) * math.sqrt((tail - 2) / tail)
    return math.log(0.002) + rng.normal(0, 0.3, (runs, 1)) + OFFSETS + sds * standard


def several(n=60, **world):
    return [prompt_effects(logs(seed, **world)) for seed in range(n)]


def test_two_runs_of_two_prompts_by_hand():
    """Residuals +-0.1, one degree of freedom: variance 4 x 0.01."""
    found = prompt_effects(np.array([[1.0, 3.0], [1.2, 2.8]]))
    assert found.offsets == pytest.approx([-0.9, 0.9])
    assert found.residuals == pytest.approx(np.array([[-0.1, 0.1], [0.1, -0.1]]))
    assert (found.freedom, found.sds) == (1, pytest.approx([0.2, 0.2]))


def test_offsets_are_about_the_mean_prompt_and_free_of_the_level():
    found = several()
    assert np.mean([each.offsets for each in found], axis=0) == pytest.approx(OFFSETS, abs=0.04)
    assert all(abs(each.offsets.sum()) < 1e-9 for each in found)
    shifted = prompt_effects(logs(0) + 5.0)
    assert shifted.offsets == pytest.approx(found[0].offsets)
    assert shifted.sds == pytest.approx(found[0].sds)


@pytest.mark.parametrize("runs", [16, 64])
def test_equal_spreads_are_drawn_to_the_common_one(runs):
    """One prompt's own sd scatters by 1 / (2 (n - 1))^0.5; drawn together, by under half of that."""
    ratios = np.array([each.sds for each in several(runs=runs)]) / 0.6
    assert ratios.mean() == pytest.approx(1.0, abs=0.03)
    assert ratios.std() < 0.5 / math.sqrt(2 * (runs - 1))


def test_unequal_spreads_are_kept():
    """From 0.3 to 1.2: the order stays, and most of the factor of 4 (measured: 2.7)."""
    sds = np.mean([each.sds for each in several(sds=UNEQUAL)], axis=0)
    assert np.all(np.diff(sds) > 0)
    assert sds[-1] / sds[0] > 2.5
    assert sds[2:] == pytest.approx(UNEQUAL[2:], rel=0.12)


def test_a_normal_law_is_called_normal():
    """Of 60 tests each with equal and unequal spreads, none is called heavier (measured)."""
    found = [*several(), *several(sds=UNEQUAL)]
    assert sum(each.tail != math.inf for each in found) <= 2


def test_a_heavy_law_is_called_heavy():
    """Student's t of 4: of 60 tests of 64 runs, 59 are given 10 degrees of freedom or fewer (measured)."""
    assert sum(each.tail <= 10 for each in several(tail=4)) >= 55


def test_few_runs_do_not_prove_a_heavy_law():
    """A likelihood ratio of 20 is asked: 16 runs of t(4) show it in 2 of 5, normal ones hardly ever."""
    heavy, normal = several(runs=16, tail=4), several(runs=16)
    assert sum(each.tail <= 10 for each in heavy) >= 15
    assert sum(each.tail != math.inf for each in normal) <= 2
