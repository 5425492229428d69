"""The webhook: its settings, what was sent, and sending it again; of the App, and of the repository."""

from __future__ import annotations

import re

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github.api import caller, needs
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.shapes_repo import BORN, INSTALLATION_ID, stamp
from bot.demo.github.state import Json
from bot.demo.github.webhooks import Delivery
from bot.demo.github.world import World, the_world

bp = Blueprint("app_hook", __name__, url_prefix="/app/hook")
repository_hooks = Blueprint("hooks", __name__, url_prefix="/repos/<owner>/<repo>/hooks")
HOOK_ID = 1
NO_ANSWER = "failed to connect to host"


@bp.before_request
def _apps_only() -> None:
    if not caller().app:
        raise ApiError(401, "A JSON web token could not be decoded")


@bp.get("/config")
def get_config() -> ResponseReturnValue:
    return jsonify(_config(the_world()))


@bp.get("/deliveries")
def list_deliveries() -> ResponseReturnValue:
    return _page(the_world())


@bp.get("/deliveries/<int:number>")
def get_delivery(number: int) -> ResponseReturnValue:
    found = _find(the_world(), number)
    return jsonify(
        {
            **_item(the_world(), found),
            "request": {"headers": {"X-GitHub-Delivery": found.guid}, "payload": found.payload},
            "response": {"headers": {}, "payload": None},
        }
    )


@bp.post("/deliveries/<int:number>/attempts")
def redeliver(number: int) -> ResponseReturnValue:
    return _redeliver(the_world(), number)


@repository_hooks.get("")
@needs("repository_hooks", "read", "admin")
def list_hooks() -> ResponseReturnValue:
    w = the_world()
    return jsonify([] if w.hooks.hook is None else [_hook(w)])


@repository_hooks.get("/<int:hook>/deliveries")
@needs("repository_hooks", "read", "admin")
def list_hook_deliveries(hook: int) -> ResponseReturnValue:
    _only_one(hook)
    return _page(the_world())


@repository_hooks.post("/<int:hook>/deliveries/<int:number>/attempts")
@needs("repository_hooks", "write", "admin")
def redeliver_hook(hook: int, number: int) -> ResponseReturnValue:
    _only_one(hook)
    return _redeliver(the_world(), number)


def _only_one(hook: int) -> None:
    if hook != HOOK_ID:
        raise not_found()


def _redeliver(w: World, number: int) -> ResponseReturnValue:
    w.hooks.redeliver(_find(w, number).guid)
    return jsonify({}), 202


def _find(w: World, number: int) -> Delivery:
    for delivery in w.hooks.deliveries():
        if delivery.number == number:
            return delivery
    raise not_found()


def _page(w: World) -> ResponseReturnValue:
    """Newest first; the cursor names the last delivery of the page before."""
    size = min(max(request.args.get("per_page", 30, int), 1), 100)
    cursor = re.fullmatch(r"v1_(\d{1,9})", request.args.get("cursor", "v1_999999999"))
    if cursor is None:
        raise ApiError(422, "Invalid cursor")
    wanted = request.args.get("status")
    ended = [found for found in reversed(w.hooks.deliveries()) if found.duration_s is not None]
    found = [
        one
        for one in ended
        if one.number < int(cursor[1]) and wanted in (None, "success" if one.arrived else "failure")
    ]
    answer = jsonify([_item(w, one) for one in found[:size]])
    if len(found) > size:
        query = f"per_page={size}&cursor=v1_{found[size - 1].number}"
        answer.headers["Link"] = f'<{w.api_url}{request.path}?{query}>; rel="next"'
    return answer


def _item(w: World, found: Delivery) -> Json:
    installed = "installation" in found.payload
    return {
        "id": found.number,
        "guid": found.guid,
        "delivered_at": stamp(found.created_at),
        "redelivery": found.redelivery,
        "duration": found.duration_s or 0.0,
        "status": "OK" if found.arrived else NO_ANSWER if found.status is None else "Invalid HTTP Response",
        "status_code": found.status or 0,
        "event": found.event,
        "action": found.payload.get("action"),
        "installation_id": INSTALLATION_ID if installed else None,
        "repository_id": found.payload.get("repository", {}).get("id"),
        "throttled_at": None,
    }


def _config(w: World) -> Json:
    hook = w.hooks.hook
    if hook is None:
        return {"url": "", "content_type": "json", "insecure_ssl": "0"}
    return {"url": str(hook.url), "content_type": "json", "secret": "********", "insecure_ssl": "0"}


def _hook(w: World) -> Json:
    url = f"{w.repo_url}/hooks/{HOOK_ID}"
    last = next((found for found in reversed(w.hooks.deliveries()) if found.duration_s is not None), None)
    return {
        "type": "Repository",
        "id": HOOK_ID,
        "name": "web",
        "active": True,
        "events": ["*"],
        "config": _config(w),
        "updated_at": stamp(BORN),
        "created_at": stamp(BORN),
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": last.status if last else None, "status": None, "message": None},
    }
