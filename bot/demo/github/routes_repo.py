"""The repository, its branches and commits, who may do what, accounts, and the App."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import shapes_git, shapes_pulls
from bot.demo.github.api import ROLES, body, caller, field, moment, needs, page, rate_limit, role_of
from bot.demo.github.diff import diff
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.shapes_repo import (
    INSTALLATION_ID,
    app,
    full_repository,
    installation,
    permission,
    profile,
    repository,
    stamp,
)
from bot.demo.github.state import Json
from bot.demo.github.world import World, quoted, the_world

bp = Blueprint("repo", __name__, url_prefix="/repos/<owner>/<repo>")
accounts = Blueprint("accounts", __name__)
MAX_COMPARED = 250


@bp.get("")
@needs("metadata")
def get_repository() -> ResponseReturnValue:
    w, who = the_world(), caller()
    if who.login is None:
        return jsonify(full_repository(w, None))
    level = max(ROLES.index(role_of(w, who.login)), ROLES.index("read"))
    names = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    granted = {name: level >= [*ROLES].index(role) for name, role in names.items()}  # type: ignore[arg-type]
    return jsonify(full_repository(w, granted))


@bp.get("/branches")
@needs("contents")
def list_branches() -> ResponseReturnValue:
    w = the_world()

    def shape(item: tuple[str, str]) -> Json:
        commit = {"sha": item[1], "url": f"{w.repo_url}/commits/{item[1]}"}
        return {"name": item[0].removeprefix("refs/heads/"), "commit": commit, "protected": False}

    return page(list(w.git.refs("refs/heads/").items()), shape)


@bp.get("/branches/<path:branch>")
@needs("contents")
def get_branch(branch: str) -> ResponseReturnValue:
    w = the_world()
    sha = w.git.ref(f"refs/heads/{branch}")
    if sha is None:
        raise ApiError(404, "Branch not found")
    url = f"{w.repo_url}/branches/{quoted(branch)}"
    links = {"self": url, "html": f"{w.repo_html}/tree/{quoted(branch)}"}
    return jsonify(
        {
            "name": branch,
            "commit": shapes_git.commit(w, w.git.commit(sha)),
            "_links": links,
            "protected": False,
            "protection": {"enabled": False},
            "protection_url": f"{url}/protection",
        }
    )


@bp.get("/commits")
@needs("contents")
def list_commits() -> ResponseReturnValue:
    w = the_world()
    start = _commit(w, request.args.get("sha") or w.config.default_branch)
    flags = ["--max-count=2000", start]
    if request.args.get("since"):
        try:
            flags.append(f"--since={moment(request.args['since']).isoformat()}")
        except ValueError:
            raise ApiError(422, "since is not a valid date-time.") from None
    if request.args.get("path"):
        flags += ["--", f":(literal){request.args['path']}"]
    return page(w.git.log(*flags), lambda found: shapes_git.commit(w, found))


@bp.get("/commits/<path:ref>")
@needs("contents")
def get_commit(ref: str) -> ResponseReturnValue:
    w = the_world()
    sha = w.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    found = w.git.commit(sha)
    files = diff(w.git, found.parents[0] if found.parents else None, sha)
    return jsonify(shapes_git.commit(w, found, files))


@bp.get("/commits/<path:ref>/pulls")
@needs("pull_requests")
def pulls_of_commit(ref: str) -> ResponseReturnValue:
    """Pull requests that contain the commit and have it not from their base; as on GitHub none of a fork."""
    w = the_world()
    sha = _commit(w, ref)
    found = [
        pull
        for pull in w.state.pulls.values()
        if pull.head_repository is None
        and w.git.is_ancestor(sha, pull.head_sha)
        and not w.git.is_ancestor(sha, pull.base_sha)
    ]
    return page(found, lambda pull: shapes_pulls.pull_simple(w, pull))


@bp.get("/compare/<path:basehead>")
@needs("contents")
def compare(basehead: str) -> ResponseReturnValue:
    w = the_world()
    left, dots, right = basehead.partition("...")
    if not dots:
        raise not_found()
    base, head = _commit(w, _own(w, left)), _commit(w, _own(w, right))
    middle = w.git.merge_base(base, head)
    if middle is None:
        raise ApiError(404, f"No common ancestor between {left} and {right}.")
    ahead, behind = w.git.count(base, head), w.git.count(head, base)
    status = ["identical", "ahead", "behind", "diverged"][(ahead > 0) + 2 * (behind > 0)]
    commits = w.git.log(f"--max-count={MAX_COMPARED}", head, f"^{base}")[::-1] if ahead else []
    url, html = f"{w.repo_url}/compare/{quoted(basehead)}", f"{w.repo_html}/compare/{quoted(basehead)}"
    return jsonify(
        {
            "url": url,
            "html_url": html,
            "permalink_url": f"{w.repo_html}/compare/{base}...{head}",
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "base_commit": shapes_git.commit(w, w.git.commit(base)),
            "merge_base_commit": shapes_git.commit(w, w.git.commit(middle)),
            "status": status,
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": ahead,
            "commits": [shapes_git.commit(w, found) for found in commits],
            "files": [shapes_git.file_diff(w, file, head) for file in diff(w.git, middle, head)],
        }
    )


def _own(w: World, name: str) -> str:
    """`owner:branch` of this repository's owner."""
    owner, colon, branch = name.partition(":")
    return branch if colon and owner.casefold() == w.config.owner.casefold() else name


