"""Is there a fault that hits single prompts in some runs? Odds for it over none, from all readings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, stdtr

from bot.verdict.evidence import Floats, Ints
from bot.verdict.stats import log_t

SHARES: Final = np.array([0.07, 0.15, 0.25, 0.36])
"""Share of runs with the fault: the published ones lie between 1.4 % and a half."""
FACTORS: Final = np.array([8.0, 13.0, 22.0, 40.0, 75.0, 140.0])
"""A prompt under a fault over the same prompt without: the published signature is x 60 - 170. Under x 8 one
prompt of nine moves their mean by less than x 1.8, and cannot be told from the tail."""
WHOLE_FACTORS: Final = np.array([3.0, 6.0, 12.0, 30.0, 100.0, 1e3, 1e5])
"""The same where only the mean of the prompts is known; factors under 3 are a matter of the tail."""
RUN_FACTORS: Final = np.array([1.6, 2.0, 3.0, 6.0, 12.0, 30.0, 100.0])
"""A whole run over a usual one, where prompts are known: what all of them share is wrong in some runs."""
TAILS: Final = (5.0, 10.0, 25.0, 100.0)
"""Degrees of freedom the healthy law may have (excess kurtosis 6, 1, 0.3 and 0.1): which, the readings say.
A fault lifts values only, so the lower tail and the shoulders tell a heavy law from a fault."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Readings by prompt, R x P in nats (P = 1: only the mean is known), and the group of each row."""

    values: Floats
    head: NDArray[np.bool_]
    trigger: NDArray[np.bool_]
    launches: Ints

    @property
    def reference(self) -> NDArray[np.bool_]:
        """The trigger was selected for being high: it is no reference."""
        return ~self.trigger


@dataclass(frozen=True, eq=False)
class FaultEvidence:
    """`log_odds`: natural log of the Bayes factor. `z`: R x P, in robust sd of the reference."""

    log_odds: float
    values: Floats
    z: Floats
    reference: Floats
    """Usual value of each prompt, nats (R x P)."""
    sd: Floats
    """Robust sd of each prompt, natural logarithms."""
    largest: float
    """Chance that the largest of as many healthy values lies as far out, by the likeliest healthy law."""
    suspects: tuple[tuple[int, int], ...]
    """(row, prompt) far outside, worst first."""


def judge_faults(
    runs: Runs, log_bound: float, healthy_exceedance: float, factors: Floats | None = None
) -> FaultEvidence:
    """Bayes factor, averaged over the share of runs hit, the factor, one or any prompt, new or old code.

    A run without the fault has Student-t residuals around its prompts' own reference, with as heavy a
    tail as the readings show (`TAILS`); with it one prompt is lifted. The trigger is known only because it
    exceeded, so its likelihood is divided by the chance to exceed under each hypothesis. Under no fault
    such a factor reaches odds k with chance <= 1/k at any number of looks (Ville 1939; here up to the error
    of the plugged-in references).
    """
    y = np.log(np.clip(runs.values, math.exp(log_bound) * 1e-6, math.exp(log_bound) * 1e6))
    width = y.shape[1]
    centre = _centres(y, runs)
    residual = y - centre
    if width > 1:  # a launch (or a change of code) moves all prompts alike: no fault of a single one
        residual = residual - _launch_effects(residual, runs.launches)
    laws = [_law(tail, *_clipped_squares(residual[runs.reference])) for tail in TAILS]
    null = np.array([float(law.log(residual).sum()) for law in laws])
    if factors is None:
        factors = FACTORS if width > 1 else WHOLE_FACTORS
    ratios = [law.log(residual - np.log(factors)[:, None, None]) - law.log(residual) for law in laws]

    lifted = runs.values[runs.reference] * (factors[:, None, None] - 1) / width
    exceeds = (runs.values[runs.reference].mean(axis=1)[:, None] + lifted) > math.exp(log_bound)
    exceeds_hit = np.clip(exceeds.mean(axis=1), healthy_exceedance, 1.0)  # F x P
    odds = np.array([_odds(ratio, exceeds_hit, runs, healthy_exceedance) for ratio in ratios])
    likeliest = int(np.argmax(null + odds))
    sd = laws[-1].sd
    z = residual / sd
    strong = _log_mean(ratios[likeliest], 0) > math.log(100.0)
    far = np.argwhere((z > 3.5) & (residual > math.log(min(3.0, float(factors[0])))) & strong)
    suspects = sorted(((int(r), int(p)) for r, p in far), key=lambda rp: (-z[rp], rp))
    total = float(logsumexp(null + odds) - logsumexp(null))
    law = laws[int(np.argmax(null))]
    tested = residual[runs.reference]
    largest = tested.size * float(stdtr(law.tail, -float(np.max(tested / law.sd))))
    return FaultEvidence(total, runs.values, z, np.exp(centre), sd, largest, tuple(suspects))


@dataclass(frozen=True, slots=True)
class _Law:
    """Student's t on the log scale, with a scale for each prompt."""

    tail: float
    sd: Floats

    def log(self, residual: Floats) -> Floats:
        return np.asarray(log_t(residual / self.sd, self.tail) - np.log(self.sd), dtype=np.float64)


