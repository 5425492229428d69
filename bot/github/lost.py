"""What webhooks should have told: red runs of late, and deliveries that did not arrive.

GitHub sends no delivery again by itself; it keeps them for three days, and sends one again when asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from github.Repository import Repository
from github.Requester import Requester

from bot.github.events import RERUN_PATH, RedJob, RunDone
from bot.github.runs import attempt_jobs, past_runs

MAX_RUNS: Final = 1_000
"""GitHub lists no more of them to one look."""
MAX_READ: Final = 50
"""Of failed ones, whose jobs are read in one look: one request each."""
PAGE: Final = 100
MAX_PAGES: Final = 10
ONCE_IN: Final = timedelta(days=1)
"""A delivery is asked for once in this time."""
_NEXT: Final = re.compile(r'<[^>]*[?&]cursor=([^&>]+)[^>]*>;\s*rel="next"')


@dataclass(frozen=True, slots=True)
class Look:
    """Runs made after `made`, if they changed after `changed`: a run may take hours to go red."""

    made: datetime
    changed: datetime


@dataclass(frozen=True, slots=True)
class RedJobs:
    """`left`: when the oldest run changed that is left to the next look; None: all were read."""

    jobs: list[RedJob]
    left: datetime | None


def red_jobs(repo: Repository, name: str, installation: int, look: Look) -> RedJobs:
    """The failed jobs of the latest attempts of runs that went red, in the order in which they changed."""
    found = repo.get_workflow_runs(status="failure", created=f">={look.made:%Y-%m-%dT%H:%M:%SZ}")
    runs = sorted(
        (
            run
            for run in islice(found, MAX_RUNS)
            if run.updated_at >= look.changed and run.path.partition("@")[0] != RERUN_PATH
        ),
        key=lambda run: run.updated_at,
    )
    jobs = [
        RedJob(installation, name, job.job_id, run.id, job.head_sha, job.name)
        for run in runs[:MAX_READ]
        for job in attempt_jobs(repo, run.id, run.run_attempt)
        if job.conclusion == "failure"
    ]
    return RedJobs(jobs, runs[MAX_READ].updated_at if len(runs) > MAX_READ else None)


def ended_runs(repo: Repository, name: str, installation: int, branch: str, look: Look) -> list[RunDone]:
    """The ended runs of the default branch's own code."""
    runs = past_runs(repo, branch, look.made, datetime.now(UTC), lambda read: read())
    return [RunDone(installation, name, run.run_id, run.attempt) for run in islice(runs, MAX_RUNS)]


@dataclass(frozen=True, slots=True)
class Sent:
    """One attempt at a delivery."""

    number: int
    guid: str
    at: datetime
    again: bool
    """It was asked for."""
    arrived: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """`further`: where the list goes on; "" at its end."""

    attempts: list[Sent]
    further: str


def sent(app: Requester, since: datetime, cursor: str = "") -> Listed:
    """Some pages of the App's deliveries, newest first. `app` speaks as the App."""
    found: list[Sent] = []
    for _ in range(MAX_PAGES):
        parameters = {"per_page": PAGE} | ({"cursor": cursor} if cursor else {})
        headers, page = app.requestJsonAndCheck("GET", "/app/hook/deliveries", parameters=parameters)
        attempts = [_sent(item) for item in page]
        found += [attempt for attempt in attempts if attempt.at >= since]
        following = _NEXT.search(headers.get("link", ""))
        if following is None or any(attempt.at < since for attempt in attempts):
            return Listed(found, "")
        cursor = following[1]
    return Listed(found, cursor)


def _sent(item: Mapping[str, Any]) -> Sent:
    at = datetime.fromisoformat(item["delivered_at"])
    arrived = 200 <= item["status_code"] < 300
    return Sent(item["id"], item["guid"], at, item["redelivery"], arrived)


def to_ask_for(attempts: Iterable[Sent], now: datetime, most: int) -> list[int]:
    """The deliveries to be sent again, oldest first: none of whose attempts arrived, and that nobody has
    asked for of late."""
    newest: dict[str, int] = {}
    done: set[str] = set()
    for attempt in attempts:
        newest.setdefault(attempt.guid, attempt.number)
        if attempt.arrived or (attempt.again and now - attempt.at < ONCE_IN):
            done.add(attempt.guid)
    return [number for guid, number in newest.items() if guid not in done][::-1][:most]


def ask_for(app: Requester, number: int) -> None:
    """Asked twice it comes twice, which its GUID makes harmless."""
    app.requestJsonAndCheck("POST", f"/app/hook/deliveries/{number}/attempts")
