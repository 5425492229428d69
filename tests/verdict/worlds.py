"""Worlds by family, and the loop that runs what the judge asks for.

The families that could fool a judge are in tests/bench/hard.py.
"""

from __future__ import annotations

import numpy as np

from bot.verdict import Context, Policy, simulate
from bot.verdict.simulate import Outcome
from tests.verdict.world import NEW, OLD, World

SHIFTS = (1.15, 1.25, 1.5, 2.0, 3.0, 4.0)


class Reruns:
    """Fresh servers of a world, numbered on."""

    def __init__(self, world: World, seen: int) -> None:
        self.world, self.seen, self.launches = world, seen, 0

    def launch(self, arm: str, repeats: int) -> list[dict]:
        records = self.world.launch(arm, f"{arm}-{self.launches}", repeats, self.seen)
        self.launches += 1
        self.seen += repeats
        return records


def play(world: World, policy: Policy | None = None) -> Outcome | None:
    """From the red job to the answer. None where no job goes red."""
    if world.red_job is None:
        return None
    first = world.red_job + world.history
    outcome = simulate.play(Reruns(world, len(first)), first, policy, Context(siblings=world.siblings))
    assert outcome.verdict.next is None, "the judge never stops asking"
    return outcome


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
            "fault_factor": log_uniform(rng, 20, 100),
            "same_prompt": bool(rng.random() < 0.5),
        },
        "frozen": {"frozen_at": 1.5},
    }[truth]
    return World(truth=truth, **healthy, **extra)


SHARES = {
    "noise": 0.40,
    "shift": 0.18,
    "fault": 0.11,
    "old_fault": 0.07,
    "step": 0.06,
    "hardware": 0.04,
    "lost": 0.04,
    "frozen": 0.03,
    "rare": 0.03,
    "exact": 0.02,
    "non_finite": 0.02,
}


def wide(seed: int, family: str | None = None) -> World:
    """A world as VERDICTS.md describes them, of a family drawn by its share unless one is named."""
    rng = np.random.default_rng([seed, 11])
    drawn = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    healthy = ordinary(rng) | {"seed": seed}
    return World(**healthy | _wrong(family or drawn, rng))


def ordinary(rng: np.random.Generator) -> dict:
    """Healthy code of some test on some machines."""
    return {
        "bound": float(rng.choice([0.002, 0.003, 0.005, 0.01])),
        "exceedance": log_uniform(rng, 0.015, 0.15),
        "past": int(rng.choice([0, 20, 60, 200])),
        "prompts": int(rng.choice([4, 9, 32])),
        "prompt_sd": float(rng.uniform(0.35, 1.0)),
        "launch_sd": float(rng.choice([0.0, 0.05, 0.1])),
        "host_sd": float(rng.choice([0.0, 0.05])),
        "hosts": int(rng.choice([1, 3])),
    }


def fault(rng: np.random.Generator) -> dict:
    """A single prompt lifted in some runs."""
    return {
        "fault_rate": float(rng.uniform(0.05, 0.4)),
        "fault_factor": log_uniform(rng, 8, 100),
        "same_prompt": bool(rng.random() < 0.5),
    }


def _wrong(family: str, rng: np.random.Generator) -> dict:
    """What sets this family apart from ordinary noise."""
    if family == "noise":
        return {"truth": "noise"}
    if family == "shift":
        return {"truth": "shift", "shift": float(rng.choice(SHIFTS))}
    if family == "fault":
        return {"truth": "fault", **fault(rng)}
    if family == "old_fault":
        return {"truth": "old_fault", "arms": OLD, **fault(rng)}
    if family == "step":
        step, at = float(rng.choice([1.5, 2.0, 3.0])), float(rng.uniform(0.3, 0.8))
        return {"truth": "step", "step": step, "step_at": at, "past": int(rng.choice([20, 60, 200]))}
    if family == "hardware":
        return {
            "truth": "hardware",
            "bad_host": float(rng.choice([1.5, 2.0, 3.0])),
            "hosts": int(rng.choice([2, 3, 4])),
        }
    if family == "lost":  # the truth is that of the world whose runs were lost
        under = _wrong(str(rng.choice(["noise", "shift"])), rng)
        lost = {"lost_rate": float(rng.uniform(0.05, 0.5)), "lost_launches": bool(rng.random() < 0.3)}
        return {**under, "family": f"lost, {under['truth']}", **lost}
    if family == "frozen":  # a base that never varies is no comparison, whatever head does
        arms = [NEW, (*NEW, "base"), ("base",)][int(rng.integers(3))]
        at = float(rng.uniform(0.5, 0.95) if arms == ("base",) else rng.uniform(1.05, 3.0))
        return {"truth": "frozen", "arms": arms, "frozen_at": at}
    if family == "rare":
        return {"truth": "rare", "exceedance": log_uniform(rng, 0.001, 0.003)}
    if family == "exact":
        sizes = {"bound": log_uniform(rng, 1e-5, 1e-3)}
        return {"truth": "exact", "gate": float(rng.choice([0.0, 1e-9, 1e-7])), **sizes}
    if family == "non_finite":
        arms, rate = (("trigger",), 1.0) if rng.random() < 0.5 else (NEW, float(rng.uniform(0.05, 0.3)))
        return {"truth": "non_finite", "arms": arms, "non_finite_rate": rate}
    raise ValueError(f"no family {family}; there are {', '.join(SHARES)}")


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
