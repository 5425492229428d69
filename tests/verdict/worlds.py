"""Simulated tests with a known truth, and the loop that runs what the judge asks for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bot.verdict import Evidence, Policy, Verdict, VerdictKind, decide

TEST = "test/kl/test_cache.py::TestCache.test_match"


@dataclass
class World:
    """`truth`: noise, shift, fault, old_fault, step, frozen, hardware, rare. sd are of natural logarithms."""

    truth: str
    bound: float = 0.003
    prompts: int = 9
    prompt_sd: float = 0.6
    launch_sd: float = 0.0
    host_sd: float = 0.0
    hosts: int = 1
    exceedance: float = 0.05
    shift: float = 1.0
    fault_rate: float = 0.0
    fault_factor: float = 1.0
    same_prompt: bool = True
    step: float = 1.0
    step_at: float = 0.6
    past: int = 0
    bad_host: float = 1.0
    siblings: tuple[float, ...] = ()
    seed: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.offsets = self.rng.normal(0, 0.4, self.prompts)
        self.host_effects = self.rng.normal(0, self.host_sd, self.hosts)
        self.host_effects[0] += np.log(self.bad_host)
        self.fault_prompt = int(self.rng.integers(self.prompts))
        plain = self.healthy(40_000)
        self.level = np.log(self.bound) - float(np.quantile(np.log(plain.mean(axis=1)), 1 - self.exceedance))

    def healthy(self, n: int) -> np.ndarray:
        """n readings on fresh launches and healthy hosts, bound not yet set: n x prompts."""
        launch = self.rng.normal(0, self.launch_sd, (n, 1))
        host = self.rng.normal(0, self.host_sd, (n, 1)) if self.hosts > 1 else 0.0
        return np.exp(self.offsets + launch + host + self.rng.normal(0, self.prompt_sd, (n, self.prompts)))

    def exceeds(self, at: float) -> float:
        """True exceedance of healthy code at another bound."""
        return float(np.mean(self.healthy(200_000).mean(axis=1) * np.exp(self.level) > at))

    def launch(self, arm: str, name: str, repeats: int, first: int, when: float = 1.0) -> list[dict]:
        host = int(self.rng.integers(self.hosts))
        effect = self.level + self.rng.normal(0, self.launch_sd) + self.host_effects[host]
        if arm in ("head", "trigger"):
            effect += np.log(self.shift)
        if self.step != 1.0 and when >= self.step_at:
            effect += np.log(self.step)
        records = []
        for repeat in range(repeats):
            values = np.exp(self.offsets + effect + self.rng.normal(0, self.prompt_sd, self.prompts))
            faulty = self.truth == "old_fault" or (self.truth == "fault" and arm in ("head", "trigger"))
            if faulty and self.rng.random() < self.fault_rate:
                where = self.fault_prompt if self.same_prompt else int(self.rng.integers(self.prompts))
                values[where] *= self.fault_factor
            if self.truth == "frozen" and arm in ("head", "trigger"):
                values = np.full(self.prompts, self.bound * 1.5)
            records.append(
                {
                    "arm": arm,
                    "test": TEST,
                    "status": "ok",
                    "value": float(values.mean()),
                    "per_prompt": values.tolist(),
                    "threshold": self.bound,
                    "launch": name,
                    "repeat": repeat,
                    "seq": first + repeat,
                    "host": f"host-{host}",
                    "gpu": "gpu-x",
                    "commit": f"{first:040d}" if arm == "history" else ("a" if arm != "base" else "b") * 40,
                }
            )
        return records

    def trigger(self, tries: int = 200_000) -> list[dict] | None:
        """Two tries on one server, both over the bound; None where that hardly ever happens."""
        for _ in range(min(tries, 6_000)):
            records = self.launch("trigger", "trigger", 2, 0)
            if all(record["value"] > self.bound for record in records):
                return [record | {"attempt": i + 1} for i, record in enumerate(records)]
        return None

    def history(self) -> list[dict]:
        runs = [self.launch("history", f"past-{i}", 1, i, i / max(self.past, 1)) for i in range(self.past)]
        return [record for run in runs for record in run]


@dataclass
class Outcome:
    verdict: Verdict
    rounds: int
    runs: int
    launches: int
    minutes: float


def play(world: World, policy: Policy | None = None, most: int = 12) -> Outcome | None:
    """Decide, run what `next` asks, decide again."""
    from bot.verdict import Context

    first = world.trigger()
    if first is None:
        return None
    records, launches = first + world.history(), 0
    context = Context(siblings=world.siblings)
    past = len(records)
    for rounds in range(most):
        verdict = decide(Evidence.from_records(records, context=context), policy)
        if verdict.next is None:
            runs = len(records) - past
            return Outcome(verdict, rounds, runs, launches, runs * 1.0 + launches * 3.0)
        assert verdict.kind is VerdictKind.INCONCLUSIVE
        for arm, plan in verdict.next.arms.items():
            for _ in range(plan.launches):
                records += world.launch(arm, f"{arm}-{launches}", plan.repeats, len(records))
                launches += 1
    raise AssertionError("the judge never stops asking")


def demo(truth: str, seed: int) -> World:
    """The reference test of the demo: bound 0.003, sibling 0.005, log-sd of the mean 0.2 to 0.3."""
    rng = np.random.default_rng([seed, 7])
    healthy = {
        "prompt_sd": float(rng.uniform(0.52, 0.74)),
        "exceedance": float(rng.uniform(0.03, 0.08)),
        "siblings": (0.005,),
        "seed": seed,
    }
    extra = {
        "noise": {},
        "shift": {"shift": 2.0},
        "fault": {
            "fault_rate": float(rng.uniform(0.4, 0.5)),
            "fault_factor": float(np.exp(rng.uniform(np.log(20), np.log(100)))),
            "same_prompt": bool(rng.random() < 0.5),
        },
        "frozen": {},
    }[truth]
    return World(truth=truth, **healthy, **extra)


def wide(seed: int) -> World:
    """A world as VERDICTS.md describes them, of a family drawn by its share."""
    rng = np.random.default_rng([seed, 11])
    families = ["noise", "shift", "fault", "old_fault", "step", "frozen", "hardware", "rare"]
    truth = str(rng.choice(families, p=[0.4, 0.2, 0.12, 0.08, 0.08, 0.02, 0.05, 0.05]))
    hosts = int(rng.choice([1, 3])) if truth != "hardware" else int(rng.choice([2, 3, 4]))
    world = {
        "truth": truth,
        "bound": float(rng.choice([0.002, 0.003, 0.005, 0.01])),
        "prompts": int(rng.choice([4, 9, 32])),
        "prompt_sd": float(rng.uniform(0.35, 1.0)),
        "launch_sd": float(rng.choice([0.0, 0.05, 0.1])),
        "host_sd": float(rng.choice([0.0, 0.05])),
        "hosts": hosts,
        "exceedance": float(np.exp(rng.uniform(np.log(0.015), np.log(0.15)))),
        "past": int(rng.choice([0, 20, 60, 200])),
        "seed": seed,
    }
    if truth == "shift":
        world["shift"] = float(rng.choice([1.15, 1.3, 1.5, 2.0, 3.0, 4.0]))
    if truth in ("fault", "old_fault"):
        world["fault_rate"] = float(rng.uniform(0.05, 0.4))
        world["fault_factor"] = float(np.exp(rng.uniform(np.log(8), np.log(100))))
        world["same_prompt"] = bool(rng.random() < 0.5)
    if truth == "step":
        world["step"], world["past"] = float(rng.choice([1.5, 2.0, 3.0])), int(rng.choice([20, 60, 200]))
        world["step_at"] = float(rng.uniform(0.3, 0.8))
    if truth == "hardware":
        world["bad_host"] = float(rng.choice([1.5, 2.0, 3.0]))
    if truth == "rare":
        world["exceedance"] = 0.002
    return World(**world)
