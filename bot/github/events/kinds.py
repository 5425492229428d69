"""What may have happened, in our words.

`installation` is 0 where the payload names none: the webhook of a repository, with a token instead of an App.
Times are ISO text in UTC: they go into natural keys and into durable workflows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RedJob:
    """A workflow job completed with conclusion `failure`."""

    installation: int
    repo: str
    job_id: int
    run_id: int
    head_sha: str
    name: str = ""
    """"": not told."""


@dataclass(frozen=True, slots=True)
class RerunDone:
    """One of our own rerun runs completed, whatever its conclusion."""

    installation: int
    repo: str
    run_id: int
    request: str


@dataclass(frozen=True, slots=True)
class RunDone:
    """A run of the default branch's own code completed, green or red; `attempt` counts from 1."""

    installation: int
    repo: str
    run_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Command:
    """A comment on a pull request that may hold a command; whether its author may command is asked later."""

    installation: int
    repo: str
    pull: int
    comment_id: int
    author: str
    """Who wrote the text as it stands: of an edited comment, who edited it."""
    body: str
    before: str
    """The text before the edit; empty for a comment that was just made."""
    updated_at: str


@dataclass(frozen=True, slots=True)
class CheckAsked:
    """A person asked for our check again, by its own button or by GitHub's."""

    installation: int
    repo: str
    head_sha: str
    check_id: int
    """Of the check run; of the suite where the whole suite was asked for."""
    external_id: str
    """The investigation; empty where the whole suite was asked for."""
    author: str
    at: str
    """When the check ended last: two clicks on one result ask once."""


@dataclass(frozen=True, slots=True)
class PullClosed:
    installation: int
    repo: str
    pull: int
    head_ref: str
    merged: bool
    at: str


@dataclass(frozen=True, slots=True)
class PullMoved:
    """Commits were pushed to the head of a pull request: `before` was its head."""

    installation: int
    repo: str
    pull: int
    head_sha: str
    before: str


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The default branch has the head `sha`."""

    installation: int
    repo: str
    sha: str


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The App came to repositories, or left them. `repo` is empty."""

    installation: int
    repo: str
    repos: tuple[str, ...]
    """Empty: all that are known of the installation."""
    active: bool
    at: str


@dataclass(frozen=True, slots=True)
class Ignored:
    why: str


Happened = (
    RedJob
    | RerunDone
    | RunDone
    | Command
    | CheckAsked
    | PullClosed
    | PullMoved
    | BranchMoved
    | InstallationChanged
)
Event = Happened | Ignored
