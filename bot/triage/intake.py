"""A delivery is stored and queued in one transaction; GitHub is never called from the request."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from dbos import DBOSClient
from sqlalchemy import Engine, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import OperationalError, TimeoutError
from sqlalchemy.orm import Session

from bot.github import (
    BranchMoved,
    CheckAsked,
    Command,
    Happened,
    Ignored,
    InstallationChanged,
    PullClosed,
    PullMoved,
    RedJob,
    RerunDone,
    RunDone,
    parse,
)
from bot.store import Delivery, Rerun, see_installed
from bot.triage import durable
from bot.triage.commands import grammar

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    BUSY = "busy"


class Intake:
    """The only writer of `deliveries` before their work begins."""

    def __init__(self, database: Engine, client: DBOSClient) -> None:
        self._database = database
        self._client = client

    def receive(self, guid: str, name: str, payload: Mapping[str, Any]) -> Outcome:
        """Stores the delivery and queues its work, or does nothing for one that was stored before.

        A delivery whose work failed is queued again. BUSY: nothing is stored, and GitHub is to send it again.
        """
        event = parse(name, payload)
        if isinstance(event, Command) and not grammar.fresh(event.body, event.before):
            event = Ignored("issue_comment: no command in it")
        if isinstance(event, Ignored):
            log.info("delivery %s ignored: %s", guid, event.why)
            return Outcome.IGNORED
        try:
            with Session(self._database) as session, session.begin():
                return self._store(session, guid, name, event)
        except (OperationalError, TimeoutError):
            log.exception("delivery %s could not be stored", guid)
            return Outcome.BUSY

    def _store(self, session: Session, guid: str, name: str, event: Happened) -> Outcome:
        key = workflow_id(event)
        # A write comes first: it takes SQLite's one write lock, so that what is read after it holds.
        row = insert(Delivery).values(guid=guid, event=name, outcome=type(event).__name__, workflow=key)
        if session.scalar(row.on_conflict_do_nothing().returning(Delivery.guid)) is None:
            failed = update(Delivery).where(Delivery.guid == guid, Delivery.state == "failed")
            reopened = failed.values(state="accepted", tries=Delivery.tries + 1).returning(Delivery.tries)
            tries = session.scalar(reopened)
            if tries is None:
                return Outcome.DUPLICATE
            key = durable.again(key, tries)
            session.execute(update(Delivery).where(Delivery.guid == guid).values(workflow=key))
        if event.repo:
            see_installed(session, event.repo, event.installation)
        if isinstance(event, RerunDone):
            self._wake(session, event, guid)
        else:
            self._enqueue(session, workflow_of(event), key, asdict(event))
        return Outcome.ACCEPTED

    def _wake(self, session: Session, event: RerunDone, guid: str) -> None:
        waiting = session.scalar(select(Rerun.investigation).where(Rerun.request == event.request))
        if waiting is not None:
            self._client.send_in_transaction(
                session, waiting, {"run_id": event.run_id}, topic=event.request, idempotency_key=guid
            )

    def _enqueue(self, session: Session, workflow: str, key: str, event: dict[str, Any]) -> None:
        self._client.enqueue_in_transaction(session, durable.options_of(workflow, key), event)


def workflow_id(event: Happened) -> str:
    """The natural key, so that another GUID with the same meaning changes nothing."""
    repo = event.repo.lower()
    match event:
        case RedJob():
            return f"red-job:{repo}:{event.job_id}"
        case RunDone():
            return f"harvest:{repo}:{event.run_id}:{event.attempt}"
        case RerunDone():
            return f"rerun-done:{repo}:{event.run_id}"
        case Command():
            edit = f":{event.updated_at}:{_digest(event.body)}" if event.before else ""
            return f"command:{repo}:{event.comment_id}{edit}"
        case CheckAsked():  # whoever may not ask must not use up the click of somebody who may
            return f"check:{repo}:{event.check_id}:{event.at}:{event.author.lower()}"
        case PullClosed():
            return f"pull-closed:{repo}:{event.pull}:{event.at}"
        case PullMoved():
            return f"pull-moved:{repo}:{event.pull}:{event.head_sha}"
        case BranchMoved():
            return f"branch:{repo}:{event.sha}"
        case InstallationChanged():
            # An installation does not always bear another time when its list of repositories changes.
            listed = _digest("\n".join(event.repos))
            return f"installation:{event.installation}:{event.at}:{event.active}:{listed}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def workflow_of(event: Happened) -> str:
    """The name of the workflow that does the work."""
    return _WORKFLOWS[type(event)]


_WORKFLOWS = {
    RedJob: "red_job",
    RunDone: "harvest",
    Command: "command",
    CheckAsked: "check_asked",
    PullClosed: "pull_closed",
    PullMoved: "pull_moved",
    BranchMoved: "branch_moved",
    InstallationChanged: "installation_changed",
}
