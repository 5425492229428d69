"""Reads: plain values out of PyGithub objects. A missing thing is None or empty, never an exception."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

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


def merge_base(repo: Repository, base: str, head: str) -> str:
    """The commit a head grew from: what `base` measures."""
    return repo.compare(base, head).merge_base_commit.sha


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
    try:
        return repo.compare(branch, sha).status in ("behind", "identical")
    except GithubException as error:
        if error.status in (404, 422):
            return False
        raise


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
