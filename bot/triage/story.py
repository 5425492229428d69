"""The story, top to bottom. Every `step` is one side effect, idempotent, and its result is kept."""

from __future__ import annotations

import logging
from typing import Any, Final

from dbos import DBOS, SetWorkflowID

from bot.triage import answering, harvest_live, measuring, opening, proposing, telling
from bot.triage.durable import STEP_FAILED, step, when_allowed

log = logging.getLogger(__name__)

HARVESTS_AT_ONCE: Final = 2
MAX_ROUNDS: Final = 12
POLLS_AFTER_CANCEL: Final = 10


@DBOS.workflow(name="red_job")
def red_job(event: dict[str, Any]) -> list[str]:
    """A CI job went red: read its log, and investigate each site that went over its bound."""
    try:
        return [start(key) for key in step(opening.open_investigations, event, "")]
    except STEP_FAILED:
        log.exception("job %s of %s could not be read", event["job_id"], event["repo"])
        step(opening.note_failure, event)
        return []


@DBOS.workflow(name="command")
def command(event: dict[str, Any]) -> list[str]:
    """`/rerun-kl`: the same, for the red jobs of a pull request, if the author may write."""
    if not step(answering.is_permitted, event):
        return []
    asked = step(answering.red_jobs_of, event)
    started: list[str] = []
    for job in asked["jobs"]:
        try:
            opened = step(opening.open_investigations, job, f"c{event['comment_id']}")
        except STEP_FAILED:
            log.exception("job %s of %s could not be read", job["job_id"], event["repo"])
            step(opening.note_failure, job)
        else:
            started += [start(key) for key in opened]
    step(answering.reply, event, asked["refusal"], len(started))
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
    except STEP_FAILED:
        log.exception("investigation %s is given up", key)
    step(measuring.cancel_open_reruns, key)
    step(telling.give_up, key)
    return "given_up"


def _await_rerun(key: str, request: str) -> None:
    """Until the run has ended or its deadline passed: a webhook wakes us, a poll makes up for a lost one."""
    limit = step(measuring.limits)
    waited = {"queued": 0.0, "running": 0.0}
    while (state := step(measuring.progress, request)) in waited:
        step(telling.update_progress, key, request, state)
        if waited[state] >= limit[state]:
            step(measuring.give_up, request, state)
            break
        DBOS.recv(topic=request, timeout_seconds=limit["poll"])
        waited[state] += limit["poll"]
    # A cancelled job still uploads what it had.
    for _ in range(POLLS_AFTER_CANCEL):
        if step(measuring.progress, request) not in waited:
            return
        DBOS.recv(topic=request, timeout_seconds=limit["poll"])


@DBOS.workflow(name="harvest")
def harvest(event: dict[str, Any]) -> int:
    """A run of the default branch ended: its KL readings are kept as history. Nobody is told anything."""
    readings = 0
    try:
        found = when_allowed(harvest_live.jobs_to_read, event)
        if not found:
            return 0
        for job in found["jobs"]:
            readings += when_allowed(harvest_live.read_job, event, found["config"], job)["readings"]
        step(harvest_live.close_run, event, found)
    except (*STEP_FAILED, TimeoutError):  # the next `kl-triage harvest` reads what is left
        log.exception("run %s of %s is not fully harvested", event["run_id"], event["repo"])
    return readings


def start(key: str) -> str:
    """The workflow id is the investigation's, so starting it twice starts it once."""
    with SetWorkflowID(key):
        DBOS.start_workflow(investigate, key)
    return key
