"""What every workflow is made of: steps that are one side effect each, tried again, their results kept.

A workflow body must take the same steps when it is resumed after a crash: it decides only from step
results, never from the clock, the settings or the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dbos import DBOS, EnqueueOptions, PortableWorkflowError, error
from github import GithubException

from bot.github.patience import NotYet, limited_until
from bot.triage.services import Services, services

log = logging.getLogger(__name__)

QUEUE: Final = "triage"
AT_ONCE: Final = 8
"""Workflows of that queue, each with a log in hand: after an outage a thousand may come in a minute. They
share the interpreter with the webhook, whose p99 at 50 deliveries a second was 147 ms beside 32, 67 beside
8 of them."""
PEOPLE_QUEUE: Final = "people"
"""Its own: red jobs that wait for the rate limit must not hold up what people ask for or close."""
HARVEST_QUEUE: Final = "harvest"
SWEEP_QUEUE: Final = "sweep"
MAX_RATE_LIMIT_WAITS: Final = 24
"""A primary limit is reset within the hour, so this is a day of nothing but waiting."""
AGAIN: Final = ":again-"
_WAIT: Final = "rate_limit_wait_s"
DEAD: Final = ("ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
"""States of a workflow that ended without a result."""


class StillLimited(Exception):
    """GitHub's rate limit was spent every time a step was tried."""


# A failed step as it is raised, and as it is read back when a workflow is resumed.
STEP_FAILED: Final = (error.DBOSMaxStepRetriesExceeded, PortableWorkflowError, StillLimited)

P = ParamSpec("P")
R = TypeVar("R")


def step(function: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs one side effect and keeps its result; a failing one is tried again for about an hour.

    A spent rate limit, or a NotYet, is no failure: it is slept through durably, holding no thread's retries,
    and the step is run again. Raises one of STEP_FAILED.
    """
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    options: Any = {"name": name, "retries_allowed": True, "max_attempts": 12, "interval_seconds": 2.0}
    for _ in range(MAX_RATE_LIMIT_WAITS):
        result: Any = DBOS.run_step(options, lambda: _or_wait(lambda: function(services(), *args, **kwargs)))
        if not (isinstance(result, dict) and _WAIT in result):
            return result  # type: ignore[no-any-return]
        DBOS.sleep(result[_WAIT])
    raise StillLimited(f"{name}: the rate limit was spent {MAX_RATE_LIMIT_WAITS} times in a row")


def _or_wait(run: Callable[[], R]) -> R | dict[str, float]:
    """The result, or how long GitHub wants no request."""
    try:
        return run()
    except NotYet as wanted:
        until, why = wanted.until, str(wanted)
    except GithubException as refused:
        told = limited_until(refused, datetime.now(UTC))
        if told is None:
            raise
        until, why = told, "the rate limit is spent"
    wait = max((until - datetime.now(UTC)).total_seconds(), 1.0)
    log.info("%s: going on in %.0f s", why, wait)
    return {_WAIT: wait}


def note_failed() -> None:
    """The work of a workflow could not be done: a redelivery, or the next sweep, does it once more."""
    step(_delivery_failed, DBOS.workflow_id or "")


def _delivery_failed(svc: Services, workflow_id: str) -> None:
    svc.store.delivery_failed(workflow_id)


def again(workflow_id: str, tries: int) -> str:
    """The id under which work that failed is done once more; the same for whoever asks for it."""
    return f"{workflow_id.partition(AGAIN)[0]}{AGAIN}{tries}"


_QUEUES: Final = {
    **dict.fromkeys(("command", "check_asked", "pull_closed", "pull_moved"), PEOPLE_QUEUE),
    "installation_changed": PEOPLE_QUEUE,
    "harvest": HARVEST_QUEUE,
    "sweep": SWEEP_QUEUE,
}


def options_of(workflow: str, workflow_id: str) -> EnqueueOptions:
    """How a workflow is queued; an id that is known changes nothing."""
    queue = _QUEUES.get(workflow, QUEUE)
    return {"workflow_name": workflow, "queue_name": queue, "workflow_id": workflow_id}
