"""How often will healthy code exceed a bound? A model on the log scale, with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from bot.verdict.evidence import Floats
from bot.verdict.mixed import Posterior

DRAWS: Final = 16_384
DRAWN_VALUES: Final = 130_000
"""Cap on draws x prompts: keeps a decision within milliseconds."""
FEWEST: Final = 20
"""Draws over a bound below which their count is too coarse."""


@dataclass(frozen=True, eq=False)
class Tail:
    """Model of one reading of healthy code.

    `level`: posterior of the mean of log value, or of the mean over prompts of log values where prompts are
    known. Then `offsets` are the prompts' log levels about their mean and `prompt_sd` their common spread.
    """

    level: Posterior
    offsets: Floats | None = None
    prompt_sd: float = 0.0
    prompt_freedom: int = 0

    @property
    def name(self) -> str:
        return "log-normal" if self.offsets is None else "mean of log-normal prompts"

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
        centre = self._probit(at, mean, spread, self.prompt_sd)
        moves = [
            self._probit(at, mean + step * self.level.sd, spread, self.prompt_sd) - centre,
            self._probit(at, mean, wide, self.prompt_sd) - centre,
        ]
        if self.offsets is not None:
            more = self.prompt_sd * (1 + step / math.sqrt(2 * self.prompt_freedom))
            moves.append(self._probit(at, mean, spread, more) - centre)
        width = np.sqrt(sum((move**2 for move in moves), np.zeros_like(at)))
        return _rate(centre), _rate(centre - width), _rate(centre + width)

    def rate(self, log_bounds: Floats) -> Floats:
        """The plain estimate, without its uncertainty."""
        at = np.asarray(log_bounds, dtype=np.float64)
        spread = math.sqrt(self.level.total_variance(0.5))
        return _rate(self._probit(at, self.level.mean, spread, self.prompt_sd))

    def more_prompts(self, times: int) -> Tail:
        """The same test with `times` as many prompts like these.

        Variance between prompts falls as 1/n, that of launches stays. Where prompts are unknown the whole
        repeat variance is taken to come from them.
        """
        level, width = self.level, 1 if self.offsets is None else len(self.offsets)
        own = level.repeat_variance if self.offsets is None else np.full(1, self.prompt_sd**2 / width)
        narrower = np.maximum(level.repeat_variance - own * (1 - 1 / times), 0.02 * level.repeat_variance)
        more = Posterior(level.weights, level.means, level.sds, narrower, level.launch_variance)
        offsets = None if self.offsets is None else np.tile(self.offsets, times)
        return Tail(more, offsets, self.prompt_sd, self.prompt_freedom)

    def _probit(self, at: Floats, mean: float, spread: float, prompt_sd: float) -> Floats:
        """ndtri of the chance to exceed."""
        if self.offsets is None:
            return np.asarray(-(at - mean) / spread, dtype=np.float64)
        value = _log_means(tuple(self.offsets.tolist()), prompt_sd, spread) + mean
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


@lru_cache(maxsize=16)
def _log_means(offsets: tuple[float, ...], prompt_sd: float, spread: float) -> Floats:
    """Draws of log(mean of prompts) with the mean log at 0, ascending."""
    width = len(offsets)
    normals = _normals(min(DRAWS, DRAWN_VALUES // width), width + 1)
    each = prompt_sd * normals[:, :width]
    each = each - each.mean(axis=1, keepdims=True) + spread * normals[:, width:]
    return np.asarray(np.sort(np.log(np.exp(each + np.array(offsets)).mean(axis=1))), dtype=np.float64)
