"""Writes: each looks for its own marker first, so that doing it twice leaves one effect."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from github import GithubException
from github.CheckRun import CheckRun
from github.GithubObject import NotSet
from github.InputGitTreeElement import InputGitTreeElement
from github.IssueComment import IssueComment
from github.Repository import Repository

from bot.github.patience import limited_until
from bot.github.reads import branch_head, file_at

MAX_COMMENTS_READ: Final = 3000
RACES_LOST: Final = 2


@dataclass(frozen=True, slots=True)
class Written:
    """Where a write is to be seen; `changed` is False when it was already as wanted."""

    id: int
    url: str
    changed: bool


def upsert_comment(repo: Repository, number: int, *, marker: str, author: str, body: str) -> Written:
    """One comment per marker, ours by author too; edited in place, not written when equal."""
    found = _own_comment(repo, number, marker, author)
    if found is None:
        created = repo.get_issue(number).create_comment(body)
        return Written(created.id, created.html_url, True)
    if found.body != body:
        found.edit(body)
        return Written(found.id, found.html_url, True)
    return Written(found.id, found.html_url, False)


def react(repo: Repository, number: int, comment_id: int, reaction: str) -> None:
    """GitHub keeps one reaction of a kind per author, so this is idempotent by itself."""
    repo.get_issue(number).get_comment(comment_id).create_reaction(reaction)


def upsert_check(
    repo: Repository,
    head_sha: str,
    *,
    name: str,
    external_id: str,
    details_url: str | None,
    title: str,
    summary: str,
    text: str | None = None,
    conclusion: str | None = None,
    button: dict[str, str] | None = None,
) -> Written:
    """One check run per investigation; in progress while `conclusion` is None.

    `button`: label, identifier and description of the one thing a reader may ask for.
    """
    output: dict[str, str | list[dict[str, str | int]]] = {"title": title, "summary": summary}
    if text is not None:
        output["text"] = text
    status = "in_progress" if conclusion is None else "completed"
    actions = [] if button is None else [button]
    found = _own_check(repo, head_sha, name, external_id)
    if found is None:
        found = repo.create_check_run(
            name,
            head_sha,
            external_id=external_id,
            details_url=details_url or NotSet,
            status=status,
            conclusion=conclusion or NotSet,
            output=output,
            actions=actions,
        )
    else:
        found.edit(
            details_url=details_url or NotSet,
            status=status,
            conclusion=conclusion or NotSet,
            output=output,
            actions=actions,
        )
    return Written(found.id, found.html_url or "", True)


def commit_evidence(
    repo: Repository, branch: str, folder: str, files: Mapping[str, str], message: str
) -> str:
    """Puts files under `folder` of a side branch and returns the commit; done before: that commit again."""
    for _ in range(RACES_LOST):
        try:
            return _commit_files(repo, branch, folder, files, message)
        except GithubException as error:
            if error.status not in (409, 422):  # the branch moved under us
                raise
    return _commit_files(repo, branch, folder, files, message)


def _commit_files(repo: Repository, branch: str, folder: str, files: Mapping[str, str], message: str) -> str:
    head = branch_head(repo, branch)
    if head is not None and all(
        file_at(repo, f"{folder}/{name}", head) == text.encode() for name, text in files.items()
    ):
        return head
    elements = [
        InputGitTreeElement(f"{folder}/{name}", "100644", "blob", sha=_blob(repo, text))
        for name, text in files.items()
    ]
    if head is None:
        commit = repo.create_git_commit(message, repo.create_git_tree(elements), [])
        repo.create_git_ref(f"refs/heads/{branch}", commit.sha)
        return commit.sha
    parent = repo.get_git_commit(head)
    commit = repo.create_git_commit(message, repo.create_git_tree(elements, parent.tree), [parent])
    ref = repo.get_git_ref(f"heads/{branch}")
    ref.update()  # a lazy reference would be edited at the address it is read from: no such call
    ref.edit(commit.sha, force=False)
    return commit.sha


def is_final(error: GithubException) -> bool:
    """GitHub said no and will say so again: not a rate limit, not an outage, not a lost race."""
    return error.status in (403, 404, 410, 422) and limited_until(error, datetime.now(UTC)) is None


def _own_comment(repo: Repository, number: int, marker: str, author: str) -> IssueComment | None:
    for comment in islice(repo.get_issue(number).get_comments(), MAX_COMMENTS_READ):
        if getattr(comment.user, "login", None) == author and marker in (comment.body or ""):
            return comment
    return None


def _own_check(repo: Repository, head_sha: str, name: str, external_id: str) -> CheckRun | None:
    for check in islice(repo.get_commit(head_sha).get_check_runs(check_name=name, filter="all"), 100):
        if check.external_id == external_id:
            return check
    return None


def _blob(repo: Repository, text: str) -> str:
    return repo.create_git_blob(base64.b64encode(text.encode()).decode(), "base64").sha
