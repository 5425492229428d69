"""The loop that runs what the judge asks for, and a simulated test that was fitted to readings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from bot.verdict.answer import Verdict
from bot.verdict.evidence import Context, Evidence, Floats, Ints
from bot.verdict.fitted import FittedTest
from bot.verdict.ladder import decide
from bot.verdict.policy import Policy
from bot.verdict.reading import Arm, Reading, Status

JOBS: Final = (200, 2_000, 10_000, 10_000)
"""Jobs drawn one batch after another until one goes red."""
DRAWN_VALUES: Final = 1_000_000
"""Values held at once."""
UNKNOWN_PROMPTS: Final = 9
"""Prompts behind a mean where a file lists none: what a fault in one of them does to the mean."""
CHANGED: Final = (Arm.HEAD, Arm.TRIGGER)

Record = Mapping[str, object] | Reading


class Simulator(Protocol):
    """A test that can be run as often as the judge asks."""

    def launch(self, arm: Arm, repeats: int) -> Sequence[Record]:
        """Readings of `repeats` runs on one fresh server."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a story ended, and what its reruns cost."""

    verdict: Verdict
    rounds: int
    runs: int
    launches: int
    minutes: float


def play(
    simulator: Simulator,
    records: Sequence[Record],
    policy: Policy | None = None,
    context: Context | None = None,
    most: int = 12,
) -> Outcome:
    """Decide, run what `next` asks, decide again. After `most` rounds the verdict still asks."""
    policy = policy or Policy()
    seen, launches, rounds = list(records), 0, 0
    while True:
        verdict = decide(Evidence.from_records(seen, context=context), policy)
        if verdict.next is None or rounds == most:
            runs = len(seen) - len(records)
            minutes = launches * policy.launch_minutes + runs * policy.repeat_minutes
            return Outcome(verdict, rounds, runs, launches, minutes)
        rounds += 1
        for arm, plan in verdict.next.arms.items():
            launches += plan.launches
            for _ in range(plan.launches):
                seen += simulator.launch(Arm(arm), plan.repeats)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with head and the red job: the level times `shift`, and in a share `rate` of runs one
    prompt times `factor`."""

    name: str
    shift: float = 1.0
    rate: float = 0.0
    factor: float = 1.0


class SimulatedTest:
    """One world: what the fit leaves open is drawn once, then readings at will. A `Simulator`."""

    def __init__(self, test: FittedTest, fault: Fault, rng: np.random.Generator) -> None:
        self._test, self._fault, self._rng = test, fault, rng
        level = test.level
        at = int(rng.choice(len(level.weights), p=level.weights))
        self._level = rng.normal(level.means[at], level.sds[at])
        self._launch_sd = math.sqrt(level.launch_variance[at])
        repeat = float(level.repeat_variance[at])
        if test.offsets is None or test.prompt_sds is None:
            self._offsets, self._sds, self._run_sd = np.zeros(1), np.array([math.sqrt(repeat)]), 0.0
        else:  # what the prompts' own spread does not explain, they share
            self._offsets, self._sds = test.offsets, test.prompt_sds
            own = float(np.sum(self._sds**2)) / len(self._sds) ** 2
            self._run_sd = math.sqrt(max(repeat - own, 0.0))
        self._hosts = np.array([rng.normal(host.mean, host.sd) for host in test.hosts])
        self._shares = np.array([host.share for host in test.hosts])
        self._prompt = int(rng.integers(len(self._offsets)))
        self._launches = self._seq = 0

    def launch(self, arm: Arm, repeats: int) -> list[Reading]:
        values, hosts = self._draw(1, repeats, arm in CHANGED)
        return self._readings(arm, values[0], int(hosts[0]))

    def history(self) -> list[Reading]:
        """The past runs, one a launch, oldest first."""
        values, hosts = self._draw(self._test.past, 1, False)
        runs = zip(values, hosts.tolist(), strict=True)
        return [r for value, host in runs for r in self._readings(Arm.HISTORY, value, host)]

    def red_job(self) -> list[Reading] | None:
        """Two tries on one server, both over the bound; None where none of many jobs is such."""
        for jobs in JOBS:
            jobs = max(1, min(jobs, DRAWN_VALUES // (2 * len(self._offsets))))
            values, hosts = self._draw(jobs, 2, True)
            red = np.flatnonzero(np.all(values.mean(axis=2) > self._test.threshold, axis=1))
            if red.size:
                return self._readings(Arm.TRIGGER, values[red[0]], int(hosts[red[0]]))
        return None

    def exceedance(self, bound: float, runs: int) -> float:
        """Share of `runs` of healthy code over `bound`, each on a fresh launch."""
        batch = max(1, DRAWN_VALUES // len(self._offsets))
        over = 0
        for start in range(0, runs, batch):
            values, _ = self._draw(min(batch, runs - start), 1, False)
            over += int(np.sum(values.mean(axis=2) > bound))
        return over / runs

    def _draw(self, launches: int, repeats: int, changed: bool) -> tuple[Floats, Ints]:
        """Launches x repeats x prompts (one 'prompt' where they are unknown), nats; and hosts."""
        rng, fault = self._rng, self._fault
        hosts = rng.choice(len(self._hosts), size=launches, p=self._shares)
        effect = self._level + self._hosts[hosts] + rng.normal(0, self._launch_sd, launches)
        run = effect[:, None] + rng.normal(0, self._run_sd, (launches, repeats))
        residual = self._residuals((launches, repeats, len(self._offsets)))
        values = np.exp(run[:, :, None] + self._offsets + self._sds * residual)
        if changed:
            values *= fault.shift
            factor = fault.factor
            if self._test.offsets is None:
                factor = 1 + (fault.factor - 1) / UNKNOWN_PROMPTS
            hit = rng.random((launches, repeats)) < fault.rate
            values[hit, self._prompt] *= factor
        return values, hosts

    def _residuals(self, size: tuple[int, ...]) -> Floats:
        """A smoothed bootstrap (Silverman and Young 1987), so narrow that it only breaks ties."""
        pool = self._test.residuals
        width = 0.5 * len(pool) ** -0.2
        drawn = pool[self._rng.integers(len(pool), size=size)] + width * self._rng.standard_normal(size)
        return np.asarray(drawn / math.sqrt(1 + width**2), dtype=np.float64)

    def _readings(self, arm: Arm, values: Floats, host: int) -> list[Reading]:
        self._launches += 1
        readings = []
        for repeat, each in enumerate(values):
            self._seq += 1
            readings.append(
                Reading(
                    arm,
                    self._test.test,
                    Status.OK,
                    float(each.mean()),
                    tuple(each.tolist()) if arm in self._test.listed else (),
                    self._test.threshold,
                    commit=f"{self._seq:040d}" if arm is Arm.HISTORY else None,
                    launch=f"{arm}-{self._launches}",
                    repeat=repeat,
                    seq=self._seq,
                    host=self._test.hosts[host].name,
                    gpu=self._test.gpu,
                    attempt=repeat + 1 if arm is Arm.TRIGGER else None,
                )
            )
        return readings
