"""Issues of their own, labels, and the events that tell who set one."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import ROLES, actor, body, caller, field, needs, page, role_of
from bot.demo.github.errors import ApiError, invalid, not_found
from bot.demo.github.routes_pulls import title_of
from bot.demo.github.shapes_pulls import issue, label, label_event
from bot.demo.github.state import Issue, Label, LabelEvent, Pull, User, now
from bot.demo.github.world import World, the_world

bp = Blueprint("labels", __name__, url_prefix="/repos/<owner>/<repo>/issues")


def issue_of(w: World, number: int) -> Issue | Pull:
    """Every pull request is an issue too."""
    found: Issue | Pull | None = w.state.issues.get(number) or w.state.pulls.get(number)
    if found is None:
        raise not_found()
    return found


@bp.post("")
@needs("issues", "write", "read")
def create_issue() -> ResponseReturnValue:
    """Labels of somebody who may not set them are dropped without a word, as on GitHub."""
    w, data, who = the_world(), body(), actor(the_world())
    moment = now()
    made = Issue(w.state.next_id("number"), who, title_of(field(data, "title", str)), moment, moment)
    w.state.issues[made.number] = made
    if not caller().login or ROLES.index(role_of(w, who.login)) >= ROLES.index("triage"):
        for name in label_names(field(data, "labels", list, [])):
            set_label(w, made, name, who)
    return jsonify(issue(w, made)), 201


@bp.patch("/<int:number>")
@needs("issues", "write", "triage")
def update_issue(number: int) -> ResponseReturnValue:
    """The state of an issue of its own."""
    w = the_world()
    if number not in w.state.issues:
        raise not_found()
    found, state = w.state.issues[number], field(body(), "state", str, "open")
    if state not in ("open", "closed"):
        raise invalid("Issue", "state")
    found.state, found.updated_at = state, now()
    found.closed_at = now() if state == "closed" else None
    return jsonify(issue(w, found))


@bp.get("/<int:number>/labels")
@needs("issues")
def list_labels(number: int) -> ResponseReturnValue:
    w = the_world()
    return page(issue_of(w, number).labels, lambda item: label(w, item))


@bp.post("/<int:number>/labels")
@needs("issues", "write", "triage")
def add_labels(number: int) -> ResponseReturnValue:
    """Labels that do not exist yet are made."""
    w = the_world()
    found, who = issue_of(w, number), actor(w)
    data = request.get_json(force=True, silent=True)
    for name in label_names(data.get("labels") if isinstance(data, dict) else data):
        set_label(w, found, name, who)
    return jsonify([label(w, item) for item in found.labels])


@bp.delete("/<int:number>/labels/<path:name>")
@needs("issues", "write", "triage")
def remove_label(number: int, name: str) -> ResponseReturnValue:
    w = the_world()
    found, known = issue_of(w, number), w.state.labels.get(name.casefold())
    if known is None or known not in found.labels:
        raise ApiError(404, "Label does not exist")
    found.labels.remove(known)
    _note(w, "unlabeled", found, known, actor(w))
    return jsonify([label(w, item) for item in found.labels])


@bp.get("/<int:number>/events")
@needs("issues")
def list_events(number: int) -> ResponseReturnValue:
    """Oldest first. Labels set and taken off; GitHub lists much more."""
    w = the_world()
    issue_of(w, number)
    found = [event for event in w.state.label_events if event.issue == number]
    return page(found, lambda event: label_event(w, event))


def set_label(w: World, found: Issue | Pull, name: str, who: User) -> None:
    """Also the way of an issue form, which sets labels for whoever fills it in."""
    known = w.state.labels.setdefault(name.casefold(), Label(w.state.next_id("label"), name))
    if known in found.labels:
        return
    found.labels.append(known)
    _note(w, "labeled", found, known, who)
    if isinstance(found, Pull):
        events.pull_request(w, "labeled", found, who, {"label": label(w, known)})


def _note(w: World, event: str, found: Issue | Pull, known: Label, who: User) -> None:
    w.state.label_events.append(LabelEvent(w.state.next_id("event"), found.number, event, known, who, now()))


def label_names(names: object) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(n, str) and 0 < len(n) <= 50 for n in names):
        raise invalid("Label", "name")
    return names
