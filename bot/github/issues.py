"""Open issues with a label, and whether somebody who may write set it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from github import GithubException
from github.Issue import Issue
from github.Repository import Repository

from bot.github.reads import WRITERS

MAX_LABELLED: Final = 20
MAX_EVENTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Labelled:
    """`by_writer` None: it cannot be told who set the label, or what that account may do."""

    number: int
    url: str
    by_writer: bool | None


def labelled(repo: Repository, label: str) -> Iterator[Labelled]:
    """Open issues and pull requests with the label, newest first; the last of too many is not looked into.
    Raises GithubException."""
    for place, issue in enumerate(islice(repo.get_issues(state="open", labels=[label]), MAX_LABELLED)):
        known = None if place == MAX_LABELLED - 1 else _set_by_writer(repo, issue, label)
        yield Labelled(issue.number, issue.html_url, known)


def _set_by_writer(repo: Repository, issue: Issue, label: str) -> bool | None:
    """By the newest event that set it; events are listed oldest first."""
    events = list(islice(issue.get_events(), MAX_EVENTS + 1))
    setting = [e for e in events if e.event == "labeled" and e.label.name.lower() == label.lower()]
    actor = getattr(setting[-1].actor, "login", None) if setting else None
    if actor is None or len(events) > MAX_EVENTS:
        return None
    try:
        return repo.get_collaborator_permission(actor) in WRITERS
    except GithubException as error:
        if error.status != 404:
            raise
        return None  # the account is gone
