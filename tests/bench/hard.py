"""Families that could fool a judge: outside the description it was tuned on, each with its truth.

Where the truth is noise a bump may be right, and counts as wrong only if the new bound is not quiet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tests.verdict.world import OLD, World
from tests.verdict.worlds import fault, ordinary

Draw = Callable[[np.random.Generator], dict]


def drift(rng: np.random.Generator) -> dict:
    # Right: old regression or no answer. Head equals base at the end, which is no healthy level.
    return {"truth": "drift", "drift": 1.5, "past": int(rng.choice([20, 60, 200]))}


def _mode(rng: np.random.Generator) -> dict:
    return {"run_rate": float(rng.uniform(0.05, 0.2)), "run_factor": float(rng.choice([2.0, 5.0]))}


def new_mode(rng: np.random.Generator) -> dict:
    # Right: intermittent, regression or no answer. Some runs of head are another thing than the rest.
    return {"truth": "mode", **_mode(rng)}


def old_mode(rng: np.random.Generator) -> dict:
    # Right: intermittent or no answer. The same as old as base: a fault nobody has found yet.
    return {"truth": "old_mode", "arms": OLD, **_mode(rng)}


def launch_noise(rng: np.random.Generator) -> dict:
    # Right: noise or no answer; repeats look alike, so few launches look like certainty.
    return {"truth": "noise", "launch_sd": 0.25, "prompt_sd": 0.02, "host_sd": 0.0}


def gpu_high(rng: np.random.Generator) -> dict:
    # Right: hardware or no answer. The bound fits the other GPU type; this one lies higher on the same code.
    gpus = (("gpu-x", 1.5), ("gpu-y", 1.0))
    return {"truth": "hardware", "gpus": gpus, "past": int(rng.choice([20, 60, 200]))}


def gpu_low(rng: np.random.Generator) -> dict:
    # Right: noise. The higher GPU type is in the history only and says nothing about this one.
    gpus = (("gpu-x", 1.0), ("gpu-y", 1.5))
    return {"truth": "noise", "gpus": gpus, "past": int(rng.choice([20, 60, 200]))}


def heavy_tail(rng: np.random.Generator) -> dict:
    # Right: noise with a bound that holds, or no answer. A log-normal fit is too sure of the tail.
    return {"truth": "noise", "tail": float(rng.choice([4.0, 6.0]))}


def _noise_or_shift(rng: np.random.Generator) -> dict:
    if rng.random() < 0.5:
        return {"truth": "noise"}
    return {"truth": "shift", "shift": float(rng.choice([1.5, 2.0, 3.0]))}


def tiny_history(rng: np.random.Generator) -> dict:
    # Right: as the truth says; one to five past runs are no reference and show no step.
    return {**_noise_or_shift(rng), "past": int(rng.integers(1, 6))}


def narrow_base(rng: np.random.Generator) -> dict:
    # Right: as the truth says, or no answer. Head's file has 9 prompts, base's and history's 8.
    return {**_noise_or_shift(rng), "prompts": 9, "narrow": ("base", "history")}


def lists_missing(rng: np.random.Generator) -> dict:
    # Right: as the truth says. Only some readings come with their per-prompt values.
    return {**_noise_or_shift(rng), "listed": float(rng.uniform(0.3, 0.9))}


def no_lists(rng: np.random.Generator) -> dict:
    # Right: as the truth says. Only means are known, so a fault is a longer tail of the mean.
    kind = str(rng.choice(["noise", "shift", "fault"]))
    wrong = {"noise": {}, "shift": {"shift": float(rng.choice([1.5, 2.0, 3.0]))}, "fault": fault(rng)}
    return {"truth": kind, **wrong[kind], "listed": 0.0}


def uneven_prompts(rng: np.random.Generator) -> dict:
    # Right: noise or intermittent, as the truth says. A wild prompt is healthy, a calm one hides a fault.
    kind = {"truth": "noise"} if rng.random() < 0.5 else {"truth": "fault", **fault(rng)}
    return {**kind, "prompt_sd": (0.3, 1.2)}


def no_hosts(rng: np.random.Generator) -> dict:
    # Right: as the truth says; without host names nothing can be laid on a host.
    return {**_noise_or_shift(rng), "named_hosts": False, "hosts": 3, "host_sd": 0.05}


def ten_hosts(rng: np.random.Generator) -> dict:
    # Right: as the truth says; no launch shares its host, so hosts and launches cannot be told apart.
    return {**_noise_or_shift(rng), "hosts": 10, "hosts_in_turn": True, "host_sd": 0.05}


HARD: Final[dict[str, Draw]] = {
    draw.__name__: draw
    for draw in (
        drift,
        new_mode,
        old_mode,
        launch_noise,
        gpu_high,
        gpu_low,
        heavy_tail,
        tiny_history,
        narrow_base,
        lists_missing,
        no_lists,
        uneven_prompts,
        no_hosts,
        ten_hosts,
    )
}


def hard(seed: int, family: str | None = None) -> World:
    """A world of the named family, else of `seed` in turn, so that every family gets its share."""
    name = family or list(HARD)[seed % len(HARD)]
    rng = np.random.default_rng([seed, 13])
    healthy = ordinary(rng) | {"seed": seed}
    special = HARD[name](rng)
    label = name.replace("_", " ")
    if HARD[name] in MIXED:
        label += f", {special['truth']}"
    return World(**healthy | special | {"family": label})


MIXED: Final = (tiny_history, narrow_base, lists_missing, no_lists, uneven_prompts, no_hosts, ten_hosts)
"""Families whose truth is drawn: it joins the name."""
