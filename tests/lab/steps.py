"""Trouble between a step's effect and the record of its result; durable pauses cut for tests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from dbos import DBOS
from dbos._dbos import _get_or_create_dbos_registry

PAUSE_S = 0.01
"""Between two tries of a step that failed, before the second; and the longest durable sleep."""

Step = Callable[[], Any]
Around = Callable[[str, Step], Any]
"""Runs a step: (its name, as `module.function`; the step itself) -> its result."""


def plainly(_name: str, step: Step) -> Any:
    return step()


def twice(_name: str, step: Step) -> Any:
    """As if the process had been killed after the effect and before its result was recorded."""
    step()
    return step()


def resume_soon() -> None:
    """DBOS resumes workflows through a queue of its own that it looks into once a second."""
    _get_or_create_dbos_registry().get_internal_queue()._polling_interval_sec = 0.05


@contextmanager
def around_steps(around: Around):
    """Every durable step goes through `around`; tries and durable sleeps take no time worth naming."""
    original, sleep = DBOS.run_step, DBOS.sleep

    def run_step(options: dict[str, Any], step: Step) -> Any:
        quick = {**options, "interval_seconds": PAUSE_S, "backoff_rate": 1.0}
        return original(quick, lambda: around(options["name"], step))

    DBOS.run_step = staticmethod(run_step)
    DBOS.sleep = staticmethod(lambda seconds: sleep(min(seconds, PAUSE_S)))
    try:
        yield
    finally:
        DBOS.run_step, DBOS.sleep = original, sleep
