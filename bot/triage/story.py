"""The story, top to bottom. Every `step` is one side effect, idempotent, and its result is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from dbos import DBOS, SetWorkflowID

from bot.triage.bump import checks, proposing
from bot.triage.durable import STEP_FAILED, note_failed, step
from bot.triage.harvest import live
from bot.triage.measure import halting, ledger, measuring
from bot.triage.red import opening, settling
from bot.triage.services import Services
from bot.triage.tell import telling

log = logging.getLogger(__name__)

HARVESTS_AT_ONCE: Final = 2
MAX_ROUNDS: Final = 12
POLLS_AFTER_CANCEL: Final = 10
LOOKS_FOR_CHECKS: Final = 4
"""A poll apart, so two minutes as the bot is set up."""


@DBOS.workflow(name="red_job")
def red_job(event: dict[str, Any]) -> list[str]:
    """A CI job went red: read its log, and investigate each site that went over its bound."""
    started: list[str] = []
    try:
        started += [start(key) for key in step(opening.open_investigations, event, "", {})]
    except STEP_FAILED:
        log.exception("job %s of %s could not be read", event["job_id"], event["repo"])
        step(opening.note_failure, event)
        note_failed()
    return started


@DBOS.workflow(name="investigate")
def investigate(key: str) -> str:
    """One site: measured for one pull request, then told to it and to those that waited."""
    kind = _measure(key)
    settle(key)
    _see_checks_start(key)
    return kind


@DBOS.workflow(name="settle")
def settle(key: str) -> None:
    """An investigation has ended: who waited for it is answered, or measured next."""
    for pull in step(settling.waiting, key):
        try:
            opened = step(settling.settle, key, pull)
        except STEP_FAILED:  # it is left over, and tried again later
            log.exception("#%d still waits for %s", pull, key)
        else:
            if opened:
                start(opened)


def _measure(key: str) -> str:
    """Head beside base until the judge has answered, then told; the kind of the verdict."""
    try:
        if not step(halting.check_switch, key):
            step(telling.announce, key)
        for number in range(MAX_ROUNDS):
            if step(halting.is_halted, key) or not _wants_runs(key):
                break
            request = step(measuring.plan, key, number)
            if step(measuring.dispatch, request):  # asks anew whether it may
                _await_rerun(key, request)
            step(measuring.collect, request)
        _tell(key)
        return step(measuring.finish, key)
    except STEP_FAILED:
        log.exception("investigation %s is given up", key)
    if step(halting.is_uninstalled, key):  # what failed then is all that GitHub is asked
        return step(measuring.finish, key)
    _give_up(key)
    return "given_up"


def _wants_runs(key: str) -> bool:
    """A ledger that cannot be read bars the bump and takes nothing from the verdict."""
    try:
        return step(measuring.wants_runs, key)
    except STEP_FAILED:
        log.exception("the ledger of %s is not read", key)
        step(ledger.bar, key)
        return step(measuring.wants_runs, key)


def _give_up(key: str) -> None:
    """Without a verdict; the site is free whatever else fails."""
    step(telling.abandon, key)
    _unless_it_fails(measuring.cancel_open_reruns, key)
    _unless_it_fails(telling.give_up, key)


@DBOS.workflow(name="give_up")
def give_up(key: str) -> None:
    """The workflow of this investigation broke: its site is free again, and all who wait for it are told."""
    _give_up(key)
    settle(key)


def _tell(key: str) -> None:
    """What was found, where it may be said; a bump last of all that can still be stopped."""
    step(halting.check, key)
    halted = step(measuring.settle, key)
    if halted == halting.UNINSTALLED:  # nothing can be asked or written there any more
        return
    if halted:
        _unless_it_fails(measuring.cancel_open_reruns, key)
    if halted in halting.SILENT:
        _unless_it_fails(telling.close_check, key)
        return
    _unless_it_fails(telling.publish_evidence, key)
    _unless_it_fails(proposing.open_pull_request, key)
    step(telling.conclude, key)


def _unless_it_fails(last: Callable[[Services, str], object], key: str) -> None:
    """A verdict that is known does not fall with what comes after it: what is missing is said beside it."""
    try:
        step(last, key)
    except STEP_FAILED:
        log.exception("%s of %s could not be done", last.__name__, key)
        step(telling.note_missing, key, last.__name__)


def _see_checks_start(key: str) -> None:
    """The investigation is over by then: whatever fails here changes nothing of it."""
    try:
        pause = step(measuring.limits)["poll"]
        for _ in range(LOOKS_FOR_CHECKS):
            if step(checks.have_started, key):
                return
            DBOS.sleep(pause)
        step(checks.note_none, key)
    except STEP_FAILED:
        log.exception("the checks of the bump of %s were not looked at", key)


def _await_rerun(key: str, request: str) -> None:
    """Until the run has ended or its deadline passed: a webhook wakes us, a poll makes up for a lost one."""
    limit = step(measuring.limits)
    waited = {"queued": 0.0, "running": 0.0}
    while (state := step(measuring.progress, request)) in waited:
        step(telling.update_progress, key, request, state)
        if step(halting.check_waiting, key):
            step(measuring.cancel, request)
            break
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
        step(measuring.cancel, request)  # a run that GitHub shows only now


@DBOS.workflow(name="harvest")
def harvest(event: dict[str, Any]) -> int:
    """A run of the default branch ended: its KL readings are kept as history. Nobody is told anything."""
    readings = 0
    try:
        found = step(live.jobs_to_read, event)
        if not found:
            return 0
        for job in found["jobs"]:
            readings += step(live.read_job, event, found["config"], job)
        step(live.close_run, event, found)
    except STEP_FAILED:  # the next sweep, or `kl-triage harvest`, reads what is left
        log.exception("run %s of %s is not fully harvested", event["run_id"], event["repo"])
        note_failed()
    return readings


def start(key: str) -> str:
    """The workflow id is the investigation's, so starting it twice starts it once."""
    with SetWorkflowID(key):
        DBOS.start_workflow(investigate, key)
    return key


def start_again(found: Mapping[str, list[str]]) -> None:
    """What `sweeping.without_workflow` found."""
    for key in found["never_started"]:
        start(key)
    for key in found["broken"]:
        with SetWorkflowID(end_of(key)):
            DBOS.start_workflow(give_up, key)


def end_of(key: str) -> str:
    """Id of the workflow that ends an investigation whose own one broke."""
    return f"give-up:{key}"
