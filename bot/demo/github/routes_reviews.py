"""Who is asked to review a pull request."""

from __future__ import annotations

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import ROLES, actor, body, field, needs, role_of
from bot.demo.github.routes_pulls import pull_of
from bot.demo.github.shapes_pulls import pull_simple, team
from bot.demo.github.shapes_repo import user
from bot.demo.github.state import Pull
from bot.demo.github.world import World, the_world

bp = Blueprint("reviews", __name__, url_prefix="/repos/<owner>/<repo>/pulls")


@bp.get("/<int:number>/requested_reviewers")
@needs("pull_requests")
def list_requested(number: int) -> ResponseReturnValue:
    w = the_world()
    pull = pull_of(w, number)
    return jsonify(
        {
            "users": [user(w, asked) for asked in pull.reviewers],
            "teams": [{**team(w, slug), "parent": None} for slug in pull.teams],
        }
    )


@bp.post("/<int:number>/requested_reviewers")
@needs("pull_requests", "write", "write")
def request_review(number: int) -> ResponseReturnValue:
    """All or none, as on GitHub: one name without access and nobody is asked."""
    w, data = the_world(), body()
    pull = pull_of(w, number)
    people: list[str] = field(data, "reviewers", list, [])
    teams: list[str] = field(data, "team_reviewers", list, [])
    if not _may_all_be_asked(w, pull, people, teams):
        return "", 422
    for login in people:
        asked = w.state.user(login)
        if asked not in pull.reviewers:
            pull.reviewers.append(asked)
            more = {"requested_reviewer": user(w, asked)}
            events.pull_request(w, "review_requested", pull, actor(w), more)
    pull.teams += [slug for slug in teams if slug not in pull.teams]
    return jsonify(pull_simple(w, pull)), 201


def _may_all_be_asked(w: World, pull: Pull, people: list[str], teams: list[str]) -> bool:
    """Collaborators only, and not the author."""
    known = all(ROLES.index(role_of(w, login)) >= ROLES.index("read") for login in people)
    by_author = any(login.casefold() == pull.user.login.casefold() for login in people)
    return known and not by_author and all(slug in w.config.teams for slug in teams)