def _odds(log_ratio: Floats, exceeds_hit: Floats, runs: Runs, healthy: float) -> float:
    """The fault may hit any prompt, or always the same."""
    anywhere = _log_mean(log_ratio, 2)[:, :, None]
    odds = [
        _log_odds(anywhere, exceeds_hit.mean(axis=1, keepdims=True), runs, healthy),
        _log_odds(log_ratio, exceeds_hit, runs, healthy),
    ]
    return float(logsumexp(odds) - math.log(2))


def _centres(y: Floats, runs: Runs) -> Floats:
    """Reference of each reading: medians of its prompt; where only means are known, of its own arm."""
    if y.shape[1] > 1 or not np.any(runs.head & runs.reference):
        return np.broadcast_to(_centre(y[runs.reference]), y.shape)
    centre = np.empty_like(y)
    for mask in (runs.head | runs.trigger, ~(runs.head | runs.trigger)):
        if np.any(mask):
            centre[mask] = _centre(y[mask & runs.reference])
    return centre


def _centre(y: Floats) -> Floats:
    """Of each column: its median, moved by the mean of what lies about it, clipped at 2 sd (one step to
    Huber's estimate, 1964): as steady as a mean where there is no fault, little moved by one."""
    median = np.median(y, axis=0)
    k = 3.0 * np.median(np.abs(y - median))
    return np.asarray(median + np.clip(y - median, -k, k).mean(axis=0), dtype=np.float64)


def _clipped_squares(reference: Floats) -> tuple[Floats, float]:
    """Mean square of each prompt's residuals, clipped at the returned `k`, drawn towards the common one.

    Clipping at three times the median absolute residual (2 sd) keeps most of what a variance knows and little
    of a fault. The log of such a mean of n has variance 2.5 / n; what the prompts differ beyond that is their
    own. The factor 1 + 1 / n is for the centres that residuals are about.
    """
    n, width = reference.shape[0], reference.shape[1]
    k = max(3.0 * float(np.median(np.abs(reference))), 1e-12)
    squares = np.minimum(np.abs(reference), k) ** 2
    each, common = squares.mean(axis=0), max(float(squares.mean()), 1e-24)
    logs = np.log(np.maximum(each / common, 1e-3))
    error = 2.5 / n
    between = max(0.0, float(np.var(logs)) * width / (width - 1) - error) if width > 1 else 0.0
    own = between / (between + error)
    return np.asarray(common * np.exp(own * logs) * (1 + 1 / n), dtype=np.float64), k


@lru_cache(maxsize=8)
def _clipped_share(tail: float) -> tuple[Floats, Floats]:
    """E min(|t|, u)^2 / u^2 of Student's t, falling in u: (values, u)."""
    u = np.linspace(0.0, 30.0, 3001)
    density = np.exp(log_t(u, tail))
    inner = np.concatenate([[0.0], np.cumsum((u[1:] ** 2 * density[1:] + u[:-1] ** 2 * density[:-1]) * 0.01)])
    share = (inner[1:] + 2 * u[1:] ** 2 * stdtr(tail, -u[1:])) / u[1:] ** 2
    return np.asarray(share[::-1]), np.asarray(u[:0:-1])


def _law(tail: float, squares: Floats, k: float) -> _Law:
    """The law whose clipped mean squares are these."""
    share, u = _clipped_share(tail)
    return _Law(tail, np.maximum(k / np.interp(squares / k**2, share, u), 0.02))


def _launch_effects(residual: Floats, launches: Ints) -> Floats:
    """What moves all prompts of a launch alike (R x 1): medians over its prompts and repeats, shrunk by what
    they scatter beyond their own error, 1.57 sd^2 / n (empirical Bayes)."""
    names, at = np.unique(launches, return_inverse=True)
    medians = np.array([float(np.median(residual[at == i])) for i in range(len(names))])
    n = np.bincount(at) * residual.shape[1]
    error = 1.57 * (1.4826 * float(np.median(np.abs(residual)))) ** 2 / n + 1e-18
    between = max(0.0, float(np.sum((medians**2 - error) / error**2) / np.sum(1 / error**2)))
    return np.asarray((medians * between / (between + error))[at][:, None], dtype=np.float64)


def _log_odds(log_ratio: Floats, exceeds: Floats, runs: Runs, healthy: float) -> float:
    """Log of the mean over factor, share, prompt and new-or-old of the product over readings."""
    share = SHARES[:, None, None, None]
    terms = np.log1p(share * np.expm1(np.minimum(log_ratio, 600.0))[None])  # S x F x R x P, 600: no overflow
    chance = (1 - SHARES[:, None, None]) * healthy + SHARES[:, None, None] * exceeds[None]
    selected = math.log(healthy) - np.log(chance)  # S x F x P
    trigger = terms[:, :, runs.trigger].sum(axis=2) + runs.trigger.sum() * selected
    new = terms[:, :, runs.head].sum(axis=2) + trigger
    old = terms[:, :, ~runs.trigger].sum(axis=2) + trigger
    both = np.concatenate([new.ravel(), old.ravel()])
    return float(logsumexp(both) - math.log(both.size))


def _log_mean(values: Floats, axis: int) -> Floats:
    top = values.max(axis=axis, keepdims=True)
    mean = np.log(np.exp(values - top).mean(axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(mean, axis=axis), dtype=np.float64)
