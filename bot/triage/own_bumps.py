"""The bot's own bump pull requests: how they are found, and whether people have worked on them."""

from __future__ import annotations

import hashlib
from typing import Final

from github.Repository import Repository

from bot.github import history as past
from bot.github.pulls import PullState
from bot.store import Bump
from bot.store.base import utcnow
from bot.triage.services import Services
from bot.verdict import Refusal

PREFIX: Final = "kl-triage/bump/"
GIVEN_UP: Final = "given_up"
"""The bot closed it itself: nobody declined it."""


def is_own(svc: Services, repo: str, pull: PullState) -> bool:
    """By its branch of the repository itself and its author: anybody may name a branch of a fork so."""
    mine = pull.author.lower() == svc.installations.login().lower()
    return mine and pull.head_repo.lower() == repo.lower() and pull.head_ref.startswith(PREFIX)


def open_ones(svc: Services, repo: Repository) -> tuple[past.BumpPull, ...] | Refusal:
    """Every open bump of the repository as GitHub has it, for the bot's table may be a new one."""
    found = past.bump_pulls(repo, svc.installations.login(), PREFIX, utcnow())
    if found is None:
        return Refusal("too_many_bumps", "The bot has too many pull requests open here to look at each.")
    return tuple(bump for bump in found if bump.state == "open")


def made_by_us(svc: Services, bump: Bump) -> frozenset[str]:
    """Every commit the bot made for this bump. One is written down before a branch is moved to it, so that a
    crash in between leaves no commit that looks like somebody else's."""
    try:
        made = svc.store.investigation(bump.investigation).facts.get("bump_commits") or []
    except KeyError:
        made = []
    return frozenset([*made, *([bump.commit] if bump.commit else [])])


def remember_commit(svc: Services, key: str, sha: str) -> None:
    """Before the branch is moved to it."""
    made = svc.store.investigation(key).facts.get("bump_commits") or []
    if sha not in made:
        svc.store.remember(key, bump_commits=[*made, sha])


def is_untouched(svc: Services, bump: Bump, pull: PullState) -> bool:
    """Whether branch and text are as the bot left them."""
    return pull.head_sha in made_by_us(svc, bump) and not is_rewritten(bump, pull)


def is_rewritten(bump: Bump, pull: PullState) -> bool:
    """Whether people wrote the text that is there."""
    return digest(pull.body) != bump.body_digest


def digest(body: str) -> str:
    """Of a pull request's text, whatever line ends GitHub gave it."""
    return hashlib.sha256(body.replace("\r\n", "\n").strip().encode()).hexdigest()
