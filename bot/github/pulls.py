"""Pull requests of the bot: opened once, kept as the bot left them, closed. Each write looks first."""

from __future__ import annotations

import base64
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Final

from github import GithubException, UnknownObjectException
from github.CommitStatus import CommitStatus
from github.InputGitTreeElement import InputGitTreeElement
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from github.PullRequest import PullRequest
from github.PullRequestReview import PullRequestReview
from github.Repository import Repository

from bot.github.reads import branch_head
from bot.github.writes import RACES_LOST, is_final

MAX_CHECKS: Final = 100
MAX_WORDS: Final = 300
LAG_PAUSES_S: Final = (1.0, 3.0)
OWN_BRANCHES: Final = "kl-triage/"
FILE_MODES: Final = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class PullState:
    """A pull request as it is; `state` is open, merged or closed (unmerged), `head_repo` "" if gone."""

    number: int
    url: str
    state: str
    author: str
    head_sha: str
    head_ref: str
    head_repo: str
    title: str
    body: str
    draft: bool
    auto_merge: bool
    """Whether somebody has set it to merge by itself."""
    ended_at: datetime | None
    """When it was merged or closed."""


class WriteRefused(Exception):
    """GitHub said no for good and nothing was written; the message is one sentence for people."""


@contextmanager
def needing(permission: str, what: str) -> Iterator[None]:
    """Turns GitHub's no into a WriteRefused that names the permission, as `contents: write`."""
    try:
        yield
    except GithubException as error:
        if not is_final(error):
            raise
        told = str(error.data.get("message", "")) if isinstance(error.data, dict) else ""
        why = f"GitHub refused to {what} (HTTP {error.status})"
        if error.status in (403, 404) and "protected" not in told.lower():
            why += (
                f": the GitHub App needs the permission {permission}, which an owner of the organization has"
                " to approve after it was added"
            )
        elif "rule" in told.lower() or "protected" in told.lower():
            why += ": a rule of the repository protects the branch"
        raise WriteRefused(f"{why}.") from error


def state_of(repo: Repository, number: int) -> PullState | None:
    """None where there is no such pull request."""
    try:
        return _state(repo.get_pull(number))
    except UnknownObjectException:
        return None


def of_branch(repo: Repository, branch: str) -> PullState | None:
    """The newest pull request from this branch of the repository itself, open or not."""
    found = _of_branch(repo, branch)
    return None if found is None else _state(found)


def commit_on(repo: Repository, base_sha: str, path: str, new: bytes, message: str) -> str | None:
    """A commit on `base_sha` that puts `new` into a file that is there, and is on no branch yet; its SHA.

    None where the path is no plain file.
    """
    parent = repo.get_git_commit(base_sha)
    mode = _mode(repo, parent.tree.sha, path)
    if mode not in FILE_MODES:
        return None
    blob = repo.create_git_blob(base64.b64encode(new).decode(), "base64")
    tree = repo.create_git_tree([InputGitTreeElement(path, mode, "blob", sha=blob.sha)], parent.tree)
    return repo.create_git_commit(message, tree, [parent]).sha


def is_commit_on(repo: Repository, sha: str, base_sha: str) -> bool:
    """Whether the commit's only parent is `base_sha`."""
    return [parent.sha for parent in repo.get_git_commit(sha).parents] == [base_sha]


def put_branch(repo: Repository, branch: str, sha: str, ours: Collection[str]) -> bool:
    """Makes the branch, or moves it from one of `ours` to `sha`, which may force it. False: its head is
    somebody else's commit, and nothing was written.

    A race lost (409, 422) is looked at once more. Raises ValueError for a branch that is not the bot's.
    """
    if not branch.startswith(OWN_BRANCHES):
        raise ValueError(f"{branch} is not a branch of the bot's")
    for left in reversed(range(RACES_LOST)):
        head = branch_head(repo, branch)
        if head == sha:
            return True
        if head is not None and head not in ours:
            return False
        try:
            if head is None:
                repo.create_git_ref(f"refs/heads/{branch}", sha)
            else:
                ref = repo.get_git_ref(f"heads/{branch}")
                ref.update()  # a lazy reference would be edited at the address it is read from: no such call
                ref.edit(sha, force=True)
            return True
        except GithubException as error:
            if error.status not in (409, 422) or not left:
                raise
    return False


def ensure_draft(repo: Repository, branch: str, base: str, *, title: str, body: str) -> PullState:
    """The draft of a branch; one that exists is returned, and a closed one left as it is."""
    found = _of_branch(repo, branch)
    if found is not None:
        return _state(found)
    for pause in (*LAG_PAUSES_S, None):
        try:
            made = repo.create_pull(
                base, branch, title=title, body=body, draft=True, maintainer_can_modify=False
            )
            return _state(made)
        except GithubException as error:
            if pause is None or not _branch_unseen(error):
                raise
            time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def edit(repo: Repository, number: int, *, title: str, body: str) -> None:
    repo.get_pull(number).edit(title=title, body=body)


