"""Harvest: what past runs of the default branch measured, kept as readings of the arm `history`.

Runs count that a push or a schedule started; a red test is compared only with jobs of the same runner labels
and, where these name no type of machine, of the same GPU (bot/triage/red/comparable.py). The durable workflow
(bot/triage/story.py) and `kl-triage harvest` share the steps. Each may run twice.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Final

import requests
from github import GithubException
from github.Repository import Repository

from bot.github.blobs import job_log
from bot.github.events import NOTHING_RAN
from bot.github.patience import RateLimited, patiently, reason
from bot.github.runs import PastJob, attempt_jobs
from bot.logs import ScanResult, scan
from bot.store import HarvestedJob, Store
from bot.triage.red.paths import tree_path
from bot.verdict import Arm, Reading
from bot.verdict.evidence import ROUNDING
from rules import Pack

log = logging.getLogger(__name__)

LOG_LAG: Final = timedelta(hours=1)
"""A log that is not there this soon after its job may still come."""
READER: Final = 1
"""Version of what bot.logs makes of a log; another one reads past jobs again."""


class JobState(StrEnum):
    """How the reading of one job ended. `unreadable` is tried again; but for `expired`, the others too when
    another pack or reader would read the job."""

    STORED = "stored"
    NOTHING = "nothing"
    EXPIRED = "expired"
    UNREADABLE = "unreadable"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Source:
    """Whose jobs, and what a KL test looks like there. `reserve`: share of the rate limit left to others."""

    repo: Repository
    name: str
    pack: Pack
    store: Store
    reserve: float = 0.0

    @property
    def reader(self) -> str:
        """Digest of all that decides what is read out of a job."""
        decides = self.pack.model_dump_json(include={"tests", "jobs", "forms", "prints"})
        return hashlib.sha256(f"{READER}\n{decides}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class JobDone:
    """One job was read. `complete`: its log was seen to the end."""

    state: JobState
    readings: int = 0
    complete: bool = True


def jobs_to_read(source: Source, run_id: int, attempt: int) -> tuple[list[PastJob], bool]:
    """Ended jobs of one attempt that may hold KL tests and are not settled; True if others still run.

    Jobs that hold none are settled here. A job that was carried over from another attempt may have an id of
    its own there: it is known by its name, its start and its runner. Raises RateLimited, and GithubException
    (404: GitHub does not show the attempt) or requests.RequestException after a few tries.
    """
    listed = patiently(
        source.repo, lambda: attempt_jobs(source.repo, run_id, attempt), reserve=source.reserve
    )
    settled = source.store.settled_jobs(source.name, [job.job_id for job in listed], source.reader)
    elsewhere = source.store.jobs_of_other_attempts(source.name, run_id, attempt, source.reader)
    wanted, running = [], False
    for job in listed:
        if job.job_id in settled:
            continue
        if job.conclusion is None:
            running = True
        elif (job.name, datetime.fromisoformat(job.started_at), job.runner) in elsewhere:
            continue
        elif job.conclusion in NOTHING_RAN or not source.pack.is_job(job.name):
            _store(source, job, JobDone(JobState.SKIPPED), [])
        else:
            wanted.append(job)
    return wanted, running


def read_job(source: Source, job: PastJob, pauses: Sequence[float] = ()) -> JobDone:
    """Reads the log of a job and stores what it says; a log that lags is asked for again after each pause.

    Whatever is wrong with one job is stored as its state. Raises RateLimited, with nothing stored.
    """
    readings: list[Reading] = []
    try:
        scanned = _scanned(source, job)
        for pause in pauses:
            if scanned is None and _is_recent(job):
                time.sleep(pause)
                scanned = _scanned(source, job)
    except RateLimited:
        raise
    except (GithubException, requests.RequestException) as error:
        log.warning("the log of job %d of %s could not be read: %s", job.job_id, source.name, reason(error))
        done = JobDone(JobState.UNREADABLE)
    except Exception:  # one log that breaks its reader must not end the harvest of all others
        log.exception("the log of job %d of %s breaks its reader", job.job_id, source.name)
        done = JobDone(JobState.UNREADABLE)
    else:
        if scanned is None:
            done = JobDone(JobState.UNREADABLE if _is_recent(job) else JobState.EXPIRED)
        else:
            result, complete = scanned
            readings = history_readings(result, job, source.pack)
            state = JobState.STORED if readings else JobState.NOTHING
            done = JobDone(state, len(readings), complete)
    _store(source, job, done, readings)
    return done


def close_run(source: Source, run_id: int, attempt: int, jobs: Sequence[PastJob], *, running: bool) -> None:
    """`jobs` are those that were to be read; a run with one unsettled is listed again by the next harvest."""
    settled = source.store.settled_jobs(source.name, [job.job_id for job in jobs], source.reader)
    done = not running and len(settled) == len({job.job_id for job in jobs})
    source.store.close_run(source.name, run_id, attempt, source.reader, done=done)


def history_readings(scanned: ScanResult, job: PastJob, pack: Pack) -> list[Reading]:
    """The readings of the pack's tests, named by their path in the tree. One class is one server launch."""
    found = []
    for number, reading in enumerate(scanned.readings):
        printed, _, name = reading.test.partition("::")
        path = tree_path(printed, pack)
        if path is None or not name or not _is_kl(reading):
            continue
        found.append(
            replace(
                reading,
                arm=Arm.HISTORY,
                test=f"{path}::{name}",
                commit=job.head_sha,
                host=job.runner or reading.host,
                launch=f"job {job.job_id} {PurePosixPath(path).stem}.{name.partition('.')[0]}",
                seq=number,
                at=reading.at or job.started_at,
                source=f"job {job.job_id}",
            )
        )
    return found


def _is_kl(reading: Reading) -> bool:
    """A KL value is never below 0; the judge refuses a set of readings that holds another measure."""
    values = (reading.value or 0.0, *reading.per_prompt)
    return not any(value < -ROUNDING for value in values) and (reading.threshold or 0.0) >= 0


def _scanned(source: Source, job: PastJob) -> tuple[ScanResult, bool] | None:
    """What the log says and whether it was seen to its end; None when GitHub has no log of the job."""

    def read() -> tuple[ScanResult, bool] | None:
        with job_log(source.repo, job.job_id) as stream:
            if stream is None:
                return None
            result = scan(stream, source.pack.scan_forms, arm=Arm.HISTORY)
            # An empty log is no log: GitHub shows one for a while, or for good when the job's was lost.
            return (result, result.complete and not stream.cut) if stream.size or stream.cut else None

    return patiently(source.repo, read, reserve=source.reserve)


def _is_recent(job: PastJob) -> bool:
    ended = datetime.fromisoformat(job.completed_at or job.started_at)
    return datetime.now(UTC) - ended < LOG_LAG


def _store(source: Source, job: PastJob, done: JobDone, readings: Sequence[Reading]) -> None:
    row = HarvestedJob(
        repo=source.name,
        job_id=job.job_id,
        run_id=job.run_id,
        attempt=job.attempt,
        name=job.name,
        labels=list(job.labels),
        runner=job.runner,
        commit=job.head_sha,
        started_at=datetime.fromisoformat(job.started_at),
        completed_at=datetime.fromisoformat(job.completed_at) if job.completed_at else None,
        state=str(done.state),
        complete=done.complete,
        readings=done.readings,
        reader=source.reader,
    )
    records: list[dict[str, Any]] = [reading.as_record() for reading in readings]
    source.store.add_job(row, records)
