"""What the stand-in remembers besides git: small records, in memory, behind the world's one lock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.demo.executor import JobStep, Runner

Json = dict[str, Any]


def now() -> datetime:
    """GitHub's times have whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class User:
    id: int
    login: str
    type: str = "User"


@dataclass(slots=True)
class Reaction:
    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(slots=True)
class Comment:
    id: int
    issue: int
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Review:
    """`state` is APPROVED, CHANGES_REQUESTED or COMMENTED."""

    id: int
    user: User
    state: str
    body: str
    sha: str
    at: datetime


@dataclass(slots=True)
class Label:
    id: int
    name: str
    color: str = "ededed"


@dataclass(slots=True)
class Issue:
    """One that is no pull request."""

    number: int
    user: User
    title: str
    created_at: datetime
    updated_at: datetime
    body: str | None = None
    state: str = "open"
    closed_at: datetime | None = None
    labels: list[Label] = field(default_factory=list)


@dataclass(slots=True)
class LabelEvent:
    """`event` is labeled or unlabeled."""

    id: int
    issue: int
    event: str
    label: Label
    actor: User
    at: datetime


@dataclass(slots=True)
class Pull:
    """`base_sha` is the tip of the base branch when the head was last pushed, as on GitHub."""

    id: int
    number: int
    user: User
    title: str
    body: str | None
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool
    created_at: datetime
    updated_at: datetime
    maintainer_can_modify: bool = False
    head_repository: str | None = None
    """Full name of the fork it comes from; None: a branch of this repository."""
    state: str = "open"
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_sha: str | None = None
    """A trial merge while open, the commit that brought it in when merged."""
    mergeable: bool | None = None
    labels: list[Label] = field(default_factory=list)
    reviewers: list[User] = field(default_factory=list)
    """Who is asked to review."""
    teams: list[str] = field(default_factory=list)
    """Their slugs."""
    reviews: list[Review] = field(default_factory=list)


@dataclass(slots=True)
class CheckRun:
    id: int
    suite_id: int
    app: str
    """Slug: the installed App's, or github-actions."""
    head_sha: str
    name: str
    status: str = "queued"
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    external_id: str | None = None
    details_url: str | None = None
    output: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """A commit status; never changed, a newer one of its context counts."""

    id: int
    sha: str
    user: User
    state: str
    context: str
    description: str | None
    target_url: str | None
    created_at: datetime


@dataclass(slots=True)
class Workflow:
    """`name` and times are those of the file on the default branch when it was first seen."""

    id: int
    path: str
    name: str
    created_at: datetime


@dataclass(slots=True)
class Run:
    id: int
    number: int
    workflow: Workflow
    event: str
    display_title: str
    head_branch: str
    head_sha: str
    actor: User
    suite_id: int
    created_at: datetime
    updated_at: datetime
    attempt: int = 1
    status: str = "queued"
    conclusion: str | None = None
    head_repository: str | None = None
    """Full name of the fork it came from; None: of this repository."""


@dataclass(slots=True)
class LogFault:
    """What is wrong with the log of a job: for `times` requests, or for ever."""

    status: int | None = None
    """The log's address answers with this."""
    cut_after: int | None = None
    """The connection ends after so many bytes."""
    pause_s: float = 0.0
    """The storage sends a little, then waits so long."""
    times: int | None = None

    def strikes(self) -> bool:
        """Counts one request."""
        if self.times is not None:
            self.times -= 1
        return self.times is None or self.times >= 0


@dataclass(slots=True)
class Job:
    """Its id is also the id of its check run."""

    id: int
    run: Run
    name: str
    labels: tuple[str, ...]
    created_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    runner: Runner | None = None
    steps: tuple[JobStep, ...] = ()
    log: bytearray = field(default_factory=bytearray)
    attempts: tuple[int, ...] = (1,)
    """A job that passed is carried over into the next attempt of its run."""
    log_fault: LogFault | None = None


@dataclass(slots=True)
class Artifact:
    id: int
    name: str
    run: Run
    data: bytes
    created_at: datetime


# Counters start far apart, so that an id of the wrong kind is never a valid one by chance.
STARTS = {
    "user": 1_001,
    "number": 1,
    "label": 7_400_001,
    "event": 17_000_001,
    "workflow": 140_000_001,
    "reaction": 310_000_001,
    "pull": 1_900_000_001,
    "review": 2_100_000_001,
    "comment": 2_800_000_001,
    "artifact": 3_600_000_001,
    "run": 17_200_000_001,
    "suite": 30_500_000_001,
    "status": 39_200_000_001,
    "check": 48_100_000_001,
}


@dataclass
class State:
    users: dict[str, User] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    label_events: list[LabelEvent] = field(default_factory=list)
    comments: dict[int, Comment] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    """Branches as last seen: what a push is told by."""
    suites: dict[tuple[str, str], int] = field(default_factory=dict)
    """One check suite for each (app, commit)."""
    _ids: dict[str, Iterator[int]] = field(default_factory=dict)

    def next_id(self, kind: str) -> int:
        return next(self._ids.setdefault(kind, itertools.count(STARTS[kind])))

    def user(self, login: str, type_: str = "User") -> User:
        """The user with this login, made on first sight."""
        key = login.casefold()
        if key not in self.users:
            self.users[key] = User(self.next_id("user"), login, type_)
        return self.users[key]

    def suite(self, app: str, sha: str) -> int:
        key = (app, sha)
        if key not in self.suites:
            self.suites[key] = self.next_id("suite")
        return self.suites[key]

    def jobs_of(self, run: Run, attempt: int | None = None) -> list[Job]:
        """Of the latest attempt, unless another is named."""
        wanted = attempt or run.attempt
        return [job for job in self.jobs.values() if job.run is run and wanted in job.attempts]

    def comments_of(self, number: int) -> list[Comment]:
        return [comment for comment in self.comments.values() if comment.issue == number]
