"""Check runs: only the App writes them."""

from __future__ import annotations

from datetime import datetime

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import actor, body, field, moment, needs, page
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.shapes_pulls import check_run
from bot.demo.github.state import CheckRun, Json, now
from bot.demo.github.world import World, the_world

bp = Blueprint("checks", __name__, url_prefix="/repos/<owner>/<repo>")
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out",
)  # fmt: skip
MAX_TEXT = 65_535
MAX_ANNOTATIONS = 50
MAX_ACTIONS = 3


@bp.post("/check-runs")
@needs("checks", "write", people=False)
def create_check() -> ResponseReturnValue:
    w = the_world()
    data = body()
    name: str = field(data, "name", str)
    sha: str = field(data, "head_sha", str)
    if w.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    slug = w.config.app.slug
    made = CheckRun(w.state.next_id("check"), w.state.suite(slug, sha), slug, sha, name, started_at=now())
    _apply(made, data)
    w.state.checks[made.id] = made
    events.check(w, "created", made, actor(w))
    if made.status == "completed":
        events.check(w, "completed", made, actor(w))
    return jsonify(check_run(w, made)), 201


@bp.get("/check-runs/<int:number>")
@needs("checks")
def get_check(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(check_run(w, _check(w, number)))


@bp.patch("/check-runs/<int:number>")
@needs("checks", "write", people=False)
def update_check(number: int) -> ResponseReturnValue:
    w = the_world()
    found = _check(w, number)
    if found.app != w.config.app.slug:
        raise ApiError(
            403, "Invalid app_id - check run can only be modified by the GitHub App that created it."
        )
    was = found.status
    _apply(found, body())
    if found.status == "completed" and was != "completed":
        events.check(w, "completed", found, actor(w))
    return jsonify(check_run(w, found))


@bp.get("/commits/<path:ref>/check-runs")
@needs("checks")
def list_checks(ref: str) -> ResponseReturnValue:
    """Filters check_name, status, app_id; `filter` latest (default) shows one per name and suite."""
    w = the_world()
    sha = w.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    name, status = request.args.get("check_name"), request.args.get("status")
    found = [
        check
        for check in w.state.checks.values()
        if check.head_sha == sha
        and name in (None, check.name)
        and status in (None, check.status)
        and request.args.get("app_id") in (None, str(check_run(w, check)["app"]["id"]))
    ]
    if request.args.get("filter", "latest") == "latest":
        found = list({(check.suite_id, check.name): check for check in found}.values())
    return page(found[::-1], lambda check: check_run(w, check), "check_runs")


def _check(w: World, number: int) -> CheckRun:
    if number not in w.state.checks:
        raise not_found()
    return w.state.checks[number]


def _apply(check: CheckRun, data: Json) -> None:
    """Sets what is given. A conclusion means completed; completed needs a conclusion."""
    status = field(data, "status", str, None)
    conclusion = field(data, "conclusion", str, None)
    if status not in (None, *STATUSES) or conclusion not in (None, *CONCLUSIONS):
        raise invalid("CheckRun", "conclusion" if status in (None, *STATUSES) else "status")
    if status == "completed" and conclusion is None and check.conclusion is None:
        raise invalid("CheckRun", "conclusion", code="missing_field")
    output = _output(data)
    if len(field(data, "actions", list, [])) > MAX_ACTIONS:
        raise invalid("CheckRun", "actions", f"at most {MAX_ACTIONS} actions")
    started, completed = _time(data, "started_at"), _time(data, "completed_at")

    check.name = field(data, "name", str, check.name)
    check.external_id = field(data, "external_id", str, check.external_id)
    check.details_url = field(data, "details_url", str, check.details_url)
    check.output = {**check.output, **output}
    check.started_at = started or check.started_at
    if conclusion is not None:
        check.status, check.conclusion, check.completed_at = "completed", conclusion, completed or now()
    elif status is not None and status != "completed":
        check.status, check.conclusion, check.completed_at = status, None, None


def _output(data: Json) -> Json:
    output: Json = field(data, "output", dict, {})
    if output:
        for name in ("title", "summary"):
            field(output, name, str)
    for name in ("summary", "text"):
        if len(str(output.get(name) or "")) > MAX_TEXT:
            raise invalid("CheckRun", name, f"{name} exceeds a maximum of {MAX_TEXT} characters")
    if len(field(output, "annotations", list, [])) > MAX_ANNOTATIONS:
        raise invalid("CheckRun", "annotations", f"at most {MAX_ANNOTATIONS} annotations")
    return output


def _time(data: Json, name: str) -> datetime | None:
    text = field(data, name, str, None)
    try:
        return moment(text) if text else None
    except ValueError:
        raise invalid("CheckRun", name) from None
