"""Obeying people: the commands of a comment, in order and once each, and the buttons of a check."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dbos import DBOS, SetWorkflowID

from bot.report import replies
from bot.triage.commands import admitting, answering, remeasuring
from bot.triage.commands.grammar import Verb
from bot.triage.durable import STEP_FAILED, note_failed, step
from bot.triage.red import opening
from bot.triage.story import start

log = logging.getLogger(__name__)

ENDS_WITHIN: Final = 100
"""Looks at what was stopped, before a command behind the stop goes on or gives up: five minutes."""
LOOK_EVERY_S: Final = 3.0
ASKED_ONLY: Final = frozenset({Verb.HELP, Verb.STATUS, Verb.EXPLAIN})
"""Nothing that a stranger's comment would have cost."""


@DBOS.workflow(name="command")
def command(event: dict[str, Any]) -> list[str]:
    """A comment with commands, if its author may; the investigations it started."""
    try:
        return _obey(event)
    except STEP_FAILED:
        log.exception("comment %s of %s could not be answered", event["comment_id"], event["repo"])
        step(answering.note_failure, event)
        note_failed()
        return []


@DBOS.workflow(name="refuse")
def refuse(event: dict[str, Any]) -> None:
    """Tells strangers of a pull request, once, who may command."""
    try:
        step(answering.refuse, event)
    except STEP_FAILED:
        log.exception("strangers of #%s of %s were told nothing", event["pull"], event["repo"])


@DBOS.workflow(name="check_asked")
def check_asked(event: dict[str, Any]) -> list[str]:
    """The button of a check, or "re-run": measured again, without a word; the check itself shows it."""
    try:
        if not step(admitting.admit_click, event):
            return []
        wanted = step(remeasuring.asked_by_click, event)
    except STEP_FAILED:
        log.exception("check %s of %s could not be looked at", event["check_id"], event["repo"])
        note_failed()
        return []
    suffix = f"k{event['check_id']}-{event['at']}"
    return [key for one in wanted for key in _open(one["job"], suffix, one["asked"])]


def _obey(event: dict[str, Any]) -> list[str]:
    admitted = step(admitting.admit, event)
    if admitted["role"] == admitting.SILENT:
        return []
    if admitted["role"] == admitting.STRANGER:
        if not set(admitted["commands"]) <= ASKED_ONLY:
            step(answering.react, event, "-1")
        # One for all strangers of a pull request, by its id: nobody can make the bot flood it.
        with SetWorkflowID(f"refuse:{event['repo'].lower()}:{event['pull']}"):
            DBOS.start_workflow(refuse, event)
        return []
    if admitted["role"] == admitting.UNREADY:
        step(answering.reply, event, [replies.unready(admitted["why"])])
        return []
    step(answering.react, event, "eyes")
    started: list[str] = []
    stopping: list[str] = []
    outcomes: list[str] = []
    for place, kind in enumerate(admitted["commands"]):
        try:
            if kind == admitting.RERUN:
                if stopping:  # its end takes a while: what is done so far is told before
                    step(answering.reply, event, outcomes)
                text, opened = _rerun(event, place, admitted, stopping)
                started += opened
            elif kind == Verb.STOP:
                stopped = step(answering.stop, event, admitted["role"])
                text, stopping = stopped["text"], stopped["keys"]
            else:
                text = step(answering.answer, event, place)
        except STEP_FAILED:
            log.exception("command %d of comment %s could not be done", place, event["comment_id"])
            text = replies.UNREADABLE
        outcomes.append(text)
    if started:
        step(answering.react, event, "rocket")
    elif _cost_nothing(admitted, outcomes):
        step(admitting.release, event)
    if admitting.MISUNDERSTOOD in admitted["commands"]:
        step(answering.react, event, "confused")
    step(answering.reply, event, outcomes)
    return started


def _cost_nothing(admitted: Mapping[str, Any], outcomes: Sequence[str]) -> bool:
    """A rerun that was refused; one that broke off may have started something."""
    asked = admitted["role"] == admitting.LISTED and admitting.RERUN in admitted["commands"]
    return asked and not admitted["free_at"] and replies.UNREADABLE not in outcomes


def _rerun(
    event: dict[str, Any], place: int, admitted: Mapping[str, Any], stopping: list[str]
) -> tuple[str, list[str]]:
    """What is said of it, and the investigations it opened."""
    if not _have_ended(stopping):
        return replies.STILL_STOPPING, []
    plan = step(remeasuring.targets, event, place, admitted)
    if plan["refusal"]:
        return plan["refusal"], []
    opened = [key for job in plan["jobs"] for key in _open(job, plan["suffix"], plan["asked"])]
    return step(remeasuring.outcome, event, place, plan["jobs"], opened), opened


def _open(job: dict[str, Any], suffix: str, asked: dict[str, Any]) -> list[str]:
    """One job that cannot be read does not keep the others from being measured."""
    try:
        return [start(key) for key in step(opening.open_investigations, job, suffix, asked)]
    except STEP_FAILED:
        log.exception("job %s of %s could not be read", job["job_id"], job["repo"])
        step(opening.note_failure, job)
        return []


def _have_ended(keys: list[str]) -> bool:
    """What a stop before this command ended would else keep its site from being measured."""
    for _ in range(ENDS_WITHIN if keys else 0):
        if step(answering.ended, keys):
            return True
        DBOS.sleep(LOOK_EVERY_S)
    return not keys
