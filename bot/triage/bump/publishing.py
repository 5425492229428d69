"""Writing a bump to GitHub: one commit on the default branch's head, its branch, its draft, its text."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final

from github.Repository import Repository

from bot.github import pulls, reads
from bot.github.pulls import PullState, WriteRefused, needing
from bot.store import Investigation
from bot.triage.bump.editing import Edit
from bot.triage.measure import own_bumps
from bot.triage.services import Services
from bot.verdict import Refusal

log = logging.getLogger(__name__)

LABEL: Final = "kl-triage"


class NotAsWritten(RuntimeError):
    """GitHub does not show the file as it was written; the step is tried again."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a bump goes, and the commits there that it may replace."""

    name: str
    ours: frozenset[str]


@dataclass(frozen=True, slots=True)
class Texts:
    """What a bump says: one-line title, Markdown body, commit message."""

    title: str
    body: str
    message: str


@dataclass(frozen=True, slots=True)
class Published:
    """`pull.head_sha` is the bot's commit; `body_digest` None: people wrote the text, which is left."""

    pull: PullState
    body_digest: str | None


def publish(
    svc: Services, investigation: Investigation, branch: Branch, edit: Edit, texts: Texts
) -> Published | Refusal:
    """Commit, branch, draft; what is there from an earlier try is taken as it is. Raises WriteRefused."""
    repo = svc.repository(investigation)
    with needing("contents: write", f"write the branch {branch.name}"):
        sha = _committed(svc, repo, investigation, branch, edit, texts.message)
    if isinstance(sha, Refusal):
        return sha
    with needing("pull_requests: write", f"open a draft pull request from {branch.name}"):
        pull = pulls.ensure_draft(
            repo,
            branch.name,
            investigation.facts["default_branch"],
            title=texts.title,
            body=texts.body,
        )
        digest = _texted(svc, repo, investigation, pull, texts)
    _labelled(svc, repo, investigation, pull.number)
    return Published(replace(pull, head_sha=sha), digest)


def _committed(
    svc: Services, repo: Repository, investigation: Investigation, branch: Branch, edit: Edit, message: str
) -> str | Refusal:
    """The commit at the head of the branch; its file is read again and is the one that was proved."""
    taken = Refusal(
        "branch_edited", f"The branch {branch.name} holds another edit; delete it to let the bot propose."
    )
    head = reads.branch_head(repo, branch.name)
    if head is not None and head not in branch.ours:
        return taken
    if (
        head is not None
        and pulls.is_commit_on(repo, head, edit.base_sha)
        and reads.file_at(repo, edit.path, head) == edit.new
    ):
        return head
    sha = pulls.commit_on(repo, edit.base_sha, edit.path, edit.new, message)
    if sha is None:
        return Refusal("no_plain_file", f"{edit.path} is not a plain file, so it is not edited.")
    own_bumps.remember_commit(svc, investigation.id, sha)
    if not pulls.put_branch(repo, branch.name, sha, branch.ours):
        return taken
    if reads.file_at(repo, edit.path, sha) != edit.new:
        raise NotAsWritten(f"{edit.path} at {sha[:12]}")
    return sha


def _texted(
    svc: Services, repo: Repository, investigation: Investigation, pull: PullState, texts: Texts
) -> str | None:
    """Digest of the title and text there; older ones of the bot's are replaced, what people wrote is left."""
    wanted, there = own_bumps.digest(texts.title, texts.body), own_bumps.digest(pull.title, pull.body)
    if there == wanted:
        return wanted
    bump = svc.store.bump_of_pull(investigation.repo, pull.number)
    if bump is None or there != bump.body_digest:
        return None
    own_bumps.remember_text(svc, investigation.id, wanted)
    pulls.edit(repo, pull.number, title=texts.title, body=texts.body)
    return wanted


def _labelled(svc: Services, repo: Repository, investigation: Investigation, number: int) -> None:
    try:
        with needing("issues: write", f"label #{number}"):
            pulls.add_label(repo, number, LABEL)
    except WriteRefused as refused:  # a bump without its label is a bump all the same
        log.warning("%s: %s", investigation.id, refused)
        svc.store.note(investigation.repo, investigation.id, "not_labelled", str(refused))
