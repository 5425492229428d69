"""How would the judge do on a test like this one? Worlds fitted to its readings, played to the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.verdict.answer import Refusal, VerdictKind, plain
from bot.verdict.fitted import FittedTest
from bot.verdict.policy import Policy
from bot.verdict.proposal import percent
from bot.verdict.simulate import Fault, SimulatedTest, play
from bot.verdict.stats import clopper_pearson

EXCEEDANCE_RUNS: Final = 100_000
"""Runs that measure the true exceedance of a bound: to 0.02 % at 0.5 %."""

SAME: Final = Fault("same code")
FAULTS: Final = (
    Fault("head × 1.25", shift=1.25),
    Fault("head × 1.5", shift=1.5),
    Fault("head × 2", shift=2.0),
    Fault("one prompt × 20 in 20 % of head runs", rate=0.2, factor=20.0),
)
SCENARIOS: Final = (SAME, *FAULTS)
ALARMS: Final = (
    VerdictKind.REGRESSION,
    VerdictKind.DETERMINISTIC,
    VerdictKind.INTERMITTENT,
    VerdictKind.HARDWARE,
)
"""What equal code must not be called."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `n` worlds; `low` and `high` are the exact (Clopper-Pearson) 95 % interval."""

    count: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Played:
    """One world, played to the end."""

    scenario: str
    kind: VerdictKind
    bumped: bool
    runs: int
    minutes: float
    own_red_job: bool
    """Whether the red job is the file's own, since healthy code never went red."""
    exceedance: float
    """True exceedance of the present bound."""
    exceedance_after: float | None
    """True exceedance of the proposed bound; None without one."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the judge answered on simulated runs like those of a file. Levels are nats, costs minutes."""

    test: str
    threshold: float
    readings: int
    """Readings the worlds were fitted to."""
    prompts: int
    level: float
    repeat_sd: float
    launch_sd: float
    hosts: int
    past_runs: int
    worlds: int
    exceedance: float
    """Mean true exceedance of the present bound over the worlds, of one run."""
    target_exceedance: float
    false_alarms: Mapping[str, Share]
    """Of equal code: by kind, and any of them."""
    endings: Mapping[str, Share]
    """Of equal code: 'bump' or the kind without one."""
    loud_bumps: Share
    """Bumps of equal code to a bound exceeded more often than the target."""
    false_bumps: Mapping[str, Share]
    """By planted fault."""
    median_runs: float
    mean_minutes: float
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        alarms, bumps, loud = self.false_alarms["any"], self.endings["bump"], self.loud_bumps
        faulty = [share.count for share in self.false_bumps.values()]
        n = sum(share.n for share in self.false_bumps.values())
        high = percent(clopper_pearson(sum(faulty), n)[1])
        return (
            f"On {self.worlds} simulated runs like this test's, the judge called equal code worse in "
            f"{alarms.count} (at most {percent(alarms.high)}) and moved the bound in {bumps.count} "
            f"({loud.count} to one that over {percent(self.target_exceedance)} of runs exceed); "
            f"with a planted fault it moved the bound in {sum(faulty)} of {n} (at most {high})."
        )

    def as_dict(self) -> dict[str, object]:
        fields = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}
        return {**fields, "sentence": self.sentence}


def play_world(test: FittedTest, policy: Policy, seed: int, job: tuple[int, int]) -> Played | None:
    """World number `job[1]` of scenario `job[0]`, from red job to answer. None where no job is red."""
    scenario, number = job
    fault = SCENARIOS[scenario]
    world = SimulatedTest(test, fault, np.random.default_rng([seed, scenario, number]))
    history, red = world.history(), world.red_job()
    trigger = red if red is not None else list(test.trigger)
    if not trigger:
        return None
    outcome = play(world, [*trigger, *history], policy)
    bump = outcome.verdict.proposal
    return Played(
        fault.name,
        outcome.verdict.kind,
        bump is not None,
        outcome.runs,
        outcome.minutes,
        red is None,
        world.exceedance(test.threshold, EXCEEDANCE_RUNS // 10),
        world.exceedance(bump.threshold, EXCEEDANCE_RUNS) if bump else None,
    )


def calibration(test: FittedTest, policy: Policy, played: Sequence[Played]) -> Calibration | Refusal:
    """What the worlds say together."""
    same = [world for world in played if world.scenario == SAME.name]
    if not same:
        sentence = "Code like this never exceeds the bound and the file holds no red job: nothing to judge."
        return Refusal("never_red", sentence)
    bumped = [w.exceedance_after for w in same if w.exceedance_after is not None]
    ends = Counter("bump" if w.bumped else str(w.kind) for w in same)
    borrowed = sum(world.own_red_job for world in same)
    more = (f"in {borrowed} of {len(same)} worlds equal code never went red: the file's red job stands in",)
    repeat, launch = test.level.variance()
    return Calibration(
        test=test.test,
        threshold=test.threshold,
        readings=test.readings,
        prompts=test.prompts,
        level=math.exp(test.level.mean),
        repeat_sd=math.sqrt(repeat),
        launch_sd=math.sqrt(launch),
        hosts=len(test.hosts),
        past_runs=test.past,
        worlds=len(same),
        exceedance=float(np.mean([world.exceedance for world in same])),
        target_exceedance=policy.target_exceedance,
        false_alarms=_alarms(same),
        endings={"bump": _share(ends.pop("bump", 0), len(same))}
        | {kind: _share(count, len(same)) for kind, count in ends.most_common()},
        loud_bumps=_share(sum(after > policy.target_exceedance for after in bumped), len(bumped)),
        false_bumps={
            fault.name: _share(sum(w.bumped for w in mine), len(mine))
            for fault in FAULTS
            for mine in [[world for world in played if world.scenario == fault.name]]
        },
        median_runs=float(np.median([world.runs for world in same])),
        mean_minutes=float(np.mean([world.minutes for world in same])),
        notes=(*test.notes, *(more if borrowed else ())),
    )


def _share(count: int, n: int) -> Share:
    return Share(count, n, *clopper_pearson(count, n))


def _alarms(same: Sequence[Played]) -> dict[str, Share]:
    counts = {str(kind): sum(world.kind is kind for world in same) for kind in ALARMS}
    return {name: _share(count, len(same)) for name, count in {**counts, "any": sum(counts.values())}.items()}
