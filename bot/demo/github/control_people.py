"""More of the demo's own controls: what people do in the browser, for which GitHub has no call a bot may use.

POST /_demo/fork-pull      {user, branch, sha, base?, title?}: a pull request of a fork; its commit is in
                           repo.git already; answers {number}
POST /_demo/fork-push      {number, sha}: its author pushed
POST /_demo/rerequest      {check_id, user?, action?, suite?}: "Re-run" of a check, the check's button
                           `action`, or "Re-run all checks" of its suite
POST /_demo/rerun          {run_id, user?, conclusion?, log?}: "Re-run failed jobs" of an ended run; its new
                           attempt has ended too; answers {attempt, job_ids}
POST /_demo/installation   {action, event?, user?}: the App is installed, suspended, given this repository …
"""

from __future__ import annotations

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from bot.demo.executor import JobStep
from bot.demo.github import events, pulls
from bot.demo.github.api import body, field
from bot.demo.github.callbacks import finish
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.shapes_actions import simple_commit
from bot.demo.github.shapes_repo import REPOSITORY_ID, installation, user
from bot.demo.github.state import CheckRun, Job, Json, Run, now
from bot.demo.github.world import World, node_id, the_world

bp = Blueprint("control_people", __name__, url_prefix="/_demo")


@bp.post("/fork-pull")
def fork_pull() -> ResponseReturnValue:
    w, data = the_world(), body()
    who, sha = w.state.user(field(data, "user", str)), _commit(w, field(data, "sha", str))
    with w.lock:
        base_ref, base_sha = pulls.branch_of(w, field(data, "base", str, w.config.default_branch), "base")
        pull = pulls.add_pull(
            w,
            field(data, "branch", str),
            sha,
            base_ref,
            base_sha,
            field(data, "title", str, "A change"),
            None,
            draft=False,
            modify=True,
            who=who,
            fork=f"{who.login}/{w.config.repo}",
        )
    return jsonify({"number": pull.number}), 201


@bp.post("/fork-push")
def fork_push() -> ResponseReturnValue:
    w, data = the_world(), body()
    pull = w.state.pulls.get(field(data, "number", int))
    if pull is None or pull.head_repository is None:
        raise not_found()
    sha = _commit(w, field(data, "sha", str))
    with w.lock:
        pulls.synchronize(w, pull, pull.head_sha, sha, pull.user)
    return jsonify({"ok": True})


@bp.post("/rerequest")
def rerequest() -> ResponseReturnValue:
    w, data = the_world(), body()
    check = w.state.checks.get(field(data, "check_id", int))
    if check is None:
        raise not_found()
    who = w.state.user(field(data, "user", str, w.config.owner))
    action: str | None = field(data, "action", str, None)
    with w.lock:
        if field(data, "suite", bool, False):
            events.emit(w, "check_suite", "rerequested", who, {"check_suite": _suite(w, check)})
        elif action is not None:
            events.check(w, "requested_action", check, who, {"requested_action": {"identifier": action}})
        else:
            events.check(w, "rerequested", check, who)
    return jsonify({"ok": True})


@bp.post("/rerun")
def rerun() -> ResponseReturnValue:
    """As on GitHub jobs that passed are carried over into the new attempt."""
    w, data = the_world(), body()
    run = w.state.runs.get(field(data, "run_id", int))
    if run is None or run.status != "completed":
        raise not_found()
    conclusion, log = field(data, "conclusion", str, "failure"), field(data, "log", str, "")
    with w.lock:
        made = [_again(w, old, log) for old in _next_attempt(w, run)]
        for job in made:
            finish(w, job, conclusion)
    return jsonify({"attempt": run.attempt, "job_ids": [job.id for job in made]}), 201


@bp.post("/installation")
def install() -> ResponseReturnValue:
    """`event`: installation (default) or installation_repositories (action added or removed)."""
    w, data = the_world(), body()
    action, who = field(data, "action", str), w.state.user(field(data, "user", str, w.config.owner))
    name: str = field(data, "event", str, "installation")
    with w.lock:
        w.hooks.emit(name, {"action": action, "sender": user(w, who), **_installed(w, name, action)})
    return jsonify({"ok": True})


def _commit(w: World, sha: str) -> str:
    if w.git.kind(sha) != "commit":
        raise ApiError(422, f"sha: {sha} is not a commit of the repository")
    return sha


def _suite(w: World, check: CheckRun) -> Json:
    shape = events.suite_shape(w, check)
    return {
        **shape,
        "latest_check_runs_count": sum(c.suite_id == check.suite_id for c in w.state.checks.values()),
        "check_runs_url": f"{w.repo_url}/check-suites/{check.suite_id}/check-runs",
        "head_commit": simple_commit(w, check.head_sha),
    }


def _next_attempt(w: World, run: Run) -> list[Job]:
    """The failed jobs of the attempt before; the others go along."""
    last = w.state.jobs_of(run)
    failed = [job for job in last if job.conclusion != "success"]
    run.attempt += 1
    run.status, run.conclusion, run.updated_at = "in_progress", None, now()
    for job in last:
        if job.conclusion == "success":
            job.attempts = (*job.attempts, run.attempt)
    return failed


def _again(w: World, old: Job, log: str) -> Job:
    moment = now()
    job = Job(w.state.next_id("check"), old.run, old.name, old.labels, moment, status="in_progress")
    job.attempts, job.runner, job.started_at = (old.run.attempt,), old.runner, moment
    job.log = bytearray(log.encode() or bytes(old.log))
    job.steps = (JobStep(1, old.name, "completed", "failure", moment, moment),)
    before = w.state.checks[old.id]
    w.state.jobs[job.id] = job
    w.state.checks[job.id] = CheckRun(
        job.id, before.suite_id, before.app, before.head_sha, before.name, started_at=moment
    )
    return job


def _installed(w: World, name: str, action: str) -> Json:
    repository = {
        "id": REPOSITORY_ID,
        "node_id": node_id("Repository", REPOSITORY_ID),
        "name": w.config.repo,
        "full_name": w.config.full_name,
        "private": w.config.private,
    }
    parts: Json = {"installation": installation(w), "requester": None}
    if name == "installation":
        return {**parts, "repositories": [repository]}
    return {
        **parts,
        "repository_selection": "selected",
        "repositories_added": [repository] if action == "added" else [],
        "repositories_removed": [repository] if action == "removed" else [],
    }
