"""A mixed model on the log scale: repeats within launches within arms, hosts as shrunken effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bot.verdict.evidence import Floats, Ints
from bot.verdict.stats import mixture_quantile, weighted_quantile


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mixture over a grid of (repeat sd, launch sd): one coefficient as normals, and the variances."""

    weights: Floats
    means: Floats
    sds: Floats
    repeat_variance: Floats
    launch_variance: Floats

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def sd(self) -> float:
        spread = self.weights @ (self.sds**2 + (self.means - self.mean) ** 2)
        return math.sqrt(float(spread))

    def quantile(self, p: float) -> float:
        return mixture_quantile(p, self.weights, self.means, self.sds)

    def variance(self) -> tuple[float, float]:
        """Mean repeat and launch variance."""
        return float(self.weights @ self.repeat_variance), float(self.weights @ self.launch_variance)

    def total_variance(self, p: float) -> float:
        """Quantile of the variance of one reading on a fresh launch."""
        return weighted_quantile(p, self.weights, self.repeat_variance + self.launch_variance)


@dataclass(frozen=True, eq=False)
class Column:
    """One effect: `values` per reading (one a launch); `sd` of its normal prior, None for flat."""

    values: Floats
    sd: float | None = None


def fit(logs: Floats, launches: Ints, columns: Sequence[Column], wanted: int, launch_sd: float) -> Posterior:
    """Posterior of the coefficient of column `wanted`.

    y = X b + u(launch) + e, u ~ N(0, launch variance), e ~ N(0, repeat variance), with both variances
    integrated out on a grid: flat in log(repeat sd), half-normal(`launch_sd`) for the launch sd (Gelman
    2006).
    With few launches the prior is all that is known of them, and the interval is as wide as it says; repeats
    never count as if independent. `launches` numbers launches over all arms. Needs two readings.
    """
    x = np.column_stack([column.values for column in columns])
    count = np.bincount(launches).astype(np.float64)
    y = np.bincount(launches, logs) / count
    design = np.column_stack([np.bincount(launches, x[:, j]) / count for j in range(x.shape[1])])
    within = float(np.sum((logs - y[launches]) ** 2))
    repeat, launch = _grid(logs, x, len(count), within, launch_sd)
    prior = np.diag([0.0 if c.sd is None else 1 / c.sd**2 for c in columns])

    variance = launch[:, None] ** 2 + repeat[:, None] ** 2 / count
    weight = 1 / variance
    normal = np.einsum("gl,li,lj->gij", weight, design, design, optimize=True) + prior
    right = (weight * y) @ design
    inverse = np.linalg.inv(normal)
    coefficients = np.einsum("gij,gj->gi", inverse, right)
    misfit = weight @ y**2 - np.sum(right * coefficients, axis=1)
    log_weight = (
        -0.5 * np.sum(np.log(variance), axis=1)
        - 0.5 * np.linalg.slogdet(normal)[1]
        - 0.5 * misfit
        - (len(logs) - len(count)) * np.log(repeat)
        - within / (2 * repeat**2)
        - launch**2 / (2 * launch_sd**2)
    )
    weights = np.exp(log_weight - log_weight.max())
    sds = np.sqrt(inverse[:, wanted, wanted])
    return Posterior(weights / weights.sum(), coefficients[:, wanted], sds, repeat**2, launch**2)


def _grid(logs: Floats, x: Floats, launches: int, within: float, launch_sd: float) -> tuple[Floats, Floats]:
    """Repeat sd (log-spaced round its estimate) x launch sd (even steps to 4 prior scales)."""
    freedom = len(logs) - launches
    if freedom >= 4:
        start, reach = math.sqrt(within / freedom), min(1.5, 4.5 / math.sqrt(2 * freedom))
        low = -reach
    else:  # hardly any repeats: what is not launch variance is known from the total only
        residual = logs - x @ np.linalg.lstsq(x, logs, rcond=None)[0]
        freedom = max(1, len(logs) - x.shape[1])
        start = math.sqrt(float(residual @ residual) / freedom)
        reach, low = min(2.0, 4.5 / math.sqrt(2 * freedom)), -2.0
    repeat = max(start, 1e-6) * np.exp(np.linspace(low, reach, 15))
    launch = np.linspace(0.0, 4 * launch_sd, 13)
    grid = np.meshgrid(repeat, launch, indexing="ij")
    return grid[0].ravel(), grid[1].ravel()
