"""Deliveries, without I/O: is the signature right, and what happened?

Payloads are a stranger's: only the fields needed are read, anything missing makes the event `Ignored`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

BRANCH_EVENTS: Final = ("push", "schedule")
"""Events that run a branch's own code. A pull request's head may bear any name, `main` too, and a run that is
dispatched on `main` may check out the commit of a fork that its inputs name."""
NOTHING_RAN: Final = frozenset({"skipped", "action_required", "startup_failure"})
RERUN_PATH: Final = ".github/workflows/kl-rerun.yml"
RERUN_TITLE: Final = re.compile(r"KL rerun ([A-Za-z0-9][A-Za-z0-9-]{0,79})")
_FULL_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_SHA: Final = re.compile(r"[0-9a-f]{40}")
MAX_COMMENT: Final = 65_536


@dataclass(frozen=True, slots=True)
class RedJob:
    """A workflow job completed with conclusion `failure`."""

    installation: int
    repo: str
    job_id: int
    run_id: int
    head_sha: str


@dataclass(frozen=True, slots=True)
class RerunDone:
    """One of our own rerun runs completed, whatever its conclusion."""

    installation: int
    repo: str
    run_id: int
    request: str


@dataclass(frozen=True, slots=True)
class RunDone:
    """A run of the default branch's own code completed, green or red; `attempt` counts from 1."""

    installation: int
    repo: str
    run_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Command:
    """A new comment on a pull request that may hold a command; who wrote it is checked later."""

    installation: int
    repo: str
    pull: int
    comment_id: int
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class Ignored:
    why: str


Event = RedJob | RerunDone | RunDone | Command | Ignored


def signature_is_valid(body: bytes, *, signature: str | None, secret: str) -> bool:
    """HMAC-SHA256 over the bytes as they came, compared in constant time."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (signature or "").encode("utf-8", "replace"))


KNOWN: Final = frozenset({"workflow_job", "workflow_run", "issue_comment", "ping"})


def parse(name: str, payload: Mapping[str, Any]) -> Event:
    """What happened, in our words. Never raises: what cannot be read is `Ignored` with the reason."""
    try:
        if name == "workflow_job":
            return _workflow_job(payload)
        if name == "workflow_run":
            return _workflow_run(payload)
        if name == "issue_comment":
            return _issue_comment(payload)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Ignored(f"{name}: payload lacks what is needed ({type(error).__name__}: {error})"[:200])
    return Ignored(f"{name}: nothing to do")


def _workflow_job(payload: Mapping[str, Any]) -> Event:
    job = payload["workflow_job"]
    if payload["action"] != "completed" or job["conclusion"] != "failure":
        return Ignored(f"workflow_job: {payload['action']}, conclusion {job.get('conclusion')}")
    return RedJob(
        installation=_whole(payload["installation"]["id"]),
        repo=_repo(payload),
        job_id=_whole(job["id"]),
        run_id=_whole(job["run_id"]),
        head_sha=_matching(_SHA, job["head_sha"]),
    )


def _workflow_run(payload: Mapping[str, Any]) -> Event:
    run = payload["workflow_run"]
    if payload["action"] != "completed":
        return Ignored("workflow_run: not completed")
    title = RERUN_TITLE.fullmatch(_text(run.get("display_title") or ""))
    if run["event"] == "workflow_dispatch" and title is not None:
        return RerunDone(
            installation=_whole(payload["installation"]["id"]),
            repo=_repo(payload),
            run_id=_whole(run["id"]),
            request=title.group(1),
        )
    if not _is_of_default_branch(run, payload["repository"]):
        return Ignored("workflow_run: neither a rerun of ours nor of the default branch's code")
    return RunDone(
        installation=_whole(payload["installation"]["id"]),
        repo=_repo(payload),
        run_id=_whole(run["id"]),
        attempt=_whole(run["run_attempt"]),
    )


def _is_of_default_branch(run: Mapping[str, Any], repository: Mapping[str, Any]) -> bool:
    return (
        run["event"] in BRANCH_EVENTS
        and run["head_branch"] == repository["default_branch"]
        and run["head_repository"]["full_name"] == repository["full_name"]
        and _text(run["path"]).partition("@")[0] != RERUN_PATH
        and run["conclusion"] not in NOTHING_RAN
    )


def _issue_comment(payload: Mapping[str, Any]) -> Event:
    comment, issue = payload["comment"], payload["issue"]
    if payload["action"] != "created" or not issue.get("pull_request"):
        return Ignored("issue_comment: not a new comment on a pull request")
    # Our own comments and other bots' never command us: that is how loops start.
    if payload["sender"]["type"] != "User" or comment["user"]["type"] != "User":
        return Ignored("issue_comment: written by a bot")
    return Command(
        installation=_whole(payload["installation"]["id"]),
        repo=_repo(payload),
        pull=_whole(issue["number"]),
        comment_id=_whole(comment["id"]),
        author=_text(comment["user"]["login"]),
        body=_text(comment["body"])[:MAX_COMMENT],
    )


def _repo(payload: Mapping[str, Any]) -> str:
    return _matching(_FULL_NAME, payload["repository"]["full_name"])


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected text")
    value.encode()  # a lone surrogate, which JSON can spell, is no text: UnicodeEncodeError is a ValueError
    return value


def _matching(pattern: re.Pattern[str], value: object) -> str:
    text = _text(value)
    if pattern.fullmatch(text) is None:
        raise ValueError("unexpected characters")
    return text
