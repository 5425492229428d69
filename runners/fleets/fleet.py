"""The interface of a fleet, and the values it speaks in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.verdict.answer import Refusal
from bot.verdict.reading import Arm, Reading, Status
from runners.plan import RerunPlan


class State(StrEnum):
    """`lost`: nothing more will come from it (run deleted, never appeared, process gone)."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Ticket:
    """One dispatched plan. `handle` (run id, folder) is None while a sent dispatch was not seen yet."""

    plan: RerunPlan
    handle: str | None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` and `planned` count repeats; `done` is None where the fleet cannot see it before the end."""

    state: State
    done: int | None
    planned: int
    url: str | None = None
    conclusion: str | None = None
    """As the fleet says it: success, failure, cancelled, timed_out … ; never taken for a verdict."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Every planned repeat: measured, missing with the harness's reason, or `lost` where no record came."""

    readings: tuple[Reading, ...]
    missing: str | None = None
    """One sentence when records did not come or were refused."""


class Fleet(Protocol):
    """Plans go out, readings come back. Every call may be repeated; none waits for the measurement."""

    def dispatch(self, plan: RerunPlan, *, maybe_sent: bool = False) -> Ticket | Refusal:
        """Starts the plan once, whatever happens to the answer.

        `maybe_sent`: an earlier call for this plan may have got through (say, the process died in it).
        """
        ...

    def progress(self, ticket: Ticket) -> Progress: ...

    def collect(self, ticket: Ticket) -> Collected: ...

    def cancel(self, ticket: Ticket) -> None:
        """Asks for the end; what was measured can still be collected."""
        ...


def with_lost(plan: RerunPlan, readings: Sequence[Reading], why: str) -> tuple[Reading, ...]:
    """The readings, and a `lost` record for each planned repeat that has none, on whichever attempt."""
    seen = {(_number(plan, reading), reading.repeat) for reading in readings}
    lost = [
        Reading(
            arm=Arm(launch.arm),
            test=plan.test,
            status=Status.LOST,
            commit=plan.commits[launch.arm],
            launch=plan.launch_id(number),
            repeat=repeat,
            error=why,
        )
        for number, launch in enumerate(plan.launches, 1)
        for repeat in range(1, launch.repeats + 1)
        if (number, repeat) not in seen
    ]
    return (*readings, *lost)


def _number(plan: RerunPlan, reading: Reading) -> int | None:
    place = plan.place_of(reading.launch)
    return None if place is None else place[0]
