"""The git data API: refs, commits, trees, blobs."""

from __future__ import annotations

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github.api import actor, base64_bytes, body, field, needs, sha_field
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.git import ZERO, GitError, TreeChange, safe_path
from bot.demo.github.moves import move
from bot.demo.github.routes_contents import people
from bot.demo.github.shapes_git import blob, git_commit, ref, tree
from bot.demo.github.state import Json
from bot.demo.github.world import World, the_world

bp = Blueprint("git", __name__, url_prefix="/repos/<owner>/<repo>/git")
MODES = {"100644": "blob", "100755": "blob", "120000": "blob"}
"""Links to other trees and repositories are not served."""


@bp.get("/ref/<path:name>")
@needs("contents")
def get_ref(name: str) -> ResponseReturnValue:
    w = the_world()
    sha = w.git.ref(f"refs/{name}")
    if sha is None:
        raise not_found()
    return jsonify(_ref(w, f"refs/{name}", sha))


@bp.get("/matching-refs/<path:name>")
@needs("contents")
def matching_refs(name: str) -> ResponseReturnValue:
    w = the_world()
    found = list(w.git.refs(f"refs/{name}").items())
    return jsonify([_ref(w, *item) for item in found])


@bp.post("/refs")
@needs("contents", "write", "write")
def create_ref() -> ResponseReturnValue:
    w = the_world()
    data = body()
    name: str = field(data, "ref", str)
    sha = sha_field(data, "sha")
    if not name.startswith(("refs/heads/", "refs/tags/")) or not w.git.valid_ref(name):
        raise ApiError(422, f"{name} is not a valid ref name.")
    kind = w.git.kind(sha)
    if kind is None or (kind != "commit" and name.startswith("refs/heads/")):
        raise ApiError(422, "Object does not exist")
    if w.git.ref(name) is not None:
        raise ApiError(422, "Reference already exists")
    move(w, name, sha, ZERO, actor(w))
    return jsonify(_ref(w, name, sha)), 201


@bp.patch("/refs/<path:name>")
@needs("contents", "write", "write")
def update_ref(name: str) -> ResponseReturnValue:
    w = the_world()
    data = body()
    sha = sha_field(data, "sha")
    force: bool = field(data, "force", bool, False)
    old = _movable(w, name)
    if w.git.kind(sha) != "commit":
        raise ApiError(422, "Object does not exist")
    if not force and not w.git.is_ancestor(old, sha):
        raise ApiError(422, "Update is not a fast forward")
    if sha != old:
        move(w, f"refs/{name}", sha, old, actor(w))
    return jsonify(_ref(w, f"refs/{name}", sha))


@bp.delete("/refs/<path:name>")
@needs("contents", "write", "write")
def delete_ref(name: str) -> ResponseReturnValue:
    w = the_world()
    if name == f"heads/{w.config.default_branch}":
        raise ApiError(422, "Cannot delete the default branch")
    move(w, f"refs/{name}", ZERO, _movable(w, name), actor(w))
    return "", 204


def _movable(w: World, name: str) -> str:
    old = w.git.ref(f"refs/{name}") if name.startswith(("heads/", "tags/")) else None
    if old is None:
        raise ApiError(422, "Reference does not exist")
    return old


def _ref(w: World, name: str, sha: str) -> Json:
    return ref(w, name, sha, w.git.kind(sha) or "commit")


@bp.get("/commits/<sha>")
@needs("contents")
def get_commit(sha: str) -> ResponseReturnValue:
    w = the_world()
    if w.git.kind(sha) != "commit":
        raise not_found()
    return jsonify(git_commit(w, w.git.commit(sha)))


@bp.post("/commits")
@needs("contents", "write", "write")
def create_commit() -> ResponseReturnValue:
    w = the_world()
    data = body()
    message: str = field(data, "message", str)
    tree_sha = sha_field(data, "tree")
    parents: list[object] = field(data, "parents", list, [])
    if w.git.kind(tree_sha) != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    shas = [str(parent) for parent in parents]
    if any(w.git.kind(parent) != "commit" for parent in shas):
        raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    author, committer = people(w, data, actor(w))
    sha = w.git.add_commit(tree_sha, shas, message, author, committer)
    return jsonify(git_commit(w, w.git.commit(sha))), 201


@bp.get("/trees/<path:name>")
@needs("contents")
def get_tree(name: str) -> ResponseReturnValue:
    """By SHA of a tree, or by what names a commit. `recursive` with any value goes all the way down."""
    w = the_world()
    sha = name if w.git.kind(name) == "tree" else w.git.peel(w.git.resolve(name) or ZERO, "tree")
    if sha is None:
        raise not_found()
    return jsonify(tree(w, sha, w.git.tree(sha, recursive="recursive" in request.args)))


@bp.post("/trees")
@needs("contents", "write", "write")
def create_tree() -> ResponseReturnValue:
    w = the_world()
    data = body()
    items: list[object] = field(data, "tree", list)
    base = sha_field(data, "base_tree") if data.get("base_tree") else None
    if base is not None and w.git.peel(base, "tree") is None:
        raise ApiError(422, "base_tree is not a valid tree")
    changes = [_change(w, item) for item in items]
    try:
        sha = w.git.add_tree(base, changes)
    except GitError as error:
        raise ApiError(422, f"GitRPC::BadObjectState: {error}") from None
    return jsonify(tree(w, sha, w.git.tree(sha))), 201


def _change(w: World, item: object) -> TreeChange:
    if not isinstance(item, dict):
        raise ApiError(422, "Invalid tree info")
    path: str = field(item, "path", str)
    mode: str = field(item, "mode", str, "100644")
    if not safe_path(path):
        raise ApiError(422, "tree.path contains a malformed path component")
    if mode not in MODES:
        raise ApiError(422, f"tree.mode {mode:.10} is not a valid mode")
    if "content" in item:
        return TreeChange(path, mode, w.git.add_blob(field(item, "content", str).encode()))
    if item.get("sha") is None:
        return TreeChange(path, mode, None)
    sha = sha_field(item, "sha")
    if w.git.kind(sha) != MODES[mode]:
        raise ApiError(422, f"tree.sha {sha} is not a valid {MODES[mode]}")
    return TreeChange(path, mode, sha)


@bp.get("/blobs/<sha>")
@needs("contents")
def get_blob(sha: str) -> ResponseReturnValue:
    w = the_world()
    if w.git.kind(sha) != "blob":
        raise not_found()
    return jsonify(blob(w, sha, w.git.blob(sha)))


@bp.post("/blobs")
@needs("contents", "write", "write")
def create_blob() -> ResponseReturnValue:
    w = the_world()
    data = body()
    text: str = field(data, "content", str)
    encoding: str = field(data, "encoding", str, "utf-8")
    if encoding not in ("utf-8", "base64"):
        raise ApiError(422, f"encoding {encoding:.20} is not utf-8 or base64")
    raw = text.encode() if encoding == "utf-8" else base64_bytes(text)
    sha = w.git.add_blob(raw)
    return jsonify({"sha": sha, "url": f"{w.repo_url}/git/blobs/{sha}"}), 201
