"""Filling the past: every ended run of the default branch, newest first, each job once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import requests
from github import GithubException, UnknownObjectException

from bot.github.patience import RateLimited, patiently, reason
from bot.github.runs import PastJob, PastRun, past_runs
from bot.triage.harvest.steps import JobDone, JobState, Source, close_run, jobs_to_read, read_job

log = logging.getLogger(__name__)

TROUBLES: Final = 20
"""So many jobs and runs in a row that cannot be read are GitHub's trouble or the token's, not theirs."""

LEAST_WAIT: Final = timedelta(seconds=1)
"""Of one wait: an answer that says to ask again at once, for ever, ends too."""

T = TypeVar("T")


class Stopped(Exception):
    """The harvest ends early; its text is one sentence. What was read is kept."""


@dataclass(slots=True)
class Tally:
    """How far one harvest is. `known` runs were done before it began, `seen` ones were looked at by it."""

    runs: int = 0
    known: int = 0
    seen: int = 0
    unlisted: int = 0
    """Attempts of runs whose jobs could not be listed."""
    jobs: int = 0
    """Logs that were read."""
    readings: int = 0
    expired: int = 0
    unreadable: int = 0
    """Jobs whose log could not be read, and attempts whose jobs GitHub does not show: asked for again by the
    next harvest."""
    incomplete: int = 0
    troubles: int = 0
    """Jobs and runs that could not be read, since the last one that could."""

    def add(self, job: JobDone) -> None:
        self.readings += job.readings
        self.incomplete += not job.complete
        self.expired += job.state is JobState.EXPIRED
        self.unreadable += job.state is JobState.UNREADABLE
        self.jobs += job.state in (JobState.STORED, JobState.NOTHING)
        self.troubles = self.troubles + 1 if job.state is JobState.UNREADABLE else 0


@dataclass(slots=True)
class Waiting:
    """What to do about a spent rate limit: tell until when, sleep, go on. `longest`: all waits together."""

    longest: timedelta
    tell: Callable[[datetime], None]
    waited: timedelta = timedelta(0)

    def when_allowed(self, read: Callable[[], T]) -> T:
        """Raises Stopped where the waits would come to more than `longest`."""
        while True:
            try:
                return read()
            except RateLimited as limited:
                wait = max(limited.until - datetime.now(UTC), LEAST_WAIT)
                if self.waited + wait > self.longest:
                    raise Stopped(
                        f"The rate limit is spent until {limited.until:%H:%M:%S} UTC, longer than --max-wait "
                        "allows in all; call again later and it goes on where it stopped."
                    ) from None
                self.tell(limited.until)
                self.waited += wait
                time.sleep(wait.total_seconds())


@dataclass(slots=True)
class Past:
    """The harvest of one repository's default branch."""

    source: Source
    branch: str
    waiting: Waiting
    tally: Tally = field(default_factory=Tally)

    def read(self, since: datetime, until: datetime) -> Iterator[Tally]:
        """Yields the tally after the list of runs, each job and each run. Raises Stopped, or what GitHub
        answered where not even the runs can be listed."""
        repo, tally = self.source.repo, self.tally

        def ask(read: Callable[[], T]) -> T:
            return self.waiting.when_allowed(lambda: patiently(repo, read, reserve=self.source.reserve))

        runs = list(past_runs(repo, self.branch, since, until, ask))
        attempts = [[n for n in range(1, run.attempt + 1) if not self._is_done(run, n)] for run in runs]
        tally.runs, tally.known = len(runs), sum(not left for left in attempts)
        yield tally
        for run, left in zip(runs, attempts, strict=True):
            for attempt in left:
                yield from self._attempt(run, attempt)
            tally.seen += bool(left)
            yield tally

    def _attempt(self, run: PastRun, attempt: int) -> Iterator[Tally]:
        def listed() -> tuple[list[PastJob], bool]:
            return jobs_to_read(self.source, run.run_id, attempt)

        def read(job: PastJob) -> JobDone:
            return self.waiting.when_allowed(lambda: read_job(self.source, job))

        try:
            jobs, running = self.waiting.when_allowed(listed)
        except UnknownObjectException:
            log.warning("GitHub does not show the jobs of run %d, attempt %d", run.run_id, attempt)
            self.tally.unreadable += 1
            return
        except (GithubException, requests.RequestException) as error:
            if isinstance(error, GithubException) and error.status in (401, 403):
                raise
            log.warning("the jobs of run %d could not be listed: %s", run.run_id, reason(error))
            self.tally.unlisted += 1
            self.tally.troubles += 1
            self._stop_in_trouble()
            return
        for job in jobs:
            self.tally.add(read(job))
            yield self.tally
            self._stop_in_trouble()
        close_run(self.source, run.run_id, attempt, jobs, running=running)

    def _is_done(self, run: PastRun, attempt: int) -> bool:
        source = self.source
        return source.store.is_run_done(source.name, run.run_id, attempt, source.reader)

    def _stop_in_trouble(self) -> None:
        if self.tally.troubles >= TROUBLES:
            raise Stopped(
                f"{TROUBLES} logs in a row could not be read: GitHub may be in trouble, or the token lacks "
                "the right to read Actions; call again later and it goes on where it stopped."
            )
