"""The demo's own controls, all under /_demo: no part of GitHub, open to whoever reaches the server."""

from __future__ import annotations

import re

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from bot.demo.executor import JobStep, Runner
from bot.demo.github import events, moves
from bot.demo.github.api import body, field
from bot.demo.github.callbacks import finish
from bot.demo.github.config import DemoHook
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.runs import Occasion, add_run
from bot.demo.github.state import Job, Json, LogFault, Pull, User, now
from bot.demo.github.workflows import FOLDER, register
from bot.demo.github.world import World, the_world

bp = Blueprint("control", __name__, url_prefix="/_demo")
STEP_CONCLUSIONS = ("success", "failure", "cancelled", "skipped")
RECORDED_RUNNER = Runner(1, "recorded-runner-0", ("self-hosted",))


@bp.get("/health")
def health() -> ResponseReturnValue:
    return jsonify({"ok": True})


@bp.post("/hook")
def set_hook() -> ResponseReturnValue:
    """{url, secret}: where webhooks go from now on."""
    w = the_world()
    try:
        w.hooks.hook = DemoHook.model_validate(body())
    except ValidationError as error:
        first = error.errors()[0]
        raise ApiError(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return jsonify({"url": w.hooks.hook.url})


@bp.get("/deliveries")
def deliveries() -> ResponseReturnValue:
    return jsonify([delivery.as_dict() for delivery in the_world().hooks.deliveries()])


@bp.post("/redeliver")
def redeliver() -> ResponseReturnValue:
    """{guid}: sends a recorded delivery again under the same GUID."""
    if not the_world().hooks.redeliver(field(body(), "guid", str)):
        raise not_found()
    return jsonify({"ok": True})


@bp.post("/refresh")
def refresh() -> ResponseReturnValue:
    """{user?}: tells of branches pushed to the repository on disk: push, synchronize, workflow runs."""
    w = the_world()
    login: str = field(body(), "user", str, w.config.owner)
    with w.lock:
        return jsonify({"moved": moves.catch_up(w, w.state.user(login))})


@bp.post("/recorded-job")
def recorded_job() -> ResponseReturnValue:
    """{workflow, head_sha, log, pull?, conclusion?, name?, labels?, runner?, user?, log_fault?}: a run that
    has ended; `log_fault`: fields of `LogFault`.

    Sends `workflow_job` and `workflow_run` completed as if it had just run; {run_id, job_id} come back.
    """
    w = the_world()
    data = body()
    with w.lock:
        job = _record(w, data)
        finish(w, job, field(data, "conclusion", str, "failure"))
    return jsonify({"run_id": job.run.id, "job_id": job.id, "workflow_id": job.run.workflow.id}), 201


def _record(w: World, data: Json) -> Job:
    sha: str = field(data, "head_sha", str)
    if w.git.kind(sha) != "commit":
        raise ApiError(422, f"head_sha: {sha} is not a commit of the repository")
    path: str = field(data, "workflow", str)
    path = path if path.startswith(FOLDER) else f"{FOLDER}/{path}"
    if not re.fullmatch(r"\.github/workflows/[\w.-]+\.ya?ml", path):
        raise ApiError(422, "workflow: must be a file name such as ci.yml")
    name: str = field(data, "name", str, "test")
    text: str = field(data, "log", str)
    pull = _pull(w, data)
    who = w.state.user(field(data, "user", str, pull.user.login if pull else w.config.owner))
    found = w.git.read(w.default_sha, path)
    workflow = register(w, path, found.decode("utf-8", "replace") if found is not None else None)
    why = _occasion(w, sha, pull, who)
    labels = tuple(str(label) for label in field(data, "labels", list, ["self-hosted"]))
    number = 1 + sum(run.workflow is workflow for run in w.state.runs.values())
    run_id = w.state.next_id("run")
    run, job = add_run(w, workflow, why, why.title, name, labels, run_id=run_id, number=number)
    run.head_repository = pull.head_repository if pull else None
    run.status = job.status = "in_progress"
    job.started_at = now()
    job.runner = Runner(1, field(data, "runner", str, RECORDED_RUNNER.name), labels)
    conclusion = field(data, "conclusion", str, "failure")
    if conclusion in STEP_CONCLUSIONS:
        job.steps = (JobStep(1, name, "completed", conclusion, job.started_at, now()),)
    job.log += text.encode("utf-8")
    fault: Json | None = field(data, "log_fault", dict, None)
    job.log_fault = LogFault(**fault) if fault else None
    events.check(w, "created", w.state.checks[job.id], who)
    return job


def _pull(w: World, data: Json) -> Pull | None:
    number = field(data, "pull", int, None)
    if number is not None and number not in w.state.pulls:
        raise ApiError(422, f"pull: there is no pull request {number}")
    return None if number is None else w.state.pulls[number]


def _occasion(w: World, sha: str, pull: Pull | None, who: User) -> Occasion:
    if pull is None:
        branch = w.config.default_branch
        title = w.git.commit(sha).message.partition("\n")[0]
        return Occasion("push", {}, who, f"refs/heads/{branch}", sha, branch, sha, title)
    ref = f"refs/pull/{pull.number}/merge"
    return Occasion("pull_request", {}, who, ref, sha, pull.head_ref, sha, pull.title)
