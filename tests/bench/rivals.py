"""What people do instead, each on the same worlds as the judge: the rivals of VERDICTS.md.

They run all repeats on few launches, as they would. A reviewer passes no more than twice the old bound
(`MOST`), except where the recipe itself is a factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.stats import genpareto, mannwhitneyu

from tests.verdict.world import Floats, World

MOST: Final = 2.0
MANTISSAS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@dataclass
class Bench:
    """Runs one world for one rival and keeps the bill. nan counts as inf: it fails any bound."""

    world: World
    runs: int = 0
    launches: int = 0
    kind: str = field(default="inconclusive")

    def measure(self, arm: str, launches: int, repeats: int) -> Floats:
        """Values of the runs that gave one, nats."""
        values = []
        for _ in range(launches):
            self.launches += 1
            records = self.world.launch(arm, f"{arm}-{self.launches}", repeats, self.runs)
            self.runs += repeats
            values += [record["value"] for record in records if record["status"] == "ok"]
        return np.nan_to_num(np.array(values, dtype=np.float64), nan=math.inf, posinf=math.inf)


Rival = Callable[[Bench], float | None]
"""Plays one world and returns the bound it would move to, or None."""


def next_step(above: float) -> float | None:
    """Smallest round number over `above`; None where there is none."""
    if not 0 < above < math.inf:
        return None
    power = math.floor(math.log10(above))
    steps = (float(f"{m}e{power + k}") for k in (0, 1) for m in MANTISSAS)
    return next(step for step in steps if step > above)


def at_most_twice(world: World, new: float | None) -> float | None:
    return new if new is not None and new <= MOST * world.threshold else None


def _never_exceeded(world: World, values: Floats) -> float | None:
    """The next step that no run exceeded; None where no run exceeded the old bound."""
    if not np.any(values > world.threshold):
        return None
    return at_most_twice(world, next_step(float(values.max())))


def hundred_runs(bench: Bench) -> float | None:
    """The seed's protocol: 100 runs of head on one server."""
    return _never_exceeded(bench.world, bench.measure("head", 1, 100))


def retry_once(bench: Bench) -> float | None:
    """One run of head; if it passes, the red job was noise, and the bound goes over what it showed."""
    value = bench.measure("head", 1, 1)
    if not np.all(value <= bench.world.threshold) or not value.size:
        return None
    red = [record["value"] for record in bench.world.red_job or []]
    return next_step(max(red))


def worst_of_five(bench: Bench) -> float | None:
    """1.25 x the worst of five jobs of head."""
    values = bench.measure("head", 5, 1)
    new = 1.25 * float(values.max(initial=0.0))
    return new if bench.world.threshold < new < math.inf else None


def flex(bench: Bench, first: int = 50, more: int = 25, most: int = 150) -> float | None:
    """Peaks over a threshold (Dutta et al. 2021): more runs until the 99.5 % point of the tail settles."""
    values = bench.measure("head", 1, first)
    new = tail_point(values)
    before = tail_point(values[: int(len(values) * 0.8)])
    while new is not None and before is not None and abs(new / before - 1) > 0.1 and bench.runs < most:
        values = np.append(values, bench.measure("head", 1, more))
        before, new = new, tail_point(values)
    return at_most_twice(bench.world, new) if new is not None and new > bench.world.threshold else None


def tail_point(values: Floats, rate: float = 0.005, peaks: float = 0.2) -> float | None:
    """Value exceeded in `rate` of runs by a generalised Pareto fit to the highest fifth (Pickands 1975)."""
    if len(values) < 20 or not np.all(np.isfinite(values)) or np.ptp(values) == 0:
        return None
    start = float(np.quantile(values, 1 - peaks))
    excess = values[values > start] - start
    if len(excess) < 3:
        return None
    scale = float(excess.mean())
    shape, _, size = genpareto.fit(excess / scale, floc=0)
    return start + scale * float(genpareto.isf(rate / peaks, shape, 0, size))


def rank_test(bench: Bench, alpha: float = 0.05) -> float | None:
    """10 runs of head against 10 of base; where they do not differ, head goes on to 100."""
    head, base = bench.measure("head", 1, 10), bench.measure("base", 1, 10)
    if not head.size or not base.size:
        return None
    if mannwhitneyu(head, base, alternative="greater").pvalue < alpha:
        bench.kind = "regression"
        return None
    return _never_exceeded(bench.world, np.append(head, bench.measure("head", 1, 90)))


RIVALS: Final[dict[str, Rival]] = {
    "100 runs of head, next step": hundred_runs,
    "retry once, bump if it passes": retry_once,
    "worst of 5 × 1.25": worst_of_five,
    "FLEX, 50+ runs": flex,
    "10 v 10 rank test, then 100": rank_test,
}
