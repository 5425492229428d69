"""Making an App from a manifest, its installations, commit statuses, and the list of runners."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any
from urllib.parse import urlencode, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import Blueprint, jsonify, redirect, render_template, request
from flask.typing import ResponseReturnValue

from bot.demo.github.api import actor, body, caller, field, needs, page
from bot.demo.github.config import DemoApp, DemoHook
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.shapes_repo import app, installation, stamp, user
from bot.demo.github.state import Json, Status, now
from bot.demo.github.tokens import LEVELS, Tokens
from bot.demo.github.world import World, node_id, the_world

bp = Blueprint("apps", __name__)
manifests = Blueprint("manifests", __name__, template_folder="templates")
STATES = ("error", "failure", "pending", "success")
MAX_DESCRIPTION = 140
MAX_NAME = 34


# The pages that make an App from a manifest


@manifests.post("/settings/apps/new")
@manifests.post("/organizations/<owner>/settings/apps/new")
def new_app(owner: str | None = None) -> ResponseReturnValue:
    """What a person sees who was sent here with a manifest: its name may be changed, then one button."""
    try:
        manifest = _manifest(request.form.get("manifest", ""))
    except ValueError as error:
        return render_template("new_app.html", problem=str(error)), 422
    return render_template(
        "new_app.html",
        problem=None,
        manifest=manifest,
        text=json.dumps(manifest),
        state=request.args.get("state", ""),
        owner=owner,
    )


@manifests.post("/settings/apps/confirmed")
def confirmed() -> ResponseReturnValue:
    """Back to who sent the manifest, with a code for the App and the state as it came."""
    try:
        manifest = _manifest(request.form.get("manifest", ""))
    except ValueError as error:
        return render_template("new_app.html", problem=str(error)), 422
    manifest["name"] = request.form.get("name") or manifest["name"]
    code = secrets.token_hex(20)
    the_world().manifests[code] = manifest
    query = urlencode({"code": code, "state": request.form.get("state", "")})
    return redirect(f"{manifest['redirect_url']}?{query}")


def _manifest(text: str) -> dict[str, Any]:
    """Raises ValueError with what GitHub's page would say."""
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError("manifest is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("manifest is not an object")
    for name in ("url", "redirect_url"):
        if urlsplit(str(found.get(name, ""))).scheme not in ("http", "https"):
            raise ValueError(f"{name} must be an address")
    if not 0 < len(str(found.get("name", ""))) <= MAX_NAME:
        raise ValueError(f"name must have 1 to {MAX_NAME} characters")
    hook = found.get("hook_attributes")
    if hook is not None and urlsplit(str(hook.get("url", ""))).scheme not in ("http", "https"):
        raise ValueError("hook_attributes.url must be an address")
    granted = found.get("default_permissions", {})
    if not all(level in LEVELS for level in granted.values()):
        raise ValueError("default_permissions must be read, write or admin")
    return found


@bp.post("/app-manifests/<code>/conversions")
def convert(code: str) -> ResponseReturnValue:
    """The App of a code, once. From here on it is the App that is installed, with a key of its own."""
    w = the_world()
    with w.lock:
        manifest = w.manifests.pop(code, None)
        if manifest is None:
            raise not_found()
        private, public = _key_pair()
        slug = re.sub(r"[^a-z0-9]+", "-", manifest["name"].lower()).strip("-")
        permissions = {**manifest.get("default_permissions", {}), "metadata": "read"}
        made = DemoApp(
            id=w.config.app.id + 1,
            slug=slug,
            public_key=public,
            permissions=permissions,
            events=tuple(manifest.get("default_events", ())),
        )
        w.config = w.config.model_copy(update={"app": made})
        w.tokens = Tokens(w.config)
        hook = manifest.get("hook_attributes")
        secret = secrets.token_hex(20) if hook else None
        if hook and secret:
            w.hooks.hook = DemoHook(url=hook["url"], secret=secret)
        answer = {
            **app(w),
            "client_secret": secrets.token_hex(20),
            "webhook_secret": secret,
            "pem": private,
        }
        return jsonify(answer), 201


def _key_pair() -> tuple[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@bp.get("/app/installations")
def list_installations() -> ResponseReturnValue:
    if not caller().app:
        raise ApiError(401, "A JSON web token could not be decoded")
    w = the_world()
    return page([None] if w.config.app_is_installed else [], lambda _: installation(w))


# Below a repository


@bp.post("/repos/<owner>/<repo>/statuses/<sha>")
@needs("statuses", "write", "write")
def create_status(sha: str) -> ResponseReturnValue:
    w = the_world()
    data = body()
    if w.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    state: str = field(data, "state", str)
    description = field(data, "description", str, None)
    if state not in STATES:
        raise invalid("Status", "state")
    if description is not None and len(description) > MAX_DESCRIPTION:
        raise invalid("Status", "description", f"description is too long (maximum is {MAX_DESCRIPTION})")
    made = Status(
        id=w.state.next_id("status"),
        sha=sha,
        user=actor(w),
        state=state,
        context=field(data, "context", str, "default"),
        description=description,
        target_url=field(data, "target_url", str, None),
        created_at=now(),
    )
    w.state.statuses.append(made)
    return jsonify(_status(w, made)), 201


@bp.get("/repos/<owner>/<repo>/commits/<path:ref>/statuses")
@needs("statuses")
def list_statuses(ref: str) -> ResponseReturnValue:
    """Newest first."""
    w = the_world()
    sha = w.git.resolve(ref)
    if sha is None:
        raise not_found()
    found = [status for status in w.state.statuses if status.sha == sha]
    return page(found[::-1], lambda status: _status(w, status))


@bp.get("/repos/<owner>/<repo>/actions/runners")
@needs("administration", "read", "admin")
def list_runners() -> ResponseReturnValue:
    w = the_world()
    numbered = list(enumerate(w.config.runners, 1))

    def shape(item: tuple[int, Any]) -> Json:
        number, runner = item
        return {
            "id": number,
            "name": runner.name,
            "os": "linux",
            "status": "online" if runner.online else "offline",
            "busy": False,
            "labels": [
                {"id": place, "name": name, "type": "custom"} for place, name in enumerate(runner.labels)
            ],
        }

    return page(numbered, shape, "runners")


def _status(w: World, found: Status) -> Json:
    return {
        "url": f"{w.repo_url}/statuses/{found.sha}",
        "avatar_url": user(w, found.user)["avatar_url"],
        "id": found.id,
        "node_id": node_id("StatusContext", found.id),
        "state": found.state,
        "description": found.description,
        "target_url": found.target_url,
        "context": found.context,
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "creator": user(w, found.user),
    }
