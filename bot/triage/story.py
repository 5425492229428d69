"""The story, top to bottom. Every `step` is one side effect, idempotent, and its result is kept.

A workflow body must take the same steps when it is resumed after a crash: it decides only from step
results, never from the clock or the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dbos import DBOS, SetWorkflowID, error

from bot.triage import answering, measuring, opening, proposing, telling
from bot.triage.services import Services, services

log = logging.getLogger(__name__)

QUEUE: Final = "triage"
MAX_ROUNDS: Final = 12

P = ParamSpec("P")
R = TypeVar("R")


@DBOS.workflow(name="red_job")
def red_job(event: dict[str, Any]) -> list[str]:
    """A CI job went red: read its log, and investigate each site that went over its bound."""
    opened = step(opening.open_investigations, event, "")
    return [_start(key) for key in opened]


@DBOS.workflow(name="command")
def command(event: dict[str, Any]) -> list[str]:
    """`/rerun-kl`: the same, for the red jobs of a pull request, if the author may write."""
    if not step(answering.is_permitted, event):
        return []
    opened: list[str] = []
    for job in step(answering.red_jobs_of, event):
        opened += step(opening.open_investigations, job, f"c{event['comment_id']}")
    started = [_start(key) for key in opened]
    step(answering.reply, event, len(started))
    return started


@DBOS.workflow(name="investigate")
def investigate(key: str) -> str:
    """One site: measure head beside base until the judge has answered, then tell it."""
    try:
        step(telling.announce, key)
        for number in range(MAX_ROUNDS):
            if not step(measuring.wants_runs, key):
                break
            request = step(measuring.plan, key, number)
            if step(measuring.dispatch, request):
                _await_rerun(key, request)
            step(measuring.collect, request)
        step(telling.publish_evidence, key)
        step(proposing.open_pull_request, key)
        step(telling.conclude, key)
        return step(measuring.finish, key)
    except error.DBOSMaxStepRetriesExceeded as failure:
        log.exception("investigation %s given up", key)
        return step(telling.give_up, key, str(failure)[:200])


def _await_rerun(key: str, request: str) -> None:
    """Until the run has ended or its deadline passed: a webhook wakes us, a poll makes up for a lost one."""
    settings = services().settings
    waited = {"queued": 0.0, "running": 0.0}
    limit = {"queued": settings.queue_deadline_s, "running": settings.run_deadline_s}
    while True:
        state = step(measuring.progress, request)
        if state not in waited:
            return
        step(telling.update_progress, key, request, state)
        if waited[state] >= limit[state]:
            step(measuring.give_up, request, state)
            return
        DBOS.recv(topic=request, timeout_seconds=settings.poll_s)
        waited[state] += settings.poll_s


def _start(key: str) -> str:
    """The workflow id is the investigation's, so starting it twice starts it once."""
    with SetWorkflowID(key):
        DBOS.start_workflow(investigate, key)
    return key


def step(function: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs one side effect and keeps its result; failing ones are tried again with growing pauses."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    options: Any = {"name": name, "retries_allowed": True, "max_attempts": 6, "interval_seconds": 2.0}
    return DBOS.run_step(options, lambda: function(services(), *args, **kwargs))
