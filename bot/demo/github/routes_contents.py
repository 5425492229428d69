"""Files and folders by path, on branches or commits."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, redirect, request
from flask.typing import ResponseReturnValue

from bot.demo.github.api import actor, base64_bytes, body, caller, field, moment, needs
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.git import GitError, Person, TreeChange, safe_path
from bot.demo.github.moves import move
from bot.demo.github.shapes_git import content, file_content, git_commit, noreply
from bot.demo.github.state import Json, User, now
from bot.demo.github.world import World, the_world

bp = Blueprint("contents", __name__, url_prefix="/repos/<owner>/<repo>/contents")
archives = Blueprint("archives", __name__, url_prefix="/repos/<owner>/<repo>/tarball")


@bp.get("/")
@bp.get("/<path:path>")
@needs("contents")
def get_contents(path: str = "") -> ResponseReturnValue:
    w = the_world()
    path = path.strip("/")
    where = request.args.get("ref") or w.config.default_branch
    commit = w.git.resolve(where)
    if commit is None:
        raise ApiError(404, f"No commit found for the ref {where}")
    entry = w.git.entry(commit, path) if path else None
    if path and entry is None:
        raise not_found()
    accept = request.headers.get("Accept", "")
    if entry is not None and entry.type == "blob":
        data = w.git.blob(entry.sha)
        if "raw" in accept:
            return Response(data, mimetype="application/vnd.github.raw")
        return jsonify(file_content(w, entry, path, where, data))
    if entry is not None and entry.type == "commit":
        raise ApiError(422, "Submodules are not served here")
    children = w.git.tree(commit, path)
    prefix = f"{path}/" if path else ""
    return jsonify([content(w, child, prefix + child.path, where) for child in children])


@archives.get("/<path:ref>")
@needs("contents")
def get_tarball(ref: str) -> ResponseReturnValue:
    """Leads to another host, as on GitHub."""
    w = the_world()
    commit = w.git.resolve(ref)
    if commit is None:
        raise not_found()
    return redirect(f"{w.base_url}/_blobs/archives/{commit}.tar.gz")


@bp.put("/<path:path>")
@needs("contents", "write", "write")
def put_contents(path: str) -> ResponseReturnValue:
    """One file, one commit. The blob SHA of what is replaced is the lock: 409 when it is an old one."""
    w = the_world()
    data = body()
    message: str = field(data, "message", str)
    new = base64_bytes(field(data, "content", str))
    branch: str = field(data, "branch", str, w.config.default_branch)
    ref = f"refs/heads/{branch}"
    tip = w.git.ref(ref)
    if tip is None:
        raise ApiError(404, f"Branch {branch} not found")
    if not safe_path(path):
        raise ApiError(422, "path contains a malformed path component")
    _may_change_workflows(path)
    old = w.git.entry(tip, path)
    _check_lock(path, old.sha if old else None, field(data, "sha", str, None))
    who = actor(w)
    author, committer = people(w, data, who)
    blob = w.git.add_blob(new)
    try:
        tree = w.git.add_tree(tip, [TreeChange(path, old.mode if old else "100644", blob)])
    except GitError as error:
        raise ApiError(422, f"path: {error}") from None
    commit = w.git.add_commit(tree, [tip], message, author, committer)
    move(w, ref, commit, tip, who)
    entry = w.git.entry(commit, path)
    assert entry is not None  # noqa: S101 - just written
    made = git_commit(w, w.git.commit(commit))
    answer = jsonify({"content": content(w, entry, path, branch), "commit": made})
    answer.status_code = 200 if old else 201
    return answer


def _check_lock(path: str, actual: str | None, given: str | None) -> None:
    if actual is not None and given is None:
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if given is not None and given != actual:
        raise ApiError(409, f"{path} does not match {given}")


def _may_change_workflows(path: str) -> None:
    token = caller().installation
    if token and path.startswith(".github/workflows/") and "workflows" not in token.permissions:
        raise ApiError(403, "Resource not accessible by integration")


def people(w: World, data: Json, who: User) -> tuple[Person, Person]:
    """Author and committer of a commit: as given, else the caller."""
    author = _person(w, field(data, "author", dict, None), who, None)
    return author, _person(w, field(data, "committer", dict, None), who, author)


def _person(w: World, given: Json | None, who: User, default: Person | None) -> Person:
    if given is None:
        return default or Person(who.login, noreply(w, who.login, who.type), now())
    date = field(given, "date", str, None)
    try:
        at = moment(date) if date else now()
    except ValueError:
        raise ApiError(422, f"Invalid request.\n\n{date!r:.40} is not a valid date-time.") from None
    return Person(_plain(field(given, "name", str)), _plain(field(given, "email", str)), at)


def _plain(text: str) -> str:
    if not text.strip() or any(sign in text for sign in "<>\n\0"):
        raise ApiError(422, "Invalid request.\n\nA name or an email address is not valid.")
    return text
