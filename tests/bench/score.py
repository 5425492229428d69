"""Scores a judge by the definitions of VERDICTS.md, from one row a world. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from bot.verdict.calibrate import ALARMS
from bot.verdict.stats import clopper_pearson

QUIET: Final = 0.005
"""True exceedance that a new bound may have."""
QUIETABLE: Final = 0.003
"""True exceedance at twice the old bound up to which noise can be resolved."""


class Truth(StrEnum):
    """`NOISE`: a bump is right if it is quiet. `WRONG`: any bump is false. `EITHER`: counts neither way."""

    NOISE = "noise"
    WRONG = "wrong"
    EITHER = "either"


@dataclass(frozen=True)
class Row:
    """How one judge ended one world. Bounds in nats; `exceeds_*` is the true exceedance of healthy code."""

    judge: str
    family: str
    truth: Truth
    seed: int
    kind: str
    reason: str
    old: float
    new: float | None
    runs: int
    minutes: float
    exceeds_new: float | None = None
    exceeds_double: float | None = None

    @property
    def bumped(self) -> bool:
        return self.new is not None

    @property
    def quietable(self) -> bool:
        return self.truth is Truth.NOISE and (self.exceeds_double or 0.0) <= QUIETABLE

    @property
    def resolved(self) -> bool:
        return self.new is not None and self.new <= 2 * self.old * (1 + 1e-9)


@dataclass(frozen=True)
class Share:
    hits: int
    n: int

    @classmethod
    def of(cls, hits: Iterable[bool]) -> Share:
        every = list(hits)
        return cls(sum(every), len(every))

    @property
    def rate(self) -> float | None:
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval."""
        return clopper_pearson(self.hits, self.n)


@dataclass(frozen=True)
class Score:
    worlds: int
    false_bumps: Share
    resolved: Share
    quiet: Share
    false_alarms: Share
    median_runs: float
    mean_minutes: float


def score(rows: Sequence[Row]) -> Score:
    """Of at least one row, all of one judge."""
    noise = [row for row in rows if row.truth is Truth.NOISE]
    return Score(
        len(rows),
        Share.of(row.bumped for row in rows if row.truth is Truth.WRONG),
        Share.of(row.resolved for row in rows if row.quietable),
        Share.of((row.exceeds_new or 0.0) <= QUIET for row in noise if row.bumped),
        Share.of(row.kind in ALARMS for row in noise),
        float(np.median([row.runs for row in rows])),
        float(np.mean([row.minutes for row in rows])),
    )


def by_judge(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """In the order the judges first come up."""
    return _grouped(rows, "judge")


def by_family(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Families by name."""
    return dict(sorted(_grouped(rows, "family").items()))


def kinds(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Verdict kinds, commonest first."""
    return Counter(row.kind for row in rows).most_common()


def _grouped(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[getattr(row, name)].append(row)
    return dict(groups)
