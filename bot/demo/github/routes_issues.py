"""Pull requests as issues: comments, reactions, labels. Issues of their own do not exist here."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import ROLES, actor, body, caller, field, moment, needs, page, role_of
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.routes_pulls import MAX_BODY, pull_of
from bot.demo.github.shapes_pulls import CONTENTS, comment, issue, label, reaction
from bot.demo.github.state import Comment, Label, Reaction, now
from bot.demo.github.world import World, the_world

bp = Blueprint("issues", __name__, url_prefix="/repos/<owner>/<repo>/issues")


@bp.get("")
@needs("issues")
def list_issues() -> ResponseReturnValue:
    """Filters state (default open) and creator. Newest first."""
    w = the_world()
    state, creator = request.args.get("state", "open"), request.args.get("creator", "").casefold()
    found = [
        pull
        for pull in sorted(w.state.pulls.values(), key=lambda pull: -pull.number)
        if state in ("all", pull.state) and creator in ("", pull.user.login.casefold())
    ]
    return page(found, lambda pull: issue(w, pull))


@bp.get("/<int:number>")
@needs("issues")
def get_issue(number: int) -> ResponseReturnValue:
    w = the_world()
    return jsonify(issue(w, pull_of(w, number)))


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


@bp.get("/<int:number>/labels")
@needs("issues")
def list_labels(number: int) -> ResponseReturnValue:
    w = the_world()
    return page(pull_of(w, number).labels, lambda item: label(w, item))


@bp.post("/<int:number>/labels")
@needs("issues", "write", "triage")
def add_labels(number: int) -> ResponseReturnValue:
    """Labels that do not exist yet are made."""
    w = the_world()
    pull, who = pull_of(w, number), actor(w)
    for name in _label_names():
        known = w.state.labels.setdefault(name.casefold(), Label(w.state.next_id("label"), name))
        if known not in pull.labels:
            pull.labels.append(known)
            events.pull_request(w, "labeled", pull, who, {"label": label(w, known)})
    return jsonify([label(w, item) for item in pull.labels])


def _label_names() -> list[str]:
    data = request.get_json(force=True, silent=True)
    names = data.get("labels") if isinstance(data, dict) else data
    if not isinstance(names, list) or not all(isinstance(n, str) and 0 < len(n) <= 50 for n in names):
        raise invalid("Label", "name")
    return names
