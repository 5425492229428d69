"""The durable engine: DBOS on one SQLite file, one process per executor id."""

from __future__ import annotations

import fcntl
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, ScheduleInput
from sqlalchemy import Engine as Database
from sqlalchemy.exc import DatabaseError

from bot.github.connect import connect
from bot.store import Store, open_database, outdated, sqlite_file, workflow_engine
from bot.triage import durable, obeying, services, story, sweeping, upkeep
from bot.triage.health import Health
from bot.triage.intake import Intake
from bot.triage.settings import Settings
from bot.verdict.answer import Refusal

log = logging.getLogger(__name__)

WORKFLOWS: Final = (obeying, story, sweeping, upkeep)
"""Importing a module registers its workflows; one that is not known when work is taken up stays undone."""
# Pinned: a version taken from the code's hash would leave running work pending for ever after a deploy.
APPLICATION_VERSION: Final = "story-2"
INTAKE_BUSY_S: Final = 5.0
"""GitHub waits ten seconds for an answer; a delivery that waits longer for the database is sent again."""


class Engine:
    """Workers and intake of one process; `start` before serving, `stop` then leave with os._exit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock: IO[str] | None = None
        self.database: Database
        self.store: Store
        self.intake: Intake
        self.health: Health

    def start(self) -> Refusal | None:
        """Opens the database and resumes what was running; a refusal when another process holds it."""
        file = sqlite_file(self._settings.database_url)
        if isinstance(file, Refusal):
            return file
        if not file.parent.is_dir() or file.is_dir():
            return Refusal(
                "bad_database", f"{file} cannot be a database: give a file in a folder that exists."
            )
        if not self._take_lock(file):
            return Refusal(
                "already_running",
                f"Another kl-triage works on {file.name} as '{self._settings.executor_id}'; "
                "stop it, or set KL_TRIAGE_EXECUTOR_ID and KL_TRIAGE_DATABASE_URL for a second one.",
            )
        refusal = self._open(file)
        if refusal is not None:
            return refusal
        connection = connect(
            self._settings.credentials,
            seconds_between_writes=self._settings.seconds_between_writes or None,
        )
        services.install(services.Services(self._settings, self.store, connection))
        self._launch()
        return None

    def stop(self) -> None:
        """Running workflows stay pending and go on at the next start."""
        DBOS.destroy()
        self._client.destroy()
        self._workflow_database.dispose()
        self._intake_database.dispose()
        self.database.dispose()

    def _open(self, file: Path) -> Refusal | None:
        """Before DBOS opens the file, since it is this that sets WAL."""
        try:
            self.database = open_database(self._settings.database_url)
            self._intake_database = open_database(self._settings.database_url, busy_s=INTAKE_BUSY_S)
            self._workflow_database = workflow_engine(self._settings.database_url)
        except DatabaseError:
            return Refusal("bad_database", f"{file} cannot be opened as an SQLite database.")
        self.store = Store(self.database)
        return outdated(self.database)

    def _launch(self) -> None:
        serializer = (
            DBOSPortableJSONSerializer()
        )  # the default pickles: who writes the file would run code here
        config: DBOSConfig = {
            "name": "kl-triage",
            "system_database_url": self._settings.database_url,
            "system_database_engine": self._workflow_database,
            "executor_id": self._settings.executor_id,
            "application_version": APPLICATION_VERSION,
            "serializer": serializer,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.2,
        }
        DBOS(config=config)
        DBOS.launch()
        DBOS.register_queue(durable.QUEUE, worker_concurrency=durable.AT_ONCE, polling_interval_sec=0.2)
        DBOS.register_queue(
            durable.PEOPLE_QUEUE, worker_concurrency=durable.AT_ONCE, polling_interval_sec=0.2
        )
        # Its own and narrow: a harvest that waits for the rate limit must not hold up an investigation.
        DBOS.register_queue(
            durable.HARVEST_QUEUE, worker_concurrency=story.HARVESTS_AT_ONCE, polling_interval_sec=1.0
        )
        self._client = DBOSClient(system_database_engine=self.database, serializer=serializer)
        self.intake = Intake(self._intake_database, self._client)
        self.health = Health(self._intake_database, self._settings.sweep_s, datetime.now(UTC))
        story.start_again(sweeping.without_workflow(services.services()))
        self._schedule_sweeps()

    def _schedule_sweeps(self) -> None:
        DBOS.register_queue(durable.SWEEP_QUEUE, worker_concurrency=1, polling_interval_sec=1.0)
        interval = sweeping.cron(self._settings.sweep_s)
        if interval is None:
            DBOS.delete_schedule("sweep")
            return
        schedule: ScheduleInput = {
            "schedule_name": "sweep",
            "workflow_fn": sweeping.sweep,
            "schedule": interval,
            "context": None,
            "queue_name": durable.SWEEP_QUEUE,
        }
        DBOS.apply_schedules([schedule])
        # What was lost while the bot was down is looked for at once.
        started = datetime.now(UTC).isoformat()
        DBOS.enqueue_workflow_with_options(durable.options_of("sweep", f"sweep:{started}"), started, True)

    def _take_lock(self, database: Path) -> bool:
        """Two processes with one executor id would run every step twice (measured)."""
        path = database.with_name(f"{database.name}.lock")
        self._lock = path.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