def _commit(w: World, name: str) -> str:
    sha = w.git.resolve(name)
    if sha is None:
        raise not_found()
    return sha


@bp.get("/collaborators/<username>/permission")
@needs("metadata", "read", "write")
def get_permission(username: str) -> ResponseReturnValue:
    """On a public repository a stranger has `read`. Unknown accounts are 404."""
    w = the_world()
    account = w.state.users.get(username.casefold())
    if account is None or account.type != "User":
        raise ApiError(404, f"{username} is not a user")
    role = role_of(w, username)
    if role == "none" and not w.config.private:
        role = "read"
    return jsonify(permission(w, account, role))


# Outside the repository


@accounts.get("/repos/<owner>/<repo>/installation")
def repository_installation(owner: str, repo: str) -> ResponseReturnValue:
    w = _the_app()
    known = f"{owner}/{repo}".casefold() == w.config.full_name.casefold()
    if not known or not w.config.app_is_installed:
        raise not_found()
    return jsonify(installation(w))


@accounts.get("/app")
def get_app() -> ResponseReturnValue:
    w = _the_app()
    return jsonify({**app(w), "installations_count": 1})


@accounts.get("/app/installations/<int:number>")
def get_installation(number: int) -> ResponseReturnValue:
    w = _the_app()
    if number != INSTALLATION_ID:
        raise not_found()
    return jsonify(installation(w))


@accounts.post("/app/installations/<int:number>/access_tokens")
def create_token(number: int) -> ResponseReturnValue:
    w = _the_app()
    if number != INSTALLATION_ID:
        raise not_found()
    token, granted = w.tokens.new_installation_token(field(body(), "permissions", dict, None))
    answer = {
        "token": token,
        "expires_at": stamp(granted.expires_at),
        "permissions": granted.permissions,
        "repository_selection": "selected",
    }
    return jsonify(answer), 201


@accounts.get("/installation/repositories")
def installation_repositories() -> ResponseReturnValue:
    w = the_world()
    if caller().installation is None:
        raise ApiError(403, "You must authenticate with an installation access token.")
    return page([None], lambda _: repository(w), "repositories")


@accounts.get("/user")
def get_user() -> ResponseReturnValue:
    w, who = the_world(), caller()
    if who.login is None:
        raise (
            ApiError(403, "Resource not accessible by integration")
            if who.installation
            else ApiError(401, "Requires authentication")
        )
    return jsonify(profile(w, w.state.user(who.login)))


@accounts.get("/users/<username>")
def get_account(username: str) -> ResponseReturnValue:
    w = the_world()
    account = w.state.users.get(username.casefold())
    if account is None:
        raise not_found()
    return jsonify(profile(w, account))


@accounts.get("/rate_limit")
def get_rate_limit() -> ResponseReturnValue:
    rate = rate_limit(the_world())
    return jsonify({"resources": {"core": rate, "search": rate}, "rate": rate})


def _the_app() -> World:
    if not caller().app:
        raise ApiError(401, "A JSON web token could not be decoded")
    return the_world()
