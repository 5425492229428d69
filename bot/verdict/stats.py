"""Closed forms: exact intervals for rates, error spending over looks, a step in a series, quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, gammaln, ndtr, ndtri, stdtr

from bot.verdict.evidence import Floats


def clopper_pearson(exceeded: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval for a rate (Clopper and Pearson 1934): beta quantiles. n = 0 gives (0, 1)."""
    if n == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = 0.0 if exceeded == 0 else float(betaincinv(exceeded, n - exceeded + 1, tail))
    high = 1.0 if exceeded == n else float(betaincinv(exceeded + 1, n - exceeded, 1 - tail))
    return low, high


def upper_limit(exceeded: int, n: int, confidence: float = 0.95) -> float:
    """Exact one-sided upper limit of a rate; 0 of n gives 1 - (1 - confidence)^(1/n)."""
    return 1.0 if exceeded >= n else float(betaincinv(exceeded + 1, n - exceeded, confidence))


def lower_limit(exceeded: int, n: int, confidence: float = 0.95) -> float:
    """Exact one-sided lower limit of a rate."""
    return 0.0 if exceeded <= 0 else float(betaincinv(exceeded, n - exceeded + 1, 1 - confidence))


def alpha_at_look(alpha: float, look: int, shares: tuple[float, ...]) -> float:
    """What a pre-declared look (from 1) may spend: its share, past the last that of the last.

    A group-sequential rule (error spending, Kim and DeMets 1987) with each increment used on its own: by the
    union bound the total error is at most `alpha`, whatever the dependence between looks.
    """
    return alpha * shares[min(look, len(shares)) - 1]


def look_number(launches: int, per_look: int, looks: int) -> int:
    """Look that a number of collected launches stands for, 1 to `looks`; the same readings, the same look."""
    return max(1, min(looks, math.ceil(launches / per_look)))


def normal_quantile(p: float) -> float:
    return float(ndtri(p))


def mixture_quantile(p: float, weights: Floats, means: Floats, sds: Floats) -> float:
    """Quantile of a mixture of normals by bisection."""
    low, high = float(np.min(means - 9 * sds)), float(np.max(means + 9 * sds))
    for _ in range(60):
        middle = (low + high) / 2
        if float(weights @ ndtr((middle - means) / sds)) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def weighted_quantile(p: float, weights: Floats, values: Floats) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][min(int(np.searchsorted(total, p * total[-1])), len(values) - 1)])


@dataclass(frozen=True, slots=True)
class Step:
    """The likeliest step of a series: `at` is the first index after it, `ratio` after over before."""

    at: int
    ratio: float
    p: float
    """One-sided for a rise, times the number of places looked at (Bonferroni)."""


def find_step(logs: Floats, smallest: int) -> Step | None:
    """Largest pooled t over all splits with `smallest` values on each side; None where there are too few."""
    n = len(logs)
    if n < 2 * smallest:
        return None
    splits = np.arange(smallest, n - smallest + 1)
    sums, squares = np.cumsum(logs), np.cumsum(logs**2)
    before, after = sums[splits - 1] / splits, (sums[-1] - sums[splits - 1]) / (n - splits)
    within = squares[-1] - splits * before**2 - (n - splits) * after**2
    spread = np.sqrt(np.maximum(within, 1e-18) / (n - 2))
    t = (after - before) / (spread * np.sqrt(1 / splits + 1 / (n - splits)))
    best = int(np.argmax(t))
    p = min(1.0, float(stdtr(n - 2, -t[best])) * len(splits))
    return Step(int(splits[best]), math.exp(float(after[best] - before[best])), p)


def mean_excess_rate(logs: Floats, at: float) -> float | None:
    """Chance to exceed `at` by a peaks-over-threshold fit to the highest tenth; None under 40 values.

    Exponential excesses on the log scale: a generalised Pareto law of shape 0 (Pickands 1975).
    """
    n = len(logs)
    if n < 40:
        return None
    k = max(8, n // 10)
    ordered = np.sort(logs)
    start = float(ordered[-k - 1])
    scale = float(np.mean(ordered[-k:] - start))
    return k / n * math.exp(-max(0.0, at - start) / scale) if scale > 0 else 0.0


def log_t(z: Floats, freedom: float) -> Floats:
    """Log density of Student's t."""
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return np.asarray(constant - (freedom + 1) / 2 * np.log1p(z**2 / freedom), dtype=np.float64)
