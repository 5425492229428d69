"""Reads that may take long: again after an outage, and a spent rate limit raised as the time to wait for.

For clients without retries of their own, which would sleep without a word for as long as a header says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import requests
from github import GithubException
from github.Repository import Repository

from bot.github.blobs import BlobUnreadable

PAUSES_S: Final = (0.5, 2.0, 5.0)
SECONDARY_WAIT: Final = timedelta(seconds=60)
LONGEST_WAIT: Final = timedelta(hours=2)
"""No header is believed beyond this; a primary limit is reset within the hour."""

T = TypeVar("T")


class NotYet(Exception):
    """What is asked for is not to be had before `until` (UTC)."""

    def __init__(self, until: datetime, why: str) -> None:
        super().__init__(why)
        self.until = until


class RateLimited(NotYet):
    """GitHub wants no request before `until` (UTC)."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until, f"the rate limit is spent until {until:%H:%M:%S} UTC")


def patiently(repo: Repository, read: Callable[[], T], *, reserve: float = 0.0) -> T:
    """The value of one idempotent read, tried a few times through an outage.

    `reserve` is the share of the rate limit left to others. Raises RateLimited, or what the last try raised.
    """
    _spare(repo, reserve)
    for pause in PAUSES_S:
        try:
            return _once(read)
        except (GithubException, requests.RequestException) as error:
            if isinstance(error, GithubException) and error.status < 500:
                raise
            time.sleep(pause)
    return _once(read)


def reason(error: Exception) -> str:
    """Why a read failed, for a log: its kind or status alone, since texts of errors hold addresses."""
    if isinstance(error, GithubException):
        return f"GitHub answered with status {error.status}"
    return str(error) if isinstance(error, BlobUnreadable) else type(error).__name__


def requests_left(repo: Repository) -> int | None:
    """As the last answer said; None before the first."""
    remaining, limit = repo.requester.rate_limiting
    return remaining if limit > 0 else None


def _once(read: Callable[[], T]) -> T:
    try:
        return read()
    except GithubException as error:
        until = limited_until(error, datetime.now(UTC))
        if until is None:
            raise
        raise RateLimited(until) from error


def limited_until(error: GithubException, now: datetime) -> datetime | None:
    """When to ask again, if this answer is about a rate limit: 403 or 429 that says so in header or text."""
    if error.status not in (403, 429):
        return None
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    after = headers.get("retry-after", "")
    if after.isdecimal():
        return now + min(timedelta(seconds=int(after[:9])), LONGEST_WAIT)
    if headers.get("x-ratelimit-remaining") == "0":
        return _reset(headers.get("x-ratelimit-reset", ""), now)
    if error.status == 429 or "rate limit" in _message(error.data):
        return now + SECONDARY_WAIT
    return None


def _spare(repo: Repository, reserve: float) -> None:
    """Raises RateLimited when what the last answer left is not ours to spend."""
    remaining, limit = repo.requester.rate_limiting
    now = datetime.now(UTC)
    reset = _reset(str(repo.requester.rate_limiting_resettime), now)
    passed = repo.requester.rate_limiting_resettime <= now.timestamp()
    if limit > 0 and remaining <= limit * reserve and not passed:
        raise RateLimited(reset)


def _reset(text: str, now: datetime) -> datetime:
    """One second later than told: it is not said when within the second the limit is reset."""
    if not text.isdecimal():
        return now + SECONDARY_WAIT
    seconds = int(text[:12]) - now.timestamp()
    return now + min(timedelta(seconds=max(seconds, 0.0) + 1.0), LONGEST_WAIT)


def _message(data: Any) -> str:
    return str(data.get("message", "")).lower() if isinstance(data, Mapping) else str(data).lower()
