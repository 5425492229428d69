"""Answering steps: who may command, and one reply per command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads, writes
from bot.report import replies
from bot.triage import commands
from bot.triage.opening import read_config
from bot.triage.services import Services
from bot.verdict.answer import Refusal

_SHA: Final = re.compile(r"[0-9a-f]{40}")


def is_permitted(svc: Services, event: Mapping[str, Any]) -> bool:
    """Asks GitHub, never the payload; an unreadable answer is a no. A reaction shows that we have read it.

    Where the bot may not write, it stays silent.
    """
    repo = _repo(svc, event)
    config = read_config(repo, reads.facts(repo).default_branch)
    if isinstance(config, Refusal) or config[0].mode in ("off", "observe"):
        return False
    permitted = reads.may_write(repo, event["author"])
    writes.react(repo, event["pull"], event["comment_id"], "eyes" if permitted else "-1")
    if not permitted:
        subject = f"comment {event['comment_id']}"
        svc.store.note(event["repo"], subject, "not_permitted", "The author of /rerun-kl may not write here.")
        # One for all strangers of a pull request: nobody can make the bot flood it.
        _reply(svc, event, marker="<!-- kl-triage:reply refused -->", text=replies.NOT_PERMITTED)
    return permitted


def red_jobs_of(svc: Services, event: Mapping[str, Any]) -> dict[str, Any]:
    """{"jobs": failed jobs of the pull request's head, pinned to its commit, "refusal": a sentence or ""}."""
    repo = _repo(svc, event)
    pull = reads.pull(repo, event["pull"])
    if pull is None:
        return {"jobs": [], "refusal": replies.NOT_OPEN}
    asked = commands.parse(event["body"])[0].argument
    if asked and not _SHA.fullmatch(asked):
        return {"jobs": [], "refusal": replies.UNKNOWN_ARGUMENT}
    if asked and asked != pull.head_sha:
        return {"jobs": [], "refusal": replies.HEAD_MOVED}
    if not asked and pull.head_repo.lower() != event["repo"].lower():
        # Between the comment and now a stranger may have pushed other code; the SHA binds what was looked at.
        return {"jobs": [], "refusal": replies.FORK_NEEDS_SHA}
    same = {"installation": event["installation"], "repo": event["repo"], "head_sha": pull.head_sha}
    found = reads.red_jobs(repo, pull.head_sha)
    return {"jobs": [{**same, "job_id": job, "run_id": run} for job, run in found], "refusal": ""}


def reply(svc: Services, event: Mapping[str, Any], refusal: str, started: int) -> None:
    marker = f"<!-- kl-triage:reply comment={int(event['comment_id'])} -->"
    _reply(svc, event, marker=marker, text=refusal or replies.outcome(started))


def _reply(svc: Services, event: Mapping[str, Any], *, marker: str, text: str) -> None:
    login = svc.installations.login()
    writes.upsert_comment(
        _repo(svc, event), event["pull"], marker=marker, author=login, body=f"{marker}\n{text}"
    )


def _repo(svc: Services, event: Mapping[str, Any]) -> Repository:
    return svc.installations.repository(event["installation"], event["repo"])
