"""Past runs of the default branch: what was read of them, and the readings they left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from bot.store.room import Room
from bot.store.tables_history import HarvestedJob, HarvestedRun, HistoryReading

MAX_HISTORY: Final = 300
STORED: Final = "stored"
EXPIRED: Final = "expired"
UNREADABLE: Final = "unreadable"

Ran = tuple[str, datetime, str | None]
"""What tells a job of one run from another, whatever its id: name, start, runner."""


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


class HistoryStore(Room):
    """Every write is idempotent by GitHub's own ids, so that two processes may harvest at once."""

    def settled_jobs(self, repo: str, jobs: Collection[int], reader: str) -> set[int]:
        """Those of these jobs that this reader need not ask for again."""
        with self._session() as session:
            mine = select(HarvestedJob).where(
                HarvestedJob.repo == repo.lower(), HarvestedJob.job_id.in_(jobs)
            )
            return {job.job_id for job in session.scalars(mine) if _is_settled(job, reader)}

    def jobs_of_other_attempts(self, repo: str, run_id: int, attempt: int, reader: str) -> set[Ran]:
        """Jobs of the run that this reader found in other attempts; one carried over is among them."""
        with self._session() as session:
            return _found_elsewhere(session, repo.lower(), run_id, attempt, reader)

    def add_job(self, job: HarvestedJob, records: Sequence[Mapping[str, Any]] = ()) -> bool:
        """A job and its readings in one transaction, in place of what another reader made of it; False when
        it was settled before.

        Readings stay where the log has expired since, or where another reader finds none.
        """
        job.repo = job.repo.lower()
        try:
            with self._session.begin() as session:
                known = session.get(HarvestedJob, (job.repo, job.job_id))
                if known is not None and _is_settled(known, job.reader):
                    return False
                if _ran(job) in _found_elsewhere(session, job.repo, job.run_id, job.attempt, job.reader):
                    return False
                if known is not None and known.state == STORED and job.state != STORED:
                    known.reader = known.reader if job.state == UNREADABLE else job.reader
                    return True
                if known is not None:
                    mine = (HistoryReading.repo == job.repo, HistoryReading.job_id == job.job_id)
                    session.execute(delete(HistoryReading).where(*mine))
                session.merge(job)
                session.add_all(_reading(job, number, record) for number, record in enumerate(records))
        except IntegrityError:  # another process was faster
            return False
        return True

    def is_run_done(self, repo: str, run_id: int, attempt: int, reader: str) -> bool:
        with self._session() as session:
            found = session.get(HarvestedRun, (repo.lower(), run_id, attempt))
            return found is not None and (found.state, found.reader) == ("done", reader)

    def close_run(self, repo: str, run_id: int, attempt: int, reader: str, *, done: bool) -> None:
        """`done`: nothing of this attempt is left for this reader to ask for."""
        state = "done" if done else "open"
        run = HarvestedRun(repo=repo.lower(), run_id=run_id, attempt=attempt, state=state, reader=reader)
        try:
            with self._session.begin() as session:
                session.merge(run)
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
        labels: Collection[str] | None = None,
        gpu: str | None = None,
    ) -> list[dict[str, Any]]:
        """Records of past runs on runners with this label, oldest first; of too many the newest `limit`.

        `label` is the check's: readings of another check of the same test are left out. `labels`: only of
        jobs that asked for exactly these; `gpu`: only where the log names this GPU.
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
        if labels is not None:
            mine = mine.where(HistoryReading.runner_labels == labels_text(labels))
        if gpu is not None:
            mine = mine.where(HistoryReading.record["gpu"].as_string() == gpu)
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
    return "".join(f"\n{label}" for label in sorted({label.lower() for label in labels})) + "\n"


def _is_settled(job: HarvestedJob, reader: str) -> bool:
    return job.state == EXPIRED or (job.state != UNREADABLE and job.reader == reader)


def _ran(job: HarvestedJob) -> Ran:
    return job.name, job.started_at, job.runner


def _found_elsewhere(session: Session, repo: str, run_id: int, attempt: int, reader: str) -> set[Ran]:
    """A copy of what is stored is never read beside it, whatever read that."""
    found = select(HarvestedJob).where(
        HarvestedJob.repo == repo,
        HarvestedJob.run_id == run_id,
        HarvestedJob.attempt != attempt,
        or_(
            HarvestedJob.state == STORED,
            and_(HarvestedJob.state.not_in((EXPIRED, UNREADABLE)), HarvestedJob.reader == reader),
        ),
    )
    return {_ran(job) for job in session.scalars(found)}


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
