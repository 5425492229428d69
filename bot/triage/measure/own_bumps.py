"""The bot's own bump pull requests: how they are found, and whether people have worked on them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from github.Repository import Repository

from bot.github import history as past
from bot.github import pulls
from bot.github.pulls import PullState
from bot.store import Bump
from bot.store.base import utcnow
from bot.triage.services import Services
from bot.verdict import Refusal

PREFIX: Final = f"{pulls.OWN_BRANCHES}bump/"
GIVEN_UP: Final = "given_up"
"""The bot closed it itself: nobody declined it."""


_alone: Final[dict[str, threading.Lock]] = {}


@contextmanager
def alone(repo: str) -> Iterator[None]:
    """One step at a time writes the bumps of a repository: another would take the commit that the first has
    just made for somebody else's. One process works on a database, so a lock of its own is enough."""
    with _alone.setdefault(repo.lower(), threading.Lock()):
        yield


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
    svc.store.remember_more(key, bump_commits=sha)


def remember_text(svc: Services, key: str, written: str) -> None:
    """The digest, before the text is written."""
    svc.store.remember_more(key, bump_texts=written)


def touched(svc: Services, repo: Repository, bump: Bump, pull: PullState) -> str | None:
    """What people have done with it, as the end of a sentence; None where it is as the bot left it.

    A bump that somebody has looked at says what they saw until they close it: what is approved is not
    replaced by what is not.
    """
    if pull.head_sha not in made_by_us(svc, bump):
        return "its branch holds commits that are not the bot's"
    if digest(pull.title, pull.body) not in _texts(svc, bump):
        return "its title or its text was rewritten"
    if not pull.draft:
        return "it is a draft no longer"
    if pull.auto_merge:
        return "it is set to merge by itself"
    word = pulls.word_of_people(repo, pull.number, svc.installations.login())
    return None if word is None else f"somebody has said something about it ({word})"


def digest(title: str, body: str) -> str:
    """Of a pull request's title and text, whatever line ends GitHub gave it."""
    text = f"{title.strip()}\n{body.strip()}".replace("\r\n", "\n")
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(svc: Services, bump: Bump) -> frozenset[str | None]:
    """Digests of all that the bot wrote."""
    try:
        written = svc.store.investigation(bump.investigation).facts.get("bump_texts") or []
    except KeyError:
        written = []
    return frozenset([*written, bump.body_digest])
