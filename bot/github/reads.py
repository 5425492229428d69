"""Reads: plain values out of PyGithub objects. A missing thing is None or empty, never an exception."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

import requests
from github import GithubException, UnknownObjectException
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.github.patience import limited_until

MAX_FILE_BYTES: Final = 5 * 2**20
MAX_PAGES_ITEMS: Final = 300
MAX_RED_JOBS: Final = 30
WRITERS: Final = frozenset({"admin", "maintain", "write"})


@dataclass(frozen=True, slots=True)
class Pull:
    """An open pull request, as far as triage needs it."""

    number: int
    head_sha: str
    head_ref: str
    head_repo: str
    base_ref: str


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    default_branch: str
    html_url: str


def facts(repo: Repository) -> RepositoryFacts:
    """One request; the lazy repository object of the connection knows nothing yet."""
    return RepositoryFacts(default_branch=repo.default_branch, html_url=repo.html_url)


def file_at(repo: Repository, path: str, ref: str) -> bytes | None:
    """The bytes of a file at a commit or branch; None when it is not there or over 5 MB."""
    try:
        found = repo.get_contents(path, ref=ref)
        if isinstance(found, list) or found.type != "file" or found.size > MAX_FILE_BYTES:
            return None
        if found.encoding == "base64" and found.content is not None:
            return base64.b64decode(found.content)
        return base64.b64decode(repo.get_git_blob(found.sha).content)  # contents leaves out files over 1 MB
    except UnknownObjectException:
        return None


def reader(repo: Repository, sha: str) -> Callable[[str], bytes | None]:
    """`file_at` one commit, for who tries many paths: each file is asked for once, and after the first only
    those that are there, by the list of them all."""

    @cache
    def paths() -> frozenset[str] | None:
        return _paths(repo, sha)

    asked: list[str] = []

    @cache
    def read(path: str) -> bytes | None:
        listed = paths() if asked else None
        asked.append(path)
        return file_at(repo, path, sha) if listed is None or path in listed else None

    return read


def branch_head(repo: Repository, branch: str) -> str | None:
    """The commit a branch points to; None when there is no such branch."""
    try:
        return repo.get_git_ref(f"heads/{branch}").object.sha
    except UnknownObjectException:
        return None


def open_pulls(repo: Repository, head_sha: str, run_id: int) -> tuple[Pull, ...]:
    """The open pull requests whose head is this commit, which a run of CI measured, by number.

    GitHub lists none for a commit of a fork: those are found by the repository and branch of the run.
    """
    found = _of_commit(repo, head_sha) or _of_run(repo, head_sha, run_id)
    return tuple(sorted(map(_pull, found), key=lambda pull: pull.number))


def pull(repo: Repository, number: int) -> Pull | None:
    """A pull request by number; None when it is not open."""
    try:
        found = repo.get_pull(number)
        return _pull(found) if found.state == "open" else None
    except UnknownObjectException:
        return None


def changed_paths(repo: Repository, number: int) -> tuple[str, ...] | None:
    """Paths a pull request touches, old names included; None when there are too many to see them all."""
    files = list(islice(repo.get_pull(number).get_files(), MAX_PAGES_ITEMS + 1))
    if len(files) > MAX_PAGES_ITEMS:
        return None
    renamed = [f.previous_filename for f in files if f.previous_filename]
    return tuple(sorted({f.filename for f in files} | set(renamed)))


def merge_base(repo: Repository, base: str, head: str) -> str | None:
    """The commit a head grew from: what `base` measures. None where they have none in common."""
    compared = _compared(repo, base, head)
    return None if compared is None else str(compared["merge_base_commit"]["sha"])


def red_jobs(repo: Repository, head_sha: str) -> tuple[tuple[int, int], ...]:
    """(job id, run id) of the jobs that failed on a commit, newest run first, at most MAX_RED_JOBS."""
    runs = [
        run for run in islice(repo.get_workflow_runs(head_sha=head_sha), 50) if run.conclusion == "failure"
    ]
    found = ((job.id, run.id) for run in runs for job in run.jobs() if job.conclusion == "failure")
    return tuple(islice(found, MAX_RED_JOBS))


def may_write(repo: Repository, login: str) -> bool:
    """By the role that the collaborator endpoint tells; fail closed: any other answer, or none, is a no.

    Raises on a spent rate limit alone, so that the step that asks waits.
    """
    try:
        return repo.get_collaborator_permission(login) in WRITERS
    except GithubException as error:
        if limited_until(error, datetime.now(UTC)) is not None:
            raise
        return False
    except (requests.RequestException, KeyError, TypeError):
        return False


def is_ancestor(repo: Repository, branch: str, sha: str) -> bool:
    """Whether the branch contains the commit; False also where GitHub knows no such commit."""
    compared = _compared(repo, branch, sha)
    return compared is not None and compared["status"] in ("behind", "identical")


def _compared(repo: Repository, base: str, head: str) -> Mapping[str, Any] | None:
    """Without the commits between, of which there may be thousands."""
    address = f"{repo.url}/compare/{quote(base)}...{quote(head)}"
    try:
        return repo.requester.requestJsonAndCheck("GET", address, parameters={"per_page": 1})[1]  # type: ignore[no-any-return]
    except GithubException as error:
        if error.status in (404, 422):
            return None
        raise


def _paths(repo: Repository, sha: str) -> frozenset[str] | None:
    """Of all files of a commit; None where GitHub does not list them all."""
    address = f"{repo.url}/git/trees/{sha}"
    _, tree = repo.requester.requestJsonAndCheck("GET", address, parameters={"recursive": "1"})
    if tree["truncated"]:
        return None
    return frozenset(entry["path"] for entry in tree["tree"] if entry["type"] == "blob")


def _of_commit(repo: Repository, head_sha: str) -> list[PullRequest]:
    listed = islice(repo.get_commit(head_sha).get_pulls(), MAX_PAGES_ITEMS)
    return [found for found in listed if found.state == "open" and found.head.sha == head_sha]


def _of_run(repo: Repository, head_sha: str, run_id: int) -> list[PullRequest]:
    try:
        run = repo.get_workflow_run(run_id)
        source, branch = run.head_repository, run.head_branch
    except UnknownObjectException:
        return []
    if source is None or not branch:  # GitHub gives null where a fork was deleted
        return []
    head = f"{source.full_name.partition('/')[0]}:{branch}"
    listed = islice(repo.get_pulls(state="open", head=head), MAX_PAGES_ITEMS)
    # A filter that GitHub does not understand is ignored, and then every pull request is listed.
    wanted = (head_sha, branch, source.full_name)
    return [
        found
        for found in listed
        if found.head.repo and (found.head.sha, found.head.ref, found.head.repo.full_name) == wanted
    ]


def _pull(found: PullRequest) -> Pull:
    return Pull(
        number=found.number,
        head_sha=found.head.sha,
        head_ref=found.head.ref,
        head_repo=found.head.repo.full_name if found.head.repo else "",
        base_ref=found.base.ref,
    )
