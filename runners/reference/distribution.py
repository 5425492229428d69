"""What many runs of one KL method say together. Pure: readings in, numbers and text out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2, norm

from bot.verdict.reading import Reading
from bot.verdict.stats import clopper_pearson

BOUNDS: Final = (0.003, 0.005)
"""Of the first class and of its sibling."""
OUTLIER: Final = 15.0
"""A prompt this many times over the median of all prompts: rarer than one in a thousand healthy runs."""
_QUANTILES: Final = (0.01, 0.05, 0.25, 0.75, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Distribution:
    """`values` [runs] and `prompts` [runs, prompts], KL in nats; `seconds` is the median of one run."""

    values: NDArray[np.float64]
    prompts: NDArray[np.float64]
    seconds: float

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Distribution:
        """Every reading must have a value and the same number of prompts."""
        return cls(
            np.array([reading.value for reading in readings], dtype=np.float64),
            np.array([reading.per_prompt for reading in readings], dtype=np.float64),
            float(np.median([reading.duration_s or 0.0 for reading in readings])),
        )

    @property
    def log_sd(self) -> float:
        return float(np.log(self.values).std(ddof=1)) if len(self.values) > 1 else 0.0

    def exceeded(self, bound: float) -> int:
        return int((self.values > bound).sum())

    def log_normal_exceedance(self, bound: float) -> float:
        """Share over `bound` of the log-normal with these values' log-mean and log-sd."""
        if self.log_sd == 0:
            return float(self.values[0] > bound)
        return float(ndtr((np.log(self.values).mean() - math.log(bound)) / self.log_sd))

    def identical(self) -> float:
        """Share of the runs that gave the most frequent value."""
        return float(np.unique(self.values, return_counts=True)[1].max() / len(self.values))

    def highest_prompts(self) -> NDArray[np.float64]:
        """Each run's highest prompt over the median of all prompts."""
        return np.asarray(self.prompts.max(axis=1) / np.median(self.prompts))

    def table(self) -> str:
        """Lines of a Markdown table body: what | value."""
        return "\n".join(f"| {name} | {text} |" for name, text in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        quantiles = np.quantile(self.values, _QUANTILES)
        logs = np.log(self.prompts)
        spread = float(np.sqrt(logs.var(axis=0, ddof=1).mean())) if len(logs) > 1 else 0.0
        return [
            ("runs", str(len(self.values))),
            ("median, mean", f"{np.median(self.values):.5f}, {self.values.mean():.5f}"),
            ("log-sd", f"{self.log_sd:.3f}"),
            ("lowest, highest", f"{self.values.min():.5f}, {self.values.max():.5f}"),
            *((f"over {bound}", self._exceedance(bound)) for bound in BOUNDS),
            (
                "quantiles " + ", ".join(f"{p:.0%}" for p in _QUANTILES),
                ", ".join(f"{q:.5f}" for q in quantiles),
            ),
            ("log-sd of one prompt", f"{spread:.3f}"),
            ("medians of the prompts", _range(np.median(self.prompts, axis=0))),
            *self._outlier_rows(),
            ("most frequent value", f"{self.identical():.1%} of runs"),
            ("seconds a run", f"{self.seconds:.3f}"),
        ]

    def _exceedance(self, bound: float) -> str:
        n, exceeded = len(self.values), self.exceeded(bound)
        low, high = clopper_pearson(exceeded, n)
        model = self.log_normal_exceedance(bound)
        return f"{exceeded}/{n} = {exceeded / n:.1%} ({low:.1%} to {high:.1%}); log-normal {model:.2g}"

    def _outlier_rows(self) -> list[tuple[str, str]]:
        highest = self.highest_prompts()
        out = highest >= OUTLIER
        rows = [("highest prompt over median prompt", f"× {highest.max():.1f}")]
        rows.append(
            (f"runs with a prompt over × {OUTLIER:.0f}", f"{out.sum()}/{len(out)} = {out.mean():.1%}")
        )
        if out.any():
            low, middle, high = np.quantile(highest[out], (0.1, 0.5, 0.9))
            rows.append(("that prompt, 10 %, 50 %, 90 %", f"× {low:.0f}, {middle:.0f}, {high:.0f}"))
            rows.append(("lowest value of such a run", f"{self.values[out].min():.5f}"))
        return rows


def _range(values: NDArray[np.float64]) -> str:
    return f"{values.min():.5f} to {values.max():.5f}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What DISTRIBUTION.md says of a healthy method on a CPU: median in nats, log-sd, bound."""

    median: float
    log_sd: float
    bound: float


RECORDED: Final = Recorded(median=0.00256, log_sd=0.093, bound=BOUNDS[0])
"""Of the demo's method, 1000 runs."""
_CHANCE: Final = 1e-4
"""How rarely a healthy machine is told that it differs, by each comparison."""


def faults_seen(found: Distribution) -> list[str]:
    """What no healthy machine shows, whatever its level; a sentence each."""
    if not np.isfinite(found.values).all():
        return ["a run gave nan or inf"]
    told = []
    if found.identical() == 1 and len(found.values) > 2:
        told.append("every run gave the same value")
    if found.highest_prompts().max() >= OUTLIER:
        told.append(f"a prompt lies × {found.highest_prompts().max():.0f} over the median prompt")
    return told


def deviations(found: Distribution, recorded: Recorded = RECORDED) -> list[str]:
    """How level and spread of finite runs differ from the recorded ones beyond chance; needs 3 runs."""
    n = len(found.values)
    told = []
    ratio = float(np.exp(np.log(found.values).mean())) / recorded.median
    margin = float(norm.isf(_CHANCE / 2)) * recorded.log_sd / math.sqrt(n)
    if abs(math.log(ratio)) > margin:
        told.append(f"the level is × {ratio:.3g} of the recorded {recorded.median:g} nats")
    spread = found.log_sd / recorded.log_sd
    low, high = (math.sqrt(chi2.ppf(p, n - 1) / (n - 1)) for p in (_CHANCE / 2, 1 - _CHANCE / 2))
    if not low < spread < high:
        told.append(f"the spread (log-sd {found.log_sd:.3f}) is × {spread:.2g} of the recorded one")
    return told
