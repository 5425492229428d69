"""How a file came to be what it is: its commits and versions, and the pull requests of our own bumps.

Names and addresses of people are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from github import UnknownObjectException
from github.Commit import Commit
from github.Issue import Issue
from github.PaginatedList import PaginatedList
from github.Repository import Repository

from bot.github.reads import MAX_PAGES_ITEMS, file_at
from bot.source.history import subject_line

MAX_LISTED: Final = 300
"""Commits listed for one file; 100 a request."""
MAX_RENAMES: Final = 3
MAX_BUMP_PULLS: Final = 50
MAX_PULLS_OF_COMMIT: Final = 30


@dataclass(frozen=True, slots=True)
class FileCommit:
    """A commit that touched `path`, which was the file's name then; `at` is when it was committed."""

    sha: str
    url: str
    at: datetime
    subject: str
    path: str


@dataclass(frozen=True, slots=True)
class FileHistory:
    """Commits of a file, newest first. `complete`: its first one is among them."""

    commits: tuple[FileCommit, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class BumpPull:
    """A pull request of ours; `state` is open, merged or closed (unmerged), `at` when it got there."""

    number: int
    url: str
    head_ref: str
    state: str
    at: datetime


def file_history(repo: Repository, path: str, sha: str) -> FileHistory:
    """The commits behind `sha` that touched the file, followed through renames. Raises GithubException."""
    found: list[FileCommit] = []
    name, start = path, sha
    for _ in range(MAX_RENAMES + 1):
        room = MAX_LISTED - len(found)
        listed = list(islice(repo.get_commits(sha=start, path=name), room + 1))
        found += [_file_commit(commit, name) for commit in listed[:room]]
        if len(listed) > room:
            return FileHistory(tuple(found), False)
        before = _name_before(listed[-1], name) if listed else None
        if before is None:
            return FileHistory(tuple(found), True)
        name, start = before, listed[-1].parents[0].sha
    return FileHistory(tuple(found), False)


def version(repo: Repository, commit: FileCommit) -> bytes | None:
    """The bytes of the file at one of its commits; None where that commit removed it."""
    return file_at(repo, commit.path, commit.sha)


def landed(repo: Repository, sha: str) -> datetime | None:
    """When the last pull request that brought the commit was merged; None: none did. A branch may have been
    merged long after the commit was made. Raises GithubException."""
    pulls = islice(repo.get_commit(sha).get_pulls(), MAX_PULLS_OF_COMMIT)
    return max((pull.merged_at for pull in pulls if pull.merged_at is not None), default=None)


def recent_commits(
    repo: Repository, path: str, sha: str, since: datetime, limit: int
) -> tuple[FileCommit, ...]:
    """The newest commits behind `sha` that touched the file since then."""
    listed = repo.get_commits(sha=sha, path=path, since=since)
    return tuple(_file_commit(commit, path) for commit in islice(listed, limit))


def bump_pulls(repo: Repository, author: str, prefix: str, since: datetime) -> tuple[BumpPull, ...] | None:
    """Pull requests of `author` from branches of the repository itself that begin with `prefix`, open or
    closed since then, newest first; None when there are too many to look at each."""
    touched = [
        issue for issue in _pulls_by(repo, author) if issue.closed_at is None or issue.closed_at >= since
    ]
    if len(touched) > MAX_BUMP_PULLS:
        return None
    return tuple(found for issue in touched if (found := _bump_pull(repo, issue.number, prefix)) is not None)


def _pulls_by(repo: Repository, author: str) -> Iterator[Issue]:
    wanted = {"state": "all", "creator": author, "sort": "created", "direction": "desc"}
    listed = PaginatedList(Issue, repo.requester, f"{repo.url}/issues", wanted)
    # The filter is checked again: a server that ignored it would show every issue there is.
    for issue in islice(listed, MAX_LISTED):
        login = getattr(issue.user, "login", "")  # an account that was deleted is no account
        if issue.pull_request is not None and login.lower() == author.lower():
            yield issue


def _bump_pull(repo: Repository, number: int, prefix: str) -> BumpPull | None:
    pull = repo.get_pull(number)
    own = pull.head.repo is not None and pull.head.repo.full_name.lower() == repo.full_name.lower()
    if not own or not pull.head.ref.startswith(prefix):
        return None
    state = "merged" if pull.merged_at is not None else pull.state
    at = pull.merged_at or pull.closed_at or pull.created_at
    return BumpPull(pull.number, pull.html_url, pull.head.ref, state, at)


def _name_before(first: Commit, name: str) -> str | None:
    """What the file was called before its first commit under this name; None: it was made there."""
    if not first.parents:
        return None
    try:
        for file in islice(first.files, MAX_PAGES_ITEMS):
            if file.filename == name:
                return file.previous_filename or None
    except UnknownObjectException:
        return None
    return None


def _file_commit(commit: Commit, path: str) -> FileCommit:
    data = commit.commit
    return FileCommit(commit.sha, commit.html_url, data.committer.date, subject_line(data.message), path)
