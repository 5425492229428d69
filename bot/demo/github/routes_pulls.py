"""Pull requests."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import pulls
from bot.demo.github.api import ROLES, actor, body, caller, field, needs, page, role_of
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.shapes_git import commit
from bot.demo.github.shapes_pulls import pull_full, pull_simple
from bot.demo.github.state import Json, Pull
from bot.demo.github.world import World, the_world

bp = Blueprint("pulls", __name__, url_prefix="/repos/<owner>/<repo>/pulls")
MAX_BODY = 65_536


@bp.get("")
@needs("pull_requests")
def list_pulls() -> ResponseReturnValue:
    """Filters state (default open), head as `owner:branch`, base. Newest first."""
    w = the_world()
    state = request.args.get("state", "open")
    if state not in ("open", "closed", "all"):
        raise invalid("PullRequest", "state")
    owner, _, head = request.args.get("head", "").rpartition(":")
    base = request.args.get("base")
    found = [
        pull
        for pull in w.state.pulls.values()
        if state in ("all", pull.state)
        and (not head or (head == pull.head_ref and owner.casefold() in ("", pulls.head_owner(w, pull))))
        and (not base or base == pull.base_ref)
    ]
    order = {"updated": "updated_at"}.get(request.args.get("sort", ""), "number")
    down = request.args.get("direction", "desc") == "desc"
    found.sort(key=lambda pull: (getattr(pull, order), pull.number), reverse=down)
    return page(found, lambda pull: pull_simple(w, pull))


@bp.post("")
@needs("pull_requests", "write", "read")
def create_pull() -> ResponseReturnValue:
    w = the_world()
    data = body()
    title = title_of(field(data, "title", str))
    pull = pulls.open_pull(
        w,
        head=field(data, "head", str),
        base=field(data, "base", str),
        title=title,
        body=body_of(field(data, "body", str, None)),
        draft=field(data, "draft", bool, False),
        modify=field(data, "maintainer_can_modify", bool, False),
        who=actor(w),
    )
    return jsonify(pull_full(w, pull)), 201


@bp.get("/<int:number>")
@needs("pull_requests")
def get_pull(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(pull_full(w, pull_of(w, number)))


@bp.patch("/<int:number>")
@needs("pull_requests", "write", "read")
def update_pull(number: int) -> ResponseReturnValue:
    w = the_world()
    pull, data, who = pull_of(w, number), body(), actor(w)
    if caller().login and who != pull.user and ROLES.index(role_of(w, who.login)) < ROLES.index("triage"):
        raise ApiError(403, "Must have push access to repository")
    changes: Json = {}
    if "title" in data:
        changes["title"] = title_of(field(data, "title", str))
    if "body" in data:
        changes["body"] = body_of(field(data, "body", str, None))
    for name, kind in (("base", str), ("state", str), ("maintainer_can_modify", bool)):
        if name in data:
            changes[name] = field(data, name, kind)
    if changes.get("state", "open") not in ("open", "closed"):
        raise invalid("PullRequest", "state")
    pulls.update(w, pull, changes, who)
    return jsonify(pull_full(w, pull))


@bp.get("/<int:number>/files")
@needs("pull_requests")
def list_files(number: int) -> ResponseReturnValue:
    w = the_world()
    return page(pulls.changed_files(w, pull_of(w, number)), dict)


@bp.get("/<int:number>/commits")
@needs("pull_requests")
def list_commits(number: int) -> ResponseReturnValue:
    w = the_world()
    pull = pull_of(w, number)
    found = w.git.log("--max-count=250", pull.head_sha, f"^{pull.base_sha}")[::-1]
    return page(found, lambda item: commit(w, item))


def pull_of(w: World, number: int) -> Pull:
    if number not in w.state.pulls:
        raise not_found()
    return w.state.pulls[number]


def title_of(text: str) -> str:
    if not text.strip():
        raise invalid("PullRequest", "title", code="missing_field")
    if len(text) > 256:
        raise invalid("PullRequest", "title", "title is too long (maximum is 256 characters)")
    return text


def body_of(text: str | None) -> str | None:
    if text is not None and len(text) > MAX_BODY:
        raise invalid("PullRequest", "body", f"body is too long (maximum is {MAX_BODY} characters)")
    return text
