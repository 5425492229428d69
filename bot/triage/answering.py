"""Answering steps: who may command, and one reply per command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.github import reads, writes
from bot.report import replies
from bot.triage import commands
from bot.triage.services import Services


def is_permitted(svc: Services, event: Mapping[str, Any]) -> bool:
    """Asks GitHub, never the payload; an unreadable answer is a no. A reaction shows that we have read it."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    permitted = reads.may_write(repo, event["author"])
    writes.react(repo, event["pull"], event["comment_id"], "eyes" if permitted else "-1")
    if not permitted:
        subject = f"comment {event['comment_id']}"
        svc.store.note(event["repo"], subject, "not_permitted", "The author of /rerun-kl may not write here.")
        _reply(svc, event, replies.refused_reply(_marker(event)))
    return permitted


def red_jobs_of(svc: Services, event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The failed jobs of the pull request's head, pinned to the commit it has now."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    pull = reads.pull(repo, event["pull"])
    if pull is None or _argument(event):
        return []
    same = {"installation": event["installation"], "repo": event["repo"], "head_sha": pull.head_sha}
    return [{**same, "job_id": job, "run_id": run} for job, run in reads.red_jobs(repo, pull.head_sha)]


def reply(svc: Services, event: Mapping[str, Any], started: int) -> None:
    _reply(svc, event, replies.command_reply(_marker(event), started, _argument(event)))


def _reply(svc: Services, event: Mapping[str, Any], body: str) -> None:
    repo = svc.installations.repository(event["installation"], event["repo"])
    login = svc.installations.login()
    writes.upsert_comment(repo, event["pull"], marker=_marker(event), author=login, body=body)


def _argument(event: Mapping[str, Any]) -> str:
    return next((command.argument for command in commands.parse(event["body"]) if command.argument), "")


def _marker(event: Mapping[str, Any]) -> str:
    return f"<!-- kl-triage:reply comment={int(event['comment_id'])} -->"
