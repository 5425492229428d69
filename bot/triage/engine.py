"""The durable engine: DBOS on one SQLite file, one process per executor id."""

from __future__ import annotations

import fcntl
import logging
from pathlib import Path
from typing import IO

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer
from sqlalchemy import Engine as Database
from sqlalchemy.exc import DatabaseError

from bot.github import Installations
from bot.store import Store, open_database, sqlite_file
from bot.triage import durable, services, story
from bot.triage.intake import Intake
from bot.triage.settings import Settings
from bot.verdict.answer import Refusal

log = logging.getLogger(__name__)

# Pinned: a version taken from the code's hash would leave running work pending for ever after a deploy.
APPLICATION_VERSION = "story-1"


class Engine:
    """Workers and intake of one process; `start` before serving, `stop` then leave with os._exit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock: IO[str] | None = None
        self.database: Database
        self.store: Store
        self.intake: Intake

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
        try:
            self.database = open_database(
                self._settings.database_url
            )  # WAL is set before DBOS opens the file
        except DatabaseError:
            return Refusal("bad_database", f"{file} cannot be opened as an SQLite database.")
        self.store = Store(self.database)
        installations = Installations(
            self._settings.app, seconds_between_writes=self._settings.seconds_between_writes or None
        )
        services.install(services.Services(self._settings, self.store, installations))
        self._launch()
        return None

    def stop(self) -> None:
        """Running workflows stay pending and go on at the next start."""
        DBOS.destroy()
        self._client.destroy()
        self.database.dispose()

    def _launch(self) -> None:
        serializer = (
            DBOSPortableJSONSerializer()
        )  # the default pickles: who writes the file would run code here
        config: DBOSConfig = {
            "name": "kl-triage",
            "system_database_url": self._settings.database_url,
            "executor_id": self._settings.executor_id,
            "application_version": APPLICATION_VERSION,
            "serializer": serializer,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.2,
        }
        DBOS(config=config)
        DBOS.launch()
        DBOS.register_queue(durable.QUEUE, polling_interval_sec=0.2)
        # Its own and narrow: a harvest that waits for the rate limit must not hold up an investigation.
        DBOS.register_queue(
            durable.HARVEST_QUEUE, worker_concurrency=story.HARVESTS_AT_ONCE, polling_interval_sec=1.0
        )
        self._client = DBOSClient(system_database_engine=self.database, serializer=serializer)
        self.intake = Intake(self.database, self._client)
        self._free_stuck_sites()

    def _free_stuck_sites(self) -> None:
        """An open investigation whose workflow failed would block its site for ever; one without begins."""
        for investigation in self.store.open_ones():
            status = DBOS.get_workflow_status(investigation.id)
            if status is None:
                story.start(investigation.id)
            elif status.status in ("ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"):
                log.error("investigation %s was stuck; its site is free again", investigation.id)
                self.store.note(investigation.repo, investigation.id, "stuck", "It could not be finished.")
                self.store.finish(investigation.id, None)

    def _take_lock(self, database: Path) -> bool:
        """Two processes with one executor id would run every step twice (measured)."""
        path = database.with_name(f"{database.name}.lock")
        self._lock = path.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
