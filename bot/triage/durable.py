"""What every workflow is made of: steps that are one side effect each, tried again, their results kept.

A workflow body must take the same steps when it is resumed after a crash: it decides only from step
results, never from the clock, the settings or the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dbos import DBOS, PortableWorkflowError, error

from bot.triage.services import Services, services

QUEUE: Final = "triage"
HARVEST_QUEUE: Final = "harvest"
MAX_RATE_LIMIT_WAITS: Final = 24
# A failed step as it is raised, and as it is read back when a workflow is resumed.
STEP_FAILED: Final = (error.DBOSMaxStepRetriesExceeded, PortableWorkflowError)

P = ParamSpec("P")
R = TypeVar("R")


def step(function: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs one side effect and keeps its result; a failing one is tried again for about an hour.

    An hour is how long a primary rate limit of GitHub lasts.
    """
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    options: Any = {"name": name, "retries_allowed": True, "max_attempts": 12, "interval_seconds": 2.0}
    return DBOS.run_step(options, lambda: function(services(), *args, **kwargs))


def when_allowed(
    function: Callable[Concatenate[Services, P], dict[str, Any]], *args: P.args, **kwargs: P.kwargs
) -> dict[str, Any]:
    """A step that may answer how long to wait for the rate limit: slept durably, not retried busily."""
    for _ in range(MAX_RATE_LIMIT_WAITS):
        answer = step(function, *args, **kwargs)
        if "wait_s" not in answer:
            return answer
        DBOS.sleep(answer["wait_s"])
    raise TimeoutError(f"the rate limit was spent {MAX_RATE_LIMIT_WAITS} times in a row")
