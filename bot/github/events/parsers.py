"""One parser for each thing that may happen; the decorator says which deliveries it reads.

Only the fields needed are read, so that whatever else a payload holds, or lacks, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bot.github.events import fields
from bot.github.events.fields import (
    SHA,
    Payload,
    installation,
    is_person,
    matching,
    moment,
    repo,
    text,
    whole,
)
from bot.github.events.kinds import (
    BranchMoved,
    CheckAsked,
    Command,
    Event,
    Ignored,
    InstallationChanged,
    PullClosed,
    PullMoved,
    RedJob,
    RerunDone,
    RunDone,
)

BRANCH_EVENTS: Final = ("push", "schedule")
"""Events that run a branch's own code. A pull request's head may bear any name, `main` too, and a run that is
dispatched on `main` may check out the commit of a fork that its inputs name."""
NOTHING_RAN: Final = frozenset({"skipped", "action_required", "startup_failure"})
RERUN_PATH: Final = ".github/workflows/kl-rerun.yml"
RERUN_TITLE: Final = re.compile(r"KL rerun ([A-Za-z0-9][A-Za-z0-9-]{0,79})")
RERUN_ACTION: Final = "rerun-kl"
"""The button on our checks."""
MAX_REPOS: Final = 1_000
"""Of one installation event; a repository beyond is known from its own first event."""
_EXTERNAL_ID: Final = re.compile(r"kl-[0-9a-f]{20}")
_REF: Final = re.compile(r"[^\s\x00-\x1f]{1,255}")

MAX_NAME: Final = 255
Parser = Callable[[Payload], Event]
PARSERS: Final[dict[tuple[str, str], Parser]] = {}
"""By name and action; the action is empty for deliveries that have none."""


def on(name: str, *actions: str) -> Callable[[Parser], Parser]:
    """Registers the parser of these deliveries."""

    def register(parser: Parser) -> Parser:
        PARSERS.update({(name, action): parser for action in actions or ("",)})
        return parser

    return register


@on("workflow_job", "completed")
def workflow_job(payload: Payload) -> Event:
    job = payload["workflow_job"]
    if job["conclusion"] != "failure":
        return Ignored(f"workflow_job: conclusion {job['conclusion']}"[:80])
    return RedJob(
        installation=installation(payload),
        repo=repo(payload),
        job_id=whole(job["id"]),
        run_id=whole(job["run_id"]),
        head_sha=matching(SHA, job["head_sha"]),
        name=_short(job.get("name")),
    )


def _short(name: object) -> str:
    """A cut one would be another name."""
    return name if isinstance(name, str) and len(name) <= MAX_NAME and name.isprintable() else ""


@on("workflow_run", "completed")
def workflow_run(payload: Payload) -> Event:
    run = payload["workflow_run"]
    title = RERUN_TITLE.fullmatch(text(run.get("display_title") or ""))
    if run["event"] == "workflow_dispatch" and title is not None:
        return RerunDone(
            installation=installation(payload),
            repo=repo(payload),
            run_id=whole(run["id"]),
            request=title.group(1),
        )
    if not _is_of_default_branch(run, payload["repository"]):
        return Ignored("workflow_run: neither a rerun of ours nor of the default branch's code")
    return RunDone(
        installation=installation(payload),
        repo=repo(payload),
        run_id=whole(run["id"]),
        attempt=whole(run["run_attempt"]),
    )


def _is_of_default_branch(run: Payload, repository: Payload) -> bool:
    return (
        run["event"] in BRANCH_EVENTS
        and run["head_branch"] == repository["default_branch"]
        and run["head_repository"]["full_name"] == repository["full_name"]
        and text(run["path"]).partition("@")[0] != RERUN_PATH
        and run["conclusion"] not in NOTHING_RAN
    )


@on("issue_comment", "created", "edited")
def issue_comment(payload: Payload) -> Event:
    comment, issue, sender = payload["comment"], payload["issue"], payload["sender"]
    if not (is_person(sender) and is_person(comment["user"])):
        return Ignored("issue_comment: written by a bot")
    if not issue.get("pull_request"):
        return Ignored("issue_comment: not on a pull request")
    edited = payload["action"] == "edited"
    author = fields.login(comment["user"])
    if edited and fields.login(sender) != author:
        # Whoever tidies a stranger's words has not asked for what they say, and the stranger may not ask.
        return Ignored("issue_comment: edited by somebody else than its author")
    return Command(
        installation=installation(payload),
        repo=repo(payload),
        pull=whole(issue["number"]),
        comment_id=whole(comment["id"]),
        author=author,
        body=fields.comment(comment["body"]),
        before=fields.comment(payload["changes"]["body"]["from"]) if edited else "",
        updated_at=moment(comment["updated_at"]),
    )


@on("check_run", "rerequested", "requested_action")
def check_run(payload: Payload) -> Event:
    check = payload["check_run"]
    if not is_person(payload["sender"]):
        return Ignored("check_run: asked for by a bot")
    if payload["action"] == "requested_action" and payload["requested_action"]["identifier"] != RERUN_ACTION:
        return Ignored("check_run: another App's button")
    # The payload does not say which App is ours; no other's checks bear such an id.
    if not _EXTERNAL_ID.fullmatch(text(check["external_id"] or "")):
        return Ignored("check_run: another App's check")
    return CheckAsked(
        installation=installation(payload),
        repo=repo(payload),
        head_sha=matching(SHA, check["head_sha"]),
        check_id=whole(check["id"]),
        external_id=text(check["external_id"]),
        author=fields.login(payload["sender"]),
        at=moment(check.get("completed_at") or check["started_at"]),
    )


@on("check_suite", "rerequested")
def check_suite(payload: Payload) -> Event:
    suite = payload["check_suite"]
    if not is_person(payload["sender"]):
        return Ignored("check_suite: asked for by a bot")
    return CheckAsked(
        installation=installation(payload),
        repo=repo(payload),
        head_sha=matching(SHA, suite["head_sha"]),
        check_id=whole(suite["id"]),
        external_id="",
        author=fields.login(payload["sender"]),
        at=moment(suite["updated_at"]),
    )


@on("pull_request", "closed")
def pull_closed(payload: Payload) -> Event:
    pull = payload["pull_request"]
    return PullClosed(
        installation=installation(payload),
        repo=repo(payload),
        pull=whole(pull["number"]),
        head_ref=matching(_REF, pull["head"]["ref"]),
        merged=fields.flag(pull["merged"]),
        at=moment(pull["closed_at"]),
    )


@on("pull_request", "synchronize")
def pull_moved(payload: Payload) -> Event:
    return PullMoved(
        installation=installation(payload),
        repo=repo(payload),
        pull=whole(payload["pull_request"]["number"]),
        head_sha=matching(SHA, payload["pull_request"]["head"]["sha"]),
        before=matching(SHA, payload["before"]),
    )


@on("push")
def push(payload: Payload) -> Event:
    branch = text(payload["repository"]["default_branch"])
    if payload["ref"] != f"refs/heads/{branch}" or fields.flag(payload["deleted"]):
        return Ignored("push: not to the default branch")
    return BranchMoved(
        installation=installation(payload), repo=repo(payload), sha=matching(SHA, payload["after"])
    )


@on("installation", "created", "unsuspend", "new_permissions_accepted", "deleted", "suspend")
def installation_changed(payload: Payload) -> Event:
    active = payload["action"] not in ("deleted", "suspend")
    # One that ends, ends for every repository, also for those its payload leaves out.
    return _installation(payload, (payload.get("repositories") or []) if active else [], active=active)


@on("installation_repositories", "added", "removed")
def installation_repositories(payload: Payload) -> Event:
    active = payload["action"] == "added"
    listed = payload["repositories_added" if active else "repositories_removed"]
    if not listed:
        return Ignored("installation_repositories: none is named")
    return _installation(payload, listed, active=active)


def _installation(payload: Payload, listed: list[Payload], *, active: bool) -> InstallationChanged:
    return InstallationChanged(
        installation=whole(payload["installation"]["id"]),
        repo="",
        repos=tuple(fields.full_name(one) for one in listed[:MAX_REPOS]),
        active=active,
        at=moment(payload["installation"]["updated_at"]),
    )
