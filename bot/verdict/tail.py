"""How often will healthy code exceed a bound? A model on the log scale, with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from bot.verdict.evidence import Floats
from bot.verdict.mixed import Posterior
from bot.verdict.prompts import Prompts

DRAWS: Final = 16_384
DRAWN_VALUES: Final = 130_000
"""Cap on draws x prompts: keeps a decision within milliseconds."""
FEWEST: Final = 20
"""Draws over a bound below which their count is too coarse."""


@dataclass(frozen=True, eq=False)
class Tail:
    """Model of one reading of healthy code.

    `level`: posterior of the mean of log value, or of the mean over prompts of log values where prompts are
    known.
    """

    level: Posterior
    prompts: Prompts | None = None

    @property
    def name(self) -> str:
        return "log-normal" if self.prompts is None else "mean of log-normal prompts"

    def rates(self, log_bounds: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
        """(rate, low, high) of one reading over each bound; a one-sided `confidence` on either side.

        A tolerance bound: on the probit scale the rate moves by the uncertainty of the level, of the spread
        between readings on fresh launches and of the spread of prompts, combined as independent (delta
        method).
        """
        at = np.asarray(log_bounds, dtype=np.float64)
        mean, spread = self.level.mean, math.sqrt(self.level.total_variance(0.5))
        wide = math.sqrt(self.level.total_variance(confidence))
        step = float(ndtri(confidence))
        centre = self._probit(at, mean, spread)
        moves = [
            self._probit(at, mean + step * self.level.sd, spread) - centre,
            self._probit(at, mean, wide) - centre,
        ]
        if self.prompts is not None:
            more = 1 + step / math.sqrt(2 * self.prompts.freedom)
            moves.append(self._probit(at, mean, spread, more) - centre)
        width = np.sqrt(sum((move**2 for move in moves), np.zeros_like(at)))
        return _rate(centre), _rate(centre - width), _rate(centre + width)

    def rate(self, log_bounds: Floats) -> Floats:
        """The plain estimate, without its uncertainty."""
        at = np.asarray(log_bounds, dtype=np.float64)
        spread = math.sqrt(self.level.total_variance(0.5))
        return _rate(self._probit(at, self.level.mean, spread))

    def more_prompts(self, times: int) -> Tail:
        """The same test with `times` as many prompts like these.

        Variance between prompts falls as 1/n, that of launches stays. Where prompts are unknown the whole
        repeat variance is taken to come from them.
        """
        level, prompts = self.level, self.prompts
        own = level.repeat_variance
        if prompts is not None:
            own = np.full(1, float(np.mean(prompts.sds**2)) / len(prompts.sds))
        narrower = np.maximum(level.repeat_variance - own * (1 - 1 / times), 0.02 * level.repeat_variance)
        more = Posterior(level.weights, level.means, level.sds, narrower, level.launch_variance)
        if prompts is not None:
            wider = np.tile(prompts.offsets, times), np.tile(prompts.sds, times)
            prompts = replace(prompts, offsets=wider[0], sds=wider[1])
        return Tail(more, prompts)

    def _probit(self, at: Floats, mean: float, spread: float, wider: float = 1.0) -> Floats:
        """ndtri of the chance to exceed; `wider`: factor on the spread of prompts."""
        if self.prompts is None:
            return np.asarray(-(at - mean) / spread, dtype=np.float64)
        offsets, sds = self.prompts.offsets, self.prompts.sds * wider
        value = _log_means(tuple(offsets.tolist()), tuple(sds.tolist()), spread, self.prompts.tail) + mean
        n = len(value)
        over = n - np.searchsorted(value, at, side="right")
        direct = ndtri(np.clip(over / n, 0.5 / n, 1 - 0.5 / n))
        # Past the 20 highest draws the straight line through the upper tenth goes on.
        edge, end = value[n - FEWEST], float(ndtri(FEWEST / n))
        slope = (end - float(ndtri(0.1))) / max(edge - value[n * 9 // 10], 1e-9)
        return np.asarray(np.where(over >= FEWEST, direct, end + slope * (at - edge)), dtype=np.float64)


def _rate(probit: Floats) -> Floats:
    return np.asarray(ndtr(probit), dtype=np.float64)


@lru_cache(maxsize=4)
def _normals(draws: int, width: int) -> Floats:
    """The same normals each time, so that a decision is a function of its readings."""
    return np.random.default_rng(20).standard_normal((draws, width))


@lru_cache(maxsize=4)
def _chi_squares(draws: int, width: int, freedom: float) -> Floats:
    return np.random.default_rng(21).chisquare(freedom, (draws, width))


@lru_cache(maxsize=16)
def _log_means(offsets: tuple[float, ...], sds: tuple[float, ...], spread: float, tail: float) -> Floats:
    """Draws of log(mean of prompts) with the mean log at 0, ascending."""
    width = len(offsets)
    normals = _normals(min(DRAWS, DRAWN_VALUES // width), width + 1)
    each = np.array(sds) * normals[:, :width]
    if math.isfinite(tail):  # over the root of a chi-square normals are Student's t; scaled to their variance
        each = each * np.sqrt((tail - 2) / _chi_squares(*each.shape, tail))
    # What prompts move the level by belongs to it; the rest of its variance they share.
    shared = max(spread**2 - float(np.sum(np.square(sds))) / width**2, 0.0)
    each = each + math.sqrt(shared) * normals[:, width:]
    return np.asarray(np.sort(np.log(np.exp(each + np.array(offsets)).mean(axis=1))), dtype=np.float64)
