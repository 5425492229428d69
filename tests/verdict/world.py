"""A simulated test with a known truth: its code on every arm, and the machines it runs on."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bot.verdict import Status

TEST = "test/kl/test_cache.py::TestCache.test_match"
NEW = ("trigger", "head")
OLD = (*NEW, "base", "history")
LOST = tuple(str(status) for status in Status if status is not Status.OK)

Floats = NDArray[np.float64]


@dataclass
class World:
    """`truth`: noise, or what is wrong: shift, fault, old_fault, step, frozen, hardware, exact, non_finite,
    drift, mode, old_mode; rare is noise too rare for a bump to matter. sd are of natural logarithms.
    The bound is set on the healthy code, which exceeds it in `exceedance` of runs.
    """

    truth: str
    family: str = ""
    seed: int = 0
    bound: float = 0.003
    siblings: tuple[float, ...] = ()
    exceedance: float = 0.05
    past: int = 0
    # Healthy code and machines.
    prompts: int = 9
    prompt_sd: float | tuple[float, float] = 0.6  # a range: each prompt has its own
    tail: float | None = None  # degrees of freedom of Student-t residuals, scaled to unit variance
    launch_sd: float = 0.0
    host_sd: float = 0.0
    hosts: int = 1
    hosts_in_turn: bool = False  # each launch on the next host, not on any
    # What is wrong, and on which arms.
    arms: tuple[str, ...] = NEW
    shift: float = 1.0
    fault_rate: float = 0.0
    fault_factor: float = 1.0
    same_prompt: bool = True
    run_rate: float = 0.0  # whole runs, not single prompts
    run_factor: float = 1.0
    frozen_at: float | None = None  # one value for ever, as a multiple of the bound
    non_finite_rate: float = 0.0
    gate: float | None = None  # the asserted bound of a bit-exact test; base and history give 0
    # What is wrong on all arms, or with machines.
    step: float = 1.0
    step_at: float = 0.6  # share of the past runs that lie before it
    drift: float = 1.0  # last past run over the first
    bad_host: float = 1.0
    gpus: tuple[tuple[str, float], ...] = (("gpu-x", 1.0),)  # type and factor; the first runs all but history
    # What is missing.
    lost_rate: float = 0.0
    lost_launches: bool = False  # whole server starts are lost, not single runs
    listed: float = 1.0  # share of readings that come with per-prompt values
    narrow: tuple[str, ...] = ()  # arms whose file has one prompt fewer
    named_hosts: bool = True
    rng: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.family = self.family or (f"shift × {self.shift:g}" if self.truth == "shift" else self.truth)
        self.rng, self.turn = np.random.default_rng(self.seed), 0
        self.offsets = self.rng.normal(0, 0.4, self.prompts)
        spread = self.prompt_sd if isinstance(self.prompt_sd, tuple) else (self.prompt_sd, self.prompt_sd)
        self.sds = self.rng.uniform(*spread, self.prompts)
        self.host_effects = self.rng.normal(0, self.host_sd, self.hosts)
        self.fault_prompt = int(self.rng.integers(self.prompts))
        self.plain = np.sort(np.concatenate([self._plain(10_000, 1).mean(axis=2).ravel() for _ in range(10)]))
        self.level = math.log(self.bound / float(np.quantile(self.plain, 1 - self.exceedance)))

    @property
    def threshold(self) -> float:
        return self.bound if self.gate is None else self.gate

    def twin(self) -> World:
        """The same world, red job and history, with luck of its own from here: one for each judge."""
        other = copy.copy(self)
        other.rng = copy.deepcopy(self.rng)
        return other

    def exceeds(self, at: float) -> float:
        """True exceedance of healthy code at another bound, from 100,000 runs."""
        below = np.searchsorted(self.plain, at / math.exp(self.level), side="right")
        return 1 - float(below) / len(self.plain)

    def _plain(self, launches: int, repeats: int, hosts: NDArray[np.int64] | None = None) -> Floats:
        """Healthy code before the bound is set: launches x repeats x prompts."""
        if hosts is None:
            hosts = self._hosts(launches)
        size = (launches, repeats, self.prompts)
        if self.tail is None:
            residual = self.rng.standard_normal(size)
        else:
            residual = self.rng.standard_t(self.tail, size) * math.sqrt((self.tail - 2) / self.tail)
        launch = self.rng.normal(0, self.launch_sd, launches) + self.host_effects[hosts]
        return np.exp(self.offsets + launch[:, None, None] + self.sds * residual)

    def _hosts(self, launches: int) -> NDArray[np.int64]:
        if self.hosts_in_turn:
            self.turn += launches
            return np.arange(self.turn - launches, self.turn) % self.hosts
        return self.rng.integers(self.hosts, size=launches)

    def draw(self, arm: str, launches: int, repeats: int, hosts: NDArray[np.int64], when: float) -> Floats:
        """What the code of this arm gives: launches x repeats x prompts, nats.

        `when` counts from the first past run (0) to today (1).
        """
        today = self.level + math.log(self.drift) * when
        if when >= self.step_at:
            today += math.log(self.step)
        effect = today + np.where(hosts == 0, math.log(self.bad_host), 0.0)
        values = self._plain(launches, repeats, hosts) * np.exp(effect)[:, None, None]
        if arm in self.arms:
            self._spoil(values)
        if self.gate is not None and arm not in self.arms:
            values[:] = 0.0
        return values[:, :, :-1] if arm in self.narrow else values

    def _spoil(self, values: Floats) -> None:
        values *= self.shift
        size = values.shape[:2]
        where = np.full(size, self.fault_prompt)
        if not self.same_prompt:
            where = self.rng.integers(self.prompts, size=size)
        hit = self.rng.random(size) < self.fault_rate
        values[(*np.nonzero(hit), where[hit])] *= self.fault_factor
        values[self.rng.random(size) < self.run_rate] *= self.run_factor
        if self.frozen_at is not None:
            shape = np.exp(self.offsets)
            values[:] = shape / shape.mean() * self.bound * self.frozen_at
        hit = self.rng.random(size) < self.non_finite_rate
        values[(*np.nonzero(hit), where[hit])] = self.rng.choice([math.nan, math.inf], size=int(hit.sum()))

    def launch(self, arm: str, name: str, repeats: int, first: int, when: float = 1.0) -> list[dict]:
        """Records of `repeats` runs on one fresh server."""
        hosts = self._hosts(1)
        gpu, factor = self.gpus[int(self.rng.integers(len(self.gpus))) if arm == "history" else 0]
        values = self.draw(arm, 1, repeats, hosts, when)[0] * factor
        return self._records(arm, name, values, first, int(hosts[0]), gpu)

    def _records(self, arm: str, name: str, values: Floats, first: int, host: int, gpu: str) -> list[dict]:
        records = []
        lost = self._lost(arm, len(values))
        for repeat, each in enumerate(values):
            record = {
                "arm": arm,
                "test": TEST,
                "status": "ok",
                "threshold": self.threshold,
                "launch": name,
                "repeat": repeat,
                "seq": first + repeat,
                "gpu": gpu,
                "commit": f"{first:040d}" if arm == "history" else ("b" if arm == "base" else "a") * 40,
            }
            if self.named_hosts:
                record["host"] = f"{gpu}-{host}"
            if lost[repeat]:
                record["status"] = str(self.rng.choice(LOST))
            else:
                record["value"] = float(each.mean())
                if self.listed == 1.0 or self.rng.random() < self.listed:
                    record["per_prompt"] = each.tolist()
            records.append(record)
        return records

    def _lost(self, arm: str, repeats: int) -> NDArray[np.bool_]:
        """Only reruns are lost: a red job and past runs are known because they measured."""
        if arm not in ("head", "base"):
            return np.zeros(repeats, bool)
        lost = self.rng.random(1 if self.lost_launches else repeats) < self.lost_rate
        return np.broadcast_to(lost, repeats)

    @cached_property
    def red_job(self) -> list[dict] | None:
        """Two tries on one server, both over the bound; None where 100,000 jobs hold no such one."""
        gpu, factor = self.gpus[0]
        for jobs in (200, 2_000, *[10_000] * 10):
            hosts = self._hosts(jobs)
            values = self.draw("trigger", jobs, 2, hosts, 1.0) * factor
            red = np.flatnonzero(np.all(~(values.mean(axis=2) <= self.threshold), axis=1))
            if red.size:
                records = self._records("trigger", "red", values[red[0]], 0, int(hosts[red[0]]), gpu)
                return [record | {"attempt": i} for i, record in enumerate(records, 1)]
        return None

    @cached_property
    def history(self) -> list[dict]:
        """Past runs of the default branch, one a launch, oldest first."""
        last = max(self.past - 1, 1)
        runs = [self.launch("history", f"past-{i}", 1, i, i / last * 0.999) for i in range(self.past)]
        return [record for run in runs for record in run]
