"""The life of a pull request: opened, pushed to, its base moved, merged by a push, closed."""

from __future__ import annotations

import logging

from bot.demo.github import events, runs
from bot.demo.github.diff import diff
from bot.demo.github.errors import ApiError, invalid
from bot.demo.github.git import ZERO, GitError, Person
from bot.demo.github.shapes_git import file_diff
from bot.demo.github.state import Json, Pull, User, now
from bot.demo.github.world import World

log = logging.getLogger(__name__)


def branch_of(w: World, name: str, field: str) -> tuple[str, str]:
    """Branch and commit of `branch` or `owner:branch`. Raises 422: heads in forks are not served."""
    owner, colon, branch = name.rpartition(":")
    if colon and owner.casefold() != w.config.owner.casefold():
        raise invalid("PullRequest", field)
    sha = w.git.refs("refs/heads/").get(f"refs/heads/{branch}")
    if sha is None:
        raise invalid("PullRequest", field)
    return branch, sha


def open_pull(
    w: World, head: str, base: str, title: str, body: str | None, draft: bool, modify: bool, who: User
) -> Pull:
    """Raises ApiError 422 as GitHub does: no such branch, nothing to merge, already there."""
    head_ref, head_sha = branch_of(w, head, "head")
    base_ref, base_sha = branch_of(w, base, "base")
    for other in w.state.pulls.values():
        same = (other.state, other.head_ref, other.base_ref) == ("open", head_ref, base_ref)
        if same and other.head_repository is None:
            message = f"A pull request already exists for {w.config.owner}:{head_ref}."
            raise _refused(message)
    if w.git.merge_base(base_sha, head_sha) is None:
        message = f"The {head_ref} branch has no history in common with {base_ref}"
        raise _refused(message)
    if w.git.is_ancestor(head_sha, base_sha):
        message = f"No commits between {base_ref} and {head_ref}"
        raise _refused(message)
    return add_pull(w, head_ref, head_sha, base_ref, base_sha, title, body, draft, modify, who)


def add_pull(
    w: World,
    head_ref: str,
    head_sha: str,
    base_ref: str,
    base_sha: str,
    title: str,
    body: str | None,
    draft: bool,
    modify: bool,
    who: User,
    fork: str | None = None,
) -> Pull:
    """Makes it, tells of it and starts its workflows; `fork`: full name of the head's repository."""
    number, moment = w.state.next_id("number"), now()
    pull = Pull(
        id=w.state.next_id("pull"),
        number=number,
        user=who,
        title=title,
        body=body,
        head_ref=head_ref,
        head_sha=head_sha,
        base_ref=base_ref,
        base_sha=base_sha,
        draft=draft,
        created_at=moment,
        updated_at=moment,
        maintainer_can_modify=modify,
        head_repository=fork,
    )
    w.state.pulls[number] = pull
    refresh(w, pull)
    payload = events.pull_request(w, "opened", pull, who)
    runs.start_for_pull(w, "opened", pull, payload, who)
    return pull


def head_owner(w: World, pull: Pull) -> str:
    """In lower case: whose repository the head is in."""
    return (pull.head_repository or w.config.full_name).partition("/")[0].casefold()


def _refused(message: str) -> ApiError:
    error = {"resource": "PullRequest", "code": "custom", "message": message}
    return ApiError(422, "Validation Failed", [error])


def refresh(w: World, pull: Pull) -> None:
    """Sets refs/pull/N/head, and the trial merge as refs/pull/N/merge where there is one."""
    _set(w, f"refs/pull/{pull.number}/head", pull.head_sha)
    tip = w.git.refs("refs/heads/").get(f"refs/heads/{pull.base_ref}", pull.base_sha)
    try:
        tree = w.git.merge_tree(tip, pull.head_sha)
    except GitError as error:
        log.warning("no trial merge for pull request %d: %s", pull.number, error)
        pull.mergeable, pull.merge_sha = None, None
        return
    pull.mergeable, pull.merge_sha = tree is not None, None
    if tree is not None:
        robot = Person("GitHub", "noreply@github.com", now())
        message = f"Merge {pull.head_sha} into {tip}"
        pull.merge_sha = w.git.add_commit(tree, [tip, pull.head_sha], message, robot, robot)
        _set(w, f"refs/pull/{pull.number}/merge", pull.merge_sha)