def edit_body(repo: Repository, number: int, body: str) -> None:
    repo.get_pull(number).edit(body=body)


def close(repo: Repository, number: int) -> None:
    """One that is closed already is left as it is."""
    found = repo.get_pull(number)
    if found.state == "open":
        found.edit(state="closed")


def add_label(repo: Repository, number: int, label: str) -> None:
    found = repo.get_pull(number)
    if label not in {existing.name for existing in found.labels}:
        found.add_to_labels(label)


def ask_for_review(
    repo: Repository, number: int, people: Sequence[str], teams: Sequence[str]
) -> tuple[str, ...]:
    """Asks each, once; those whom GitHub does not let us ask are returned, a team by its slug.

    One by one: a single account without access makes GitHub refuse the whole list.
    """
    found = repo.get_pull(number)
    known = {asked.login.lower() for asked in found.requested_reviewers}
    known |= {team.slug.lower() for team in found.requested_teams}
    refused = []
    for name, asked in [
        *((person, {"reviewers": [person]}) for person in people),
        *((team, {"team_reviewers": [team]}) for team in teams),
    ]:
        if name.lower() in known:
            continue
        try:
            found.create_review_request(**asked)
        except GithubException as error:
            if not is_final(error):
                raise
            refused.append(name)
    return tuple(refused)


def word_of_people(repo: Repository, number: int, own_login: str) -> str | None:
    """Address of a review or comment that a person wrote; None where only bots and we did."""
    found = repo.get_pull(number)
    words: Iterator[PullRequestReview | IssueComment] = chain(
        islice(found.get_reviews(), MAX_WORDS), islice(found.get_issue_comments(), MAX_WORDS)
    )
    # An account that was deleted was a person's, as far as anybody knows.
    by_people = (word for word in words if getattr(word.user, "type", "User") == "User")
    theirs = (word for word in by_people if getattr(word.user, "login", "").lower() != own_login.lower())
    return next((word.html_url for word in theirs), None)


def checks_seen(repo: Repository, sha: str, own_login: str) -> bool:
    """Whether anybody's check but our own has appeared on a commit. GitHub makes empty check suites for every
    App, so these tell nothing; a run that waits for approval has no checks."""
    commit = repo.get_commit(sha)
    checks = islice(commit.get_check_runs(), MAX_CHECKS)
    if any(f"{check.app.slug}[bot]" != own_login for check in checks):
        return True
    # PyGithub's own method asks at an address that is documented no more.
    statuses = PaginatedList(CommitStatus, repo.requester, f"{repo.url}/commits/{sha}/statuses", None)
    try:
        return any(True for _ in islice(statuses, 1))
    except GithubException as error:
        if not is_final(error):
            raise
        return False  # an App without the permission to read statuses sees check runs alone


def _of_branch(repo: Repository, branch: str) -> PullRequest | None:
    owner = repo.full_name.split("/")[0]
    pulls = islice(repo.get_pulls(state="all", head=f"{owner}:{branch}"), 10)
    return next((found for found in pulls if found.head.ref == branch), None)


def _branch_unseen(error: GithubException) -> bool:
    """GitHub may not see a branch for a moment after it was made, and says that the head is invalid."""
    errors = error.data.get("errors") if isinstance(error.data, dict) else None
    return error.status == 422 and any(
        isinstance(found, dict) and (found.get("field"), found.get("code")) == ("head", "invalid")
        for found in errors or ()
    )


def _mode(repo: Repository, tree: str, path: str) -> str | None:
    """Of a file below a tree, one request a folder."""
    *folders, name = path.split("/")
    for folder in folders:
        entries = repo.get_git_tree(tree).tree
        below = next((e.sha for e in entries if e.path == folder and e.type == "tree"), None)
        if below is None:
            return None
        tree = below
    entries = repo.get_git_tree(tree).tree
    return next((e.mode for e in entries if e.path == name and e.type == "blob"), None)


def _state(found: PullRequest) -> PullState:
    return PullState(
        number=found.number,
        url=found.html_url,
        state="merged" if found.merged_at is not None else found.state,
        author=getattr(found.user, "login", "") or "",
        head_sha=found.head.sha,
        head_ref=found.head.ref,
        head_repo=found.head.repo.full_name if found.head.repo else "",
        title=found.title or "",
        body=found.body or "",
        draft=found.draft,
        auto_merge=found.auto_merge is not None,
        ended_at=found.merged_at or found.closed_at,
    )
