"""What many runs of one KL method say together. Pure: readings in, numbers and text out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

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