def _set(w: World, ref: str, sha: str) -> None:
    w.git.set_ref(ref, sha, w.git.ref(ref) or ZERO)


def update(w: World, pull: Pull, changes: Json, who: User) -> None:
    """`changes`: title, body, base, state, maintainer_can_modify as given. One webhook for each kind."""
    before: Json = {}
    if "base" in changes:
        base_ref, base_sha = branch_of(w, changes["base"], "base")
        if base_ref != pull.base_ref:
            before["base"] = {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}
            pull.base_ref, pull.base_sha = base_ref, base_sha
            refresh(w, pull)
    for name in ("title", "body"):
        if name in changes and changes[name] != getattr(pull, name):
            before[name] = {"from": getattr(pull, name) or ""}
            setattr(pull, name, changes[name])
    pull.maintainer_can_modify = changes.get("maintainer_can_modify", pull.maintainer_can_modify)
    pull.updated_at = now()
    if before:
        events.pull_request(w, "edited", pull, who, {"changes": before})
    state = changes.get("state", pull.state)
    if state == "closed" and pull.state == "open":
        close(w, pull, who)
    elif state == "open" and pull.state == "closed":
        reopen(w, pull, who)


def close(w: World, pull: Pull, who: User) -> None:
    pull.state, pull.closed_at, pull.updated_at = "closed", now(), now()
    events.pull_request(w, "closed", pull, who)


def reopen(w: World, pull: Pull, who: User) -> None:
    if pull.merged_at is not None:
        raise invalid("PullRequest", "state", "state cannot be changed. The pull request was merged.")
    if pull.head_repository is None:
        branch_of(w, pull.head_ref, "state")
    pull.state, pull.closed_at, pull.updated_at = "open", None, now()
    payload = events.pull_request(w, "reopened", pull, who)
    runs.start_for_pull(w, "reopened", pull, payload, who)


def changed_files(w: World, pull: Pull) -> list[Json]:
    base = w.git.merge_base(pull.base_sha, pull.head_sha)
    return [file_diff(w, file, pull.head_sha) for file in diff(w.git, base, pull.head_sha)]


# What a moved branch means for pull requests


def branch_moved(w: World, branch: str, before: str, after: str, who: User) -> None:
    """Called after a branch was made, moved or deleted."""
    for pull in [p for p in w.state.pulls.values() if p.state == "open"]:
        own = pull.head_ref == branch and pull.head_repository is None
        if own and after == ZERO:
            close(w, pull, who)
        elif pull.base_ref == branch and after != ZERO and w.git.is_ancestor(pull.head_sha, after):
            _merged(w, pull, after, who)
        elif own:
            synchronize(w, pull, before, after, who)
        elif pull.base_ref == branch and after != ZERO:
            refresh(w, pull)


def _merged(w: World, pull: Pull, by_commit: str, who: User) -> None:
    pull.merged_at, pull.merged_by, pull.merge_sha = now(), who, by_commit
    close(w, pull, who)


def synchronize(w: World, pull: Pull, before: str, after: str, who: User) -> None:
    pull.head_sha, pull.updated_at = after, now()
    pull.base_sha = w.git.refs("refs/heads/").get(f"refs/heads/{pull.base_ref}", pull.base_sha)
    refresh(w, pull)
    payload = events.pull_request(w, "synchronize", pull, who, {"before": before, "after": after})
    runs.start_for_pull(w, "synchronize", pull, payload, who)
