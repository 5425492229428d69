"""Lists of issues, and the comments and reactions of pull requests."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import ROLES, actor, body, caller, field, moment, needs, page, role_of
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.routes_labels import issue_of
from bot.demo.github.routes_pulls import MAX_BODY, pull_of
from bot.demo.github.shapes_pulls import CONTENTS, comment, issue, reaction
from bot.demo.github.state import Comment, Issue, Pull, Reaction, now
from bot.demo.github.world import World, the_world

bp = Blueprint("issues", __name__, url_prefix="/repos/<owner>/<repo>/issues")


@bp.get("")
@needs("issues")
def list_issues() -> ResponseReturnValue:
    """Filters state (default open), creator and labels (all of them). Newest first."""
    w = the_world()
    state, creator = request.args.get("state", "open"), request.args.get("creator", "").casefold()
    labels = {name.casefold() for name in request.args.get("labels", "").split(",") if name}
    every: list[Issue | Pull] = [*w.state.pulls.values(), *w.state.issues.values()]
    found = [
        item
        for item in sorted(every, key=lambda item: -item.number)
        if state in ("all", item.state)
        and creator in ("", item.user.login.casefold())
        and labels <= {label.name.casefold() for label in item.labels}
    ]
    return page(found, lambda item: issue(w, item))


@bp.get("/<int:number>")
@needs("issues")
def get_issue(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(issue(w, issue_of(w, number)))


@bp.get("/<int:number>/comments")
@needs("issues")
def list_comments(number: int) -> ResponseReturnValue:
    w = the_world()
    pull_of(w, number)
    found = w.state.comments_of(number)
    since = request.args.get("since")
    if since:
        try:
            oldest = moment(since)
        except ValueError:
            raise invalid("IssueComment", "since") from None
        found = [c for c in found if c.updated_at >= oldest]
    return page(found, lambda item: comment(w, item))


@bp.post("/<int:number>/comments")
@needs("issues", "write", "read")
def create_comment(number: int) -> ResponseReturnValue:
    w = the_world()
    pull_of(w, number)
    text, who, at = _text(), actor(w), now()
    made = Comment(w.state.next_id("comment"), number, who, text, at, at)
    w.state.comments[made.id] = made
    events.issue_comment(w, "created", made, who)
    return jsonify(comment(w, made)), 201


@bp.get("/comments/<int:number>")
@needs("issues")
def get_comment(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(comment(w, _comment(w, number)))


@bp.patch("/comments/<int:number>")
@needs("issues", "write", "read")
def update_comment(number: int) -> ResponseReturnValue:
    w = the_world()
    found, text, who = _comment(w, number), _text(), actor(w)
    _own_or_writer(w, found)
    before, found.body, found.updated_at = found.body, text, now()
    events.issue_comment(w, "edited", found, who, {"body": {"from": before}})
    return jsonify(comment(w, found))


@bp.delete("/comments/<int:number>")
@needs("issues", "write", "read")
def delete_comment(number: int) -> ResponseReturnValue:
    w = the_world()
    found = _comment(w, number)
    _own_or_writer(w, found)
    del w.state.comments[number]
    events.issue_comment(w, "deleted", found, actor(w))
    return "", 204


def _comment(w: World, number: int) -> Comment:
    if number not in w.state.comments:
        raise not_found()
    return w.state.comments[number]


def _text() -> str:
    text: str = field(body(), "body", str)
    if not text.strip():
        raise invalid("IssueComment", "body", "body can't be blank")
    if len(text) > MAX_BODY:
        raise invalid("IssueComment", "body", f"body is too long (maximum is {MAX_BODY} characters)")
    return text


def _own_or_writer(w: World, found: Comment) -> None:
    login = caller().login
    if login and found.user != actor(w) and ROLES.index(role_of(w, login)) < ROLES.index("write"):
        raise ApiError(403, "Must have push access to repository")


@bp.get("/comments/<int:number>/reactions")
@needs("issues")
def list_reactions(number: int) -> ResponseReturnValue:
    w = the_world()
    content = request.args.get("content")
    found = [r for r in _comment(w, number).reactions if content in (None, r.content)]
    return page(found, lambda item: reaction(w, item))


@bp.post("/comments/<int:number>/reactions")
@needs("issues", "write", "read")
def create_reaction(number: int) -> ResponseReturnValue:
    """200 when the caller has given this one before."""
    w = the_world()
    found, content, who = _comment(w, number), field(body(), "content", str), actor(w)
    if content not in CONTENTS:
        raise invalid("Reaction", "content")
    for old in found.reactions:
        if (old.user, old.content) == (who, content):
            return jsonify(reaction(w, old))
    made = Reaction(w.state.next_id("reaction"), who, content, now())
    found.reactions.append(made)
    return jsonify(reaction(w, made)), 201
