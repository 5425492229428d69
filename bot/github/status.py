"""Commit statuses: what stands in a check run's place where only a token is at hand."""

from __future__ import annotations

from itertools import islice
from typing import Final

from github.CommitStatus import CommitStatus
from github.PaginatedList import PaginatedList
from github.Repository import Repository

from bot.github.writes import Written

MAX_DESCRIPTION: Final = 140
MAX_STATUSES_READ: Final = 1000
"""GitHub keeps no more for one commit and context."""

# A status knows no 'neutral'. No answer must not look green, so it is not 'success'; nothing is still on its
# way, so it is not 'pending', which would wait for ever. 'error' says that the judge could not judge.
_STATES: Final = {None: "pending", "success": "success", "failure": "failure", "neutral": "error"}


def state_of(conclusion: str | None) -> str:
    """The state that says what a check run's conclusion says; anything unknown is an error, never green."""
    return _STATES.get(conclusion, "error")


def upsert_status(
    repo: Repository,
    head_sha: str,
    *,
    context: str,
    state: str,
    description: str,
    target_url: str | None,
) -> Written:
    """The latest status of its context is the one that counts; not written when that says it already."""
    short = description if len(description) <= MAX_DESCRIPTION else description[: MAX_DESCRIPTION - 1] + "…"
    found = _latest(repo, head_sha, context)
    if found is not None and _says(found, state, short, target_url):
        return Written(found.id, found.target_url or "", False)
    wanted = {"state": state, "description": short, "context": context, "target_url": target_url}
    _, made = repo.requester.requestJsonAndCheck("POST", f"{repo.url}/statuses/{head_sha}", input=wanted)
    return Written(made["id"], made.get("target_url") or "", True)


def _latest(repo: Repository, head_sha: str, context: str) -> CommitStatus | None:
    """GitHub lists the newest first. PyGithub's own method asks at an address that is documented no more."""
    address = f"{repo.url}/commits/{head_sha}/statuses"
    statuses = islice(PaginatedList(CommitStatus, repo.requester, address, None), MAX_STATUSES_READ)
    return next((status for status in statuses if status.context == context), None)


def _says(found: CommitStatus, state: str, description: str, target_url: str | None) -> bool:
    return (found.state, found.description or "", found.target_url or "") == (
        state,
        description,
        target_url or "",
    )
