"""Writes: each looks for its own marker first, so that doing it twice leaves one effect; those of one marker
happen one at a time."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final, TypeVar

import requests
from github import GithubException
from github.CheckRun import CheckRun
from github.GithubObject import NotSet
from github.InputGitTreeElement import InputGitTreeElement
from github.IssueComment import IssueComment
from github.Repository import Repository

from bot.github.locks import Locks
from bot.github.patience import limited_until
from bot.github.reads import branch_head, file_at

MAX_COMMENTS_READ: Final = 3000
RACES_LOST: Final = 2
LOOKS_AFTER_LOST: Final = 4
LOOK_EVERY_S: Final = 5.0
"""GitHub gives a request up after ten seconds; what it did until then is to be seen within twenty."""

T = TypeVar("T")
_locks: Final = Locks()


@dataclass(frozen=True, slots=True)
class Written:
    """Where a write is to be seen; `changed` is False when it was already as wanted."""

    id: int
    url: str
    changed: bool


def upsert_comment(repo: Repository, number: int, *, marker: str, author: str, body: str) -> Written:
    """One comment per marker, with which `body` begins, ours by author too; edited in place, not written when
    equal. Where there are several, the first is kept."""
    with one_at_a_time(repo, number, marker):
        found = list(_own_comments(repo, number, marker, author))
        if not found:
            made = _created(
                lambda: repo.get_issue(number).create_comment(body),
                lambda: _own_comment(repo, number, marker, author),
            )
            return Written(made.id, made.html_url, True)
        first, *others = found
        changed = first.body != body
        if changed:
            first.edit(body)
        for other in others:
            with contextlib.suppress(GithubException):  # the next edit tries again
                other.delete()
        return Written(first.id, first.html_url, changed)


def one_at_a_time(repo: Repository, number: int, marker: str) -> contextlib.AbstractContextManager[None]:
    """Held while the comment with this marker is written; also by who must not be overtaken on the way."""
    return _locks.hold(_name(repo), number, marker)


def own_comment(repo: Repository, number: int, *, marker: str, author: str) -> str:
    """The text of the comment with this marker as it stands; "" where there is none."""
    found = _own_comment(repo, number, marker, author)
    return "" if found is None else found.body or ""


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
    with _locks.hold(_name(repo), head_sha, name, external_id):
        found = _own_checks(repo, head_sha, name, external_id)
        if not found:
            made = _created(
                lambda: repo.create_check_run(
                    name,
                    head_sha,
                    external_id=external_id,
                    details_url=details_url or NotSet,
                    status=status,
                    conclusion=conclusion or NotSet,
                    output=output,
                    actions=actions,
                ),
                lambda: next(iter(_own_checks(repo, head_sha, name, external_id)), None),
            )
            return Written(made.id, made.html_url or "", True)
        for check in found:  # several would be the effect of a write whose answer was lost: all say the same
            check.edit(
                details_url=details_url or NotSet,
                status=status,
                conclusion=conclusion or NotSet,
                output=output,
                actions=actions,
            )
        return Written(found[0].id, found[0].html_url or "", True)


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


def _created(create: Callable[[], T], look: Callable[[], T | None]) -> T:
    """What one POST made. Where its answer was lost, it is looked for before anybody may send it again."""
    try:
        return create()
    except (GithubException, requests.RequestException) as error:
        if isinstance(error, GithubException) and error.status < 500:
            raise
        for _ in range(LOOKS_AFTER_LOST):
            with contextlib.suppress(GithubException, requests.RequestException):
                if (found := look()) is not None:
                    return found
            time.sleep(LOOK_EVERY_S)
        raise


def _name(repo: Repository) -> str:
    """owner/name, of a lazy object too, which knows no more than its address."""
    return repo.url.partition("/repos/")[2].lower()


def _own_comments(repo: Repository, number: int, marker: str, author: str) -> Iterator[IssueComment]:
    for comment in islice(repo.get_issue(number).get_comments(), MAX_COMMENTS_READ):
        if getattr(comment.user, "login", None) == author and (comment.body or "").startswith(marker):
            yield comment


def _own_comment(repo: Repository, number: int, marker: str, author: str) -> IssueComment | None:
    return next(_own_comments(repo, number, marker, author), None)


def _own_checks(repo: Repository, head_sha: str, name: str, external_id: str) -> list[CheckRun]:
    listed = islice(repo.get_commit(head_sha).get_check_runs(check_name=name, filter="all"), 100)
    return [check for check in listed if check.external_id == external_id]


def _blob(repo: Repository, text: str) -> str:
    return repo.create_git_blob(base64.b64encode(text.encode()).decode(), "base64").sha
