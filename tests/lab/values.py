"""What canned reruns measure: literal tables, the same on every run of the tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.verdict import Arm, Reading, Status
from runners.plan import RerunPlan

# Draws of a standard normal variable, in the order they are used.
DRAWS = (
    -0.3, 1.2, -1.1, 0.4, -0.7, 0.1, 1.8, -0.5, 0.7, -1.6, 0.2, 0.9, -0.1, -0.9, 0.5, -2.1, 1.0, -0.4, 0.3,
    1.4, -1.3, 0.0, 0.6, -0.2, -0.6, 2.2, -0.8, 0.8, -1.0, -1.8, 0.1, 1.6, -0.3, 1.1, -1.2, 0.4, -1.4, 0.7,
    -0.1,
)  # fmt: skip
PROMPTS = (0.6, 0.8, 0.9, 1.0, 1.0, 1.0, 1.1, 1.2, 1.4)
"""How the prompts of the test differ, around 1."""
LOG_SD = 0.35
LEVEL = 0.0024
"""Mean KL of healthy code, in nats: six of 82 runs are over the bound of 0.003."""
BOUNDS = {"TestHybridCacheKL": 0.003, "TestHybridCacheKLHiCache": 0.005}


@dataclass(frozen=True, slots=True)
class Values:
    """What a rerun brings home. `head` and `base` are factors on the healthy level."""

    head: float = 1.0
    base: float = 1.0
    spread: float = LOG_SD
    """Log-sd of a prompt's value; 0: every run gives the same number."""
    hosts: tuple[str, ...] = ("cpu-local-0",)
    """The launches of a plan go round these."""
    bad_hosts: Mapping[str, float] = field(default_factory=dict)
    """Factors of machines that measure wrong."""
    lost: float = 0.0
    """The share of repeats that leave no record."""


def readings(plan: RerunPlan, values: Values) -> list[Reading]:
    """The records that the harness would write for this plan."""
    found, bound = [], BOUNDS[plan.name.partition(".")[0]]
    for number, launch in enumerate(plan.launches, 1):
        level = LEVEL * bound / BOUNDS["TestHybridCacheKL"]
        host = values.hosts[number % len(values.hosts)]
        factor = (values.head if launch.arm == "head" else values.base) * values.bad_hosts.get(host, 1.0)
        for repeat in range(1, launch.repeats + 1):
            if (repeat * values.lost) % 1.0 + values.lost > 1.0 - 1e-9:
                continue
            prompts = _prompts(_place(plan, number, repeat), level * factor, values.spread)
            found.append(
                Reading(
                    arm=Arm(launch.arm),
                    test=plan.test,
                    status=Status.OK,
                    value=sum(prompts) / len(prompts),
                    per_prompt=prompts,
                    threshold=bound,
                    commit=plan.commits[launch.arm],
                    launch=plan.launch_id(number),
                    repeat=repeat,
                    host=host,
                    gpu="Example GPU 80GB",
                    driver="550.1",
                    duration_s=0.2,
                )
            )
    return found


def _place(plan: RerunPlan, launch: int, repeat: int) -> int:
    """Where in the table a run begins: each round, launch and repeat at another place."""
    round_number = int(plan.request.rpartition("-r")[2])
    return 97 * round_number + 17 * launch + repeat


def _prompts(place: int, level: float, spread: float) -> tuple[float, ...]:
    return tuple(
        level * prompt * math.exp(spread * DRAWS[(7 * place + 3 * at * at + at * place) % len(DRAWS)])
        for at, prompt in enumerate(PROMPTS)
    )
