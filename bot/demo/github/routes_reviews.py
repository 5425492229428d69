"""Who is asked to review a pull request, and what they said."""

from __future__ import annotations

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from bot.demo.github import events
from bot.demo.github.api import ROLES, actor, body, field, needs, page, role_of
from bot.demo.github.errors import invalid
from bot.demo.github.routes_pulls import pull_of
from bot.demo.github.shapes_pulls import association, pull_simple, team
from bot.demo.github.shapes_repo import stamp, user
from bot.demo.github.state import Json, Pull, Review, now
from bot.demo.github.world import World, node_id, the_world

bp = Blueprint("reviews", __name__, url_prefix="/repos/<owner>/<repo>/pulls")
_STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


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


@bp.get("/<int:number>/reviews")
@needs("pull_requests")
def list_reviews(number: int) -> ResponseReturnValue:
    """Oldest first."""
    w = the_world()
    pull = pull_of(w, number)
    return page(pull.reviews, lambda found: _review(w, pull, found))


@bp.post("/<int:number>/reviews")
@needs("pull_requests", "write", "read")
def review(number: int) -> ResponseReturnValue:
    """Submitted at once; nobody may approve a pull request of their own."""
    w, data = the_world(), body()
    pull, who = pull_of(w, number), actor(w)
    event, text = field(data, "event", str), field(data, "body", str, "")
    if event not in _STATES or (event != "APPROVE" and not text):
        raise invalid("PullRequestReview", "event" if event not in _STATES else "body")
    if who == pull.user and event != "COMMENT":
        raise invalid("PullRequestReview", "user", "Can not approve your own pull request")
    made = Review(w.state.next_id("review"), who, _STATES[event], text, pull.head_sha, now())
    pull.reviews.append(made)
    return jsonify(_review(w, pull, made))


def _review(w: World, pull: Pull, found: Review) -> Json:
    html = f"{w.repo_html}/pull/{pull.number}#pullrequestreview-{found.id}"
    url = f"{w.repo_url}/pulls/{pull.number}"
    return {
        "id": found.id,
        "node_id": node_id("PullRequestReview", found.id),
        "user": user(w, found.user),
        "body": found.body,
        "state": found.state,
        "html_url": html,
        "pull_request_url": url,
        "_links": {"html": {"href": html}, "pull_request": {"href": url}},
        "submitted_at": stamp(found.at),
        "commit_id": found.sha,
        "author_association": association(w, found.user),
    }


def _may_all_be_asked(w: World, pull: Pull, people: list[str], teams: list[str]) -> bool:
    """Collaborators only, and not the author."""
    known = all(ROLES.index(role_of(w, login)) >= ROLES.index("read") for login in people)
    by_author = any(login.casefold() == pull.user.login.casefold() for login in people)
    return known and not by_author and all(slug in w.config.teams for slug in teams)
