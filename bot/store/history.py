"""Past runs of the default branch: what was read of them, and the readings they left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from bot.store.tables import HarvestedJob, HarvestedRun, HistoryReading

MAX_HISTORY: Final = 300
UNREADABLE: Final = "unreadable"


@dataclass(frozen=True, slots=True)
class Harvested:
    """What was read of a repository's jobs: jobs by state, logs cut short, readings, tests with readings."""

    jobs: Mapping[str, int]
    incomplete: int
    readings: int
    tests: int

    @property
    def read(self) -> int:
        """Jobs whose log was read."""
        return self.jobs.get("stored", 0) + self.jobs.get("nothing", 0)


class HistoryStore:
    """Every write is idempotent by GitHub's own ids, so that two processes may harvest at once."""

    def __init__(self, session: sessionmaker[Session]) -> None:
        self._session = session

    def settled_jobs(self, repo: str, jobs: Collection[int]) -> set[int]:
        """Those of these jobs that need not be asked for again."""
        with self._session() as session:
            mine = select(HarvestedJob.job_id).where(
                HarvestedJob.repo == repo.lower(),
                HarvestedJob.job_id.in_(jobs),
                HarvestedJob.state != UNREADABLE,
            )
            return set(session.scalars(mine))

    def add_job(self, job: HarvestedJob, records: Sequence[Mapping[str, Any]] = ()) -> bool:
        """A job and its readings in one transaction; False when it was settled before."""
        job.repo = job.repo.lower()
        try:
            with self._session.begin() as session:
                known = session.get(HarvestedJob, (job.repo, job.job_id))
                if known is not None and known.state != UNREADABLE:
                    return False
                session.merge(job)
                session.add_all(_reading(job, number, record) for number, record in enumerate(records))
        except IntegrityError:  # another process was faster
            return False
        return True

    def is_run_done(self, repo: str, run_id: int, attempt: int) -> bool:
        with self._session() as session:
            found = session.get(HarvestedRun, (repo.lower(), run_id, attempt))
            return found is not None and found.state == "done"

    def close_run(self, repo: str, run_id: int, attempt: int, *, done: bool) -> None:
        """`done`: nothing of this attempt is left to ask for."""
        state = "done" if done else "open"
        try:
            with self._session.begin() as session:
                session.merge(HarvestedRun(repo=repo.lower(), run_id=run_id, attempt=attempt, state=state))
        except IntegrityError:  # another process wrote the same
            return

    def history(
        self,
        repo: str,
        test: str,
        runner_label: str,
        before: datetime,
        limit: int = MAX_HISTORY,
        *,
        since: datetime,
        label: str | None = None,
    ) -> list[dict[str, Any]]:
        """Records of past runs on runners with this label, oldest first; of too many the newest `limit`.

        `label` is the check's: readings of another check of the same test are left out.
        """
        wanted = f"\n{runner_label.lower()}\n"
        mine = select(HistoryReading.record).where(
            HistoryReading.repo == repo.lower(),
            HistoryReading.test == test,
            HistoryReading.at >= since,
            HistoryReading.at < before,
            HistoryReading.runner_labels.contains(wanted, autoescape=True),
            or_(HistoryReading.label.is_(None), HistoryReading.label == label),
        )
        newest = mine.order_by(
            HistoryReading.at.desc(), HistoryReading.job_id.desc(), HistoryReading.number.desc()
        )
        with self._session() as session:
            return [dict(record) for record in session.scalars(newest.limit(limit))][::-1]

    def harvested(self, repo: str) -> Harvested:
        """All that is stored of a repository's past runs."""
        with self._session() as session:
            mine = HarvestedJob.repo == repo.lower()
            count = select(HarvestedJob.state, func.count()).where(mine).group_by(HarvestedJob.state)
            jobs = {row[0]: row[1] for row in session.execute(count)}
            cut = select(func.count()).where(mine, HarvestedJob.complete.is_(False))
            there = HistoryReading.repo == repo.lower()
            readings = select(func.count()).where(there)
            tests = select(func.count(HistoryReading.test.distinct())).where(there)
            counts = [session.scalar(query) or 0 for query in (cut, readings, tests)]
            return Harvested(jobs, *counts)


def labels_text(labels: Iterable[str]) -> str:
    """Labels are looked for whole, and GitHub does not tell their cases apart."""
    return "".join(f"\n{label.lower()}" for label in labels) + "\n"


def _reading(job: HarvestedJob, number: int, record: Mapping[str, Any]) -> HistoryReading:
    return HistoryReading(
        repo=job.repo,
        job_id=job.job_id,
        number=number,
        test=record["test"],
        label=record.get("label"),
        runner_labels=labels_text(job.labels),
        at=job.started_at,
        record=dict(record),
    )
