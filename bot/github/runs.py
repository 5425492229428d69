"""Past workflow runs of a branch and their jobs, as plain values."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from github import UnknownObjectException
from github.PaginatedList import PaginatedList
from github.Repository import Repository
from github.WorkflowJob import WorkflowJob
from github.WorkflowRun import WorkflowRun

from bot.github.events import BRANCH_EVENTS, NOTHING_RAN, RERUN_PATH

PAGE: Final = 100
MAX_JOBS: Final = 2_000
MAX_NAME: Final = 400

Ask = Callable[[Callable[[], Any]], Any]
"""Runs one read; what it does about outages and rate limits is its caller's choice."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that has ended; `attempt` is its latest."""

    run_id: int
    attempt: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PastJob:
    """JSON-like, times in ISO 8601, since it travels through the durable engine."""

    job_id: int
    run_id: int
    attempt: int
    name: str
    labels: tuple[str, ...]
    runner: str | None
    head_sha: str
    conclusion: str | None
    """None while it runs."""
    started_at: str
    completed_at: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> PastJob:
        return cls(**{**fields, "labels": tuple(fields["labels"])})


def past_runs(repo: Repository, branch: str, since: datetime, until: datetime, ask: Ask) -> Iterator[PastRun]:
    """The ended runs of the branch's own code made within these times, newest first.

    Left out: runs of forks, dispatched ones, our own reruns, runs in which nothing ran.
    """
    streams = (_runs_of_event(repo, branch, event, since, until, ask) for event in BRANCH_EVENTS)
    return heapq.merge(*streams, key=lambda run: run.created_at, reverse=True)


def attempt_jobs(repo: Repository, run_id: int, attempt: int) -> list[PastJob]:
    """The jobs of one attempt of a run. Raises UnknownObjectException where GitHub does not show it."""
    url = f"{repo.url}/actions/runs/{run_id}/attempts/{attempt}/jobs"
    listed = PaginatedList(WorkflowJob, repo.requester, url, {}, list_item="jobs")
    return [_past_job(job, run_id, attempt) for job in islice(listed, MAX_JOBS)]


def job_ended(repo: Repository, job_id: int) -> datetime | None:
    """When a job ended; None where GitHub does not show it."""
    try:
        return repo.get_workflow_job(job_id).completed_at
    except UnknownObjectException:
        return None


def job_labels(repo: Repository, job_id: int) -> tuple[str, ...]:
    """What a job asked of its runner; none where GitHub does not show it."""
    try:
        return tuple(repo.get_workflow_job(job_id).labels or ())
    except UnknownObjectException:
        return ()


def _runs_of_event(
    repo: Repository, branch: str, event: str, since: datetime, until: datetime, ask: Ask
) -> Iterator[PastRun]:
    """GitHub shows 1,000 runs of a filtered list, so each page is the first of a window that ends where the
    last page ended; later pages are asked for only where a hundred runs began in one second."""
    seen: set[int] = set()
    page = 0
    while True:
        listed: list[WorkflowRun] = ask(partial(_page, repo, branch, event, since, until, page))
        for run in listed:
            if run.id not in seen and _counts(run, branch, event):
                yield PastRun(run.id, run.run_attempt or 1, run.created_at)
            seen.add(run.id)
        if len(listed) < PAGE:
            return
        oldest = min(run.created_at for run in listed)
        until, page = (oldest, 0) if oldest < until else (until, page + 1)


def _page(
    repo: Repository, branch: str, event: str, since: datetime, until: datetime, page: int
) -> list[WorkflowRun]:
    window = f"{_stamp(since)}..{_stamp(until)}"
    found = repo.get_workflow_runs(branch=branch, event=event, status="completed", created=window)  # type: ignore[arg-type]
    return found.get_page(page)


def _counts(run: WorkflowRun, branch: str, event: str) -> bool:
    """The filters of the request are checked again: they are what keeps foreign code out of history."""
    head = run.head_repository  # GitHub gives null where a fork was deleted
    return (
        head is not None
        and head.full_name == run.repository.full_name
        and (run.head_branch, run.event, run.status) == (branch, event, "completed")
        and run.path.partition("@")[0] != RERUN_PATH
        and run.conclusion not in NOTHING_RAN
    )


def _past_job(job: WorkflowJob, run_id: int, attempt: int) -> PastJob:
    started = job.started_at or job.created_at
    return PastJob(
        job_id=job.id,
        run_id=run_id,
        attempt=attempt,
        name=job.name[:MAX_NAME],
        labels=tuple(job.labels or ()),
        runner=job.runner_name or None,
        head_sha=job.head_sha,
        conclusion=job.conclusion if job.status == "completed" else None,
        started_at=started.isoformat(),
        completed_at=job.completed_at.isoformat() if job.completed_at else None,
    )


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
