"""Is work being done? What /healthz says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dbos import DBOS, error
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from bot.triage import durable, story
from bot.verdict import Refusal

LONGEST_QUEUED: Final = timedelta(minutes=10)
MISSED_SWEEPS: Final = 3
LIMITS: Final = {
    durable.QUEUE: durable.AT_ONCE,
    durable.PEOPLE_QUEUE: durable.AT_ONCE,
    durable.HARVEST_QUEUE: story.HARVESTS_AT_ONCE,
    durable.SWEEP_QUEUE: 1,
}
"""How many workflows of a queue may run at once."""


@dataclass(frozen=True, slots=True)
class Health:
    """Of one process; `sweep_s` is the interval in seconds, 0 for none."""

    database: Engine
    sweep_s: float
    started: datetime

    def trouble(self, now: datetime | None = None) -> Refusal | None:
        """None while all is well."""
        now = now or datetime.now(UTC)
        try:
            with self.database.connect() as connection:
                connection.execute(text("SELECT 1 FROM deliveries LIMIT 1"))
            return self._stuck(now) or self._unswept(now)
        except (SQLAlchemyError, error.DBOSException):
            return Refusal("database", "The database does not answer.")

    def _stuck(self, now: datetime) -> Refusal | None:
        """A workflow that waits although there is room for it."""
        for queue, limit in LIMITS.items():
            waiting = _workflows(
                status="ENQUEUED", queue_name=queue, end_time=(now - LONGEST_QUEUED).isoformat(), limit=1
            )
            running = _workflows(status="PENDING", queue_name=queue, limit=limit) if waiting else []
            if waiting and len(running) < limit:
                minutes = LONGEST_QUEUED.seconds // 60
                return Refusal("stuck", f"Work of the queue {queue} has waited over {minutes} minutes.")
        return None

    def _unswept(self, now: datetime) -> Refusal | None:
        longest = timedelta(seconds=MISSED_SWEEPS * self.sweep_s)
        since = now - longest
        if not self.sweep_s or self.started > since:
            return None
        if _workflows(status="SUCCESS", name="sweep", completed_after=since.isoformat(), limit=1):
            return None
        return Refusal(
            "unswept",
            f"No sweep for lost events has ended in the last {longest.total_seconds():.0f} seconds.",
        )


def _workflows(**which: Any) -> list[Any]:
    return DBOS.list_workflows(**which, load_input=False, load_output=False)
