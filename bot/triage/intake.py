"""A delivery is stored and queued in one transaction; GitHub is never called from the request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from dbos import DBOSClient, EnqueueOptions
from sqlalchemy import Engine, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from bot.github import Command, Event, Ignored, RedJob, RerunDone, RunDone, parse
from bot.store import Delivery, Rerun
from bot.triage import commands, durable

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"


class Intake:
    """The only writer of `deliveries`."""

    def __init__(self, database: Engine, client: DBOSClient) -> None:
        self._database = database
        self._client = client

    def receive(self, guid: str, name: str, payload: Mapping[str, Any]) -> Outcome:
        """Stores the delivery and queues its work, or does nothing for one that was stored before."""
        event = parse(name, payload)
        if isinstance(event, Command) and not commands.parse(event.body):
            event = Ignored("issue_comment: no command in it")
        if isinstance(event, Ignored):
            log.info("delivery %s ignored: %s", guid, event.why)
            return Outcome.IGNORED
        try:
            with Session(self._database) as session, session.begin():
                session.add(Delivery(guid=guid, event=name, outcome=type(event).__name__))
                session.flush()
                self._queue(session, guid, event)
        except IntegrityError:
            return Outcome.DUPLICATE
        return Outcome.ACCEPTED

    def _queue(self, session: Session, guid: str, event: Event) -> None:
        """The workflow id is the natural key, so that another GUID with the same meaning changes nothing."""
        if isinstance(event, RedJob):
            self._enqueue(session, "red_job", f"red-job:{event.repo}:{event.job_id}", asdict(event))
        elif isinstance(event, Command):
            self._enqueue(session, "command", f"command:{event.repo}:{event.comment_id}", asdict(event))
        elif isinstance(event, RunDone):
            key = f"harvest:{event.repo}:{event.run_id}:{event.attempt}"
            self._enqueue(session, "harvest", key, asdict(event))
        elif isinstance(event, RerunDone):
            waiting = session.scalar(select(Rerun.investigation).where(Rerun.request == event.request))
            if waiting is not None:
                self._client.send_in_transaction(
                    session, waiting, {"run_id": event.run_id}, topic=event.request, idempotency_key=guid
                )

    def _enqueue(self, session: Session, workflow: str, key: str, event: dict[str, Any]) -> None:
        queue = durable.HARVEST_QUEUE if workflow == "harvest" else durable.QUEUE
        options: EnqueueOptions = {"workflow_name": workflow, "queue_name": queue, "workflow_id": key}
        self._client.enqueue_in_transaction(session, options, event)
