"""Workflows, runs, jobs, logs and artifacts."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import datetime

from flask import Blueprint, jsonify, redirect, request
from flask.typing import ResponseReturnValue

from bot.demo.github import runs, workflows
from bot.demo.github.api import actor, body, field, moment, needs, page
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.shapes_actions import artifact, job, run, workflow
from bot.demo.github.state import Artifact, Job, Json, Run
from bot.demo.github.world import World, the_world

bp = Blueprint("actions", __name__, url_prefix="/repos/<owner>/<repo>/actions")


@bp.get("/workflows")
@needs("actions")
def list_workflows() -> ResponseReturnValue:
    w = the_world()
    return page(list(workflows.known(w).values()), lambda item: workflow(w, item), "workflows")


@bp.get("/workflows/<name>")
@needs("actions")
def get_workflow(name: str) -> ResponseReturnValue:
    w = the_world()
    return jsonify(workflow(w, runs.find_workflow(w, name)))


@bp.post("/workflows/<name>/dispatches")
@needs("actions", "write", "write")
def dispatch(name: str) -> ResponseReturnValue:
    """204, or with `return_run_details` 200 and the run."""
    w = the_world()
    data = body()
    ref: str = field(data, "ref", str)
    inputs: Json = field(data, "inputs", dict, {})
    details: bool = field(data, "return_run_details", bool, False)
    made = runs.dispatch(w, runs.find_workflow(w, name), ref, inputs, actor(w))
    if not details:
        return "", 204
    shape = run(w, made)
    return jsonify({"workflow_run_id": made.id, "run_url": shape["url"], "html_url": shape["html_url"]})


@bp.get("/workflows/<name>/runs")
@needs("actions")
def list_workflow_runs(name: str) -> ResponseReturnValue:
    w = the_world()
    wanted = runs.find_workflow(w, name)
    return _page_of_runs(w, [found for found in w.state.runs.values() if found.workflow is wanted])


@bp.get("/runs")
@needs("actions")
def list_runs() -> ResponseReturnValue:
    w = the_world()
    return _page_of_runs(w, list(w.state.runs.values()))


def _page_of_runs(w: World, found: list[Run]) -> ResponseReturnValue:
    """Newest first. `status` also takes a conclusion; `created` takes GitHub's ranges."""
    args = request.args
    wanted: list[tuple[str, Callable[[Run], object]]] = [
        ("event", lambda r: [r.event]),
        ("branch", lambda r: [r.head_branch]),
        ("head_sha", lambda r: [r.head_sha]),
        ("status", lambda r: [r.status, r.conclusion]),
        ("actor", lambda r: [r.actor.login]),
        ("check_suite_id", lambda r: [str(r.suite_id)]),
    ]
    for name, values in wanted:
        if name in args:
            found = [r for r in found if operator.contains(values(r), args[name])]  # type: ignore[arg-type]
    if "created" in args:
        inside = _range(args["created"])
        found = [r for r in found if inside(r.created_at)]
    newest = sorted(found, key=lambda r: (r.created_at, r.id), reverse=True)
    return page(newest, lambda item: run(w, item), "workflow_runs")


_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "": operator.eq}


def _range(text: str) -> Callable[[datetime], bool]:
    """`>=2026-01-01`, `2026-01-01T10:00:00Z..2026-01-02`, `*..2026-01-02`. Raises 422."""
    first, dots, last = text.partition("..")
    if dots:
        low, high = _moment(first), _moment(last)
        return lambda at: (low is None or at >= low) and (high is None or at <= high)
    match = re.fullmatch(r"(>=|<=|>|<|)(.+)", text)
    bound = _moment(match[2]) if match else None
    if match is None or bound is None:
        raise invalid("WorkflowRun", "created")
    compare, edge = _COMPARE[match[1]], bound
    if match[1] == "" and "T" not in text:
        return lambda at: at.date() == edge.date()
    return lambda at: bool(compare(at, edge))


def _moment(text: str) -> datetime | None:
    if text == "*":
        return None
    try:
        return moment(text)
    except ValueError:
        raise invalid("WorkflowRun", "created") from None


@bp.get("/runs/<int:number>")
@needs("actions")
def get_run(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(run(w, _run(w, number)))


@bp.get("/runs/<int:number>/jobs")
@needs("actions")
def list_jobs(number: int) -> ResponseReturnValue:
    w = the_world()
    return page(w.state.jobs_of(_run(w, number)), lambda item: job(w, item), "jobs")


@bp.get("/runs/<int:number>/attempts/<int:attempt>/jobs")
@needs("actions")
def list_attempt_jobs(number: int, attempt: int) -> ResponseReturnValue:
    w = the_world()
    found = _run(w, number)
    if not 1 <= attempt <= found.attempt:
        raise not_found()
    return page(w.state.jobs_of(found, attempt), lambda item: job(w, item, attempt), "jobs")


@bp.post("/runs/<int:number>/cancel")
@bp.post("/runs/<int:number>/force-cancel")
@needs("actions", "write", "write")
def cancel_run(number: int) -> ResponseReturnValue:
    """Asks only: the run ends when its jobs have."""
    w = the_world()
    found = _run(w, number)
    if found.status == "completed":
        raise ApiError(409, "Cannot cancel a workflow run that is completed.")
    for item in w.state.jobs_of(found):
        w.executor.cancel(item.id)
    return jsonify({}), 202


@bp.get("/runs/<int:number>/artifacts")
@needs("actions")
def list_run_artifacts(number: int) -> ResponseReturnValue:
    w = the_world()
    found = _run(w, number)
    return _page_of_artifacts(w, [item for item in w.state.artifacts.values() if item.run is found])


@bp.get("/artifacts")
@needs("actions")
def list_artifacts() -> ResponseReturnValue:
    w = the_world()
    return _page_of_artifacts(w, list(w.state.artifacts.values())[::-1])


def _page_of_artifacts(w: World, found: list[Artifact]) -> ResponseReturnValue:
    name = request.args.get("name")
    chosen = [item for item in found if name in (None, item.name)]
    return page(chosen, lambda item: artifact(w, item), "artifacts")


@bp.get("/artifacts/<int:number>")
@needs("actions")
def get_artifact(number: int) -> ResponseReturnValue:
    w = the_world()
    if number not in w.state.artifacts:
        raise not_found()
    return jsonify(artifact(w, w.state.artifacts[number]))


@bp.get("/artifacts/<int:number>/zip")
@needs("actions")
def download_artifact(number: int) -> ResponseReturnValue:
    w = the_world()
    if number not in w.state.artifacts:
        raise not_found()
    return redirect(f"{w.base_url}/_blobs/{w.tokens.sign_link('artifact', number)}")


@bp.get("/jobs/<int:number>")
@needs("actions")
def get_job(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(job(w, _job(w, number)))


@bp.get("/jobs/<int:number>/logs")
@needs("actions")
def download_log(number: int) -> ResponseReturnValue:
    """404 for a job without a log; the link then works for a short time, without a token."""
    w = the_world()
    found = _job(w, number)
    fault = found.log_fault
    if fault is not None and fault.status is not None and fault.strikes():
        raise ApiError(fault.status, "Gone" if fault.status == 410 else "Not Found")
    if not found.log:
        raise not_found()
    return redirect(f"{w.base_url}/_blobs/{w.tokens.sign_link('log', number)}")


def _run(w: World, number: int) -> Run:
    if number not in w.state.runs:
        raise not_found()
    return w.state.runs[number]


def _job(w: World, number: int) -> Job:
    if number not in w.state.jobs:
        raise not_found()
    return w.state.jobs[number]
