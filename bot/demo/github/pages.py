"""A few pages for people, at GitHub's addresses. Every text is escaped by the templates."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue

from bot.demo.github import pulls
from bot.demo.github.markdown import render
from bot.demo.github.world import World, the_world

bp = Blueprint("pages", __name__, template_folder="templates", url_prefix="/<owner>/<repo>")
MAX_SHOWN = 1 << 20
bp.add_app_template_filter(render, "markdown")


@bp.get("/")
def repository(owner: str, repo: str) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = sorted(w.state.pulls.values(), key=lambda pull: -pull.number)
        listed = sorted(w.state.runs.values(), key=lambda run: -run.id)
        branches = list(w.git.refs("refs/heads/").items())
        return _page(w, owner, repo, "repository.html", pulls=found, runs=listed, branches=branches)


@bp.get("/pull/<int:number>")
def pull(owner: str, repo: str, number: int) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = w.state.pulls.get(number)
        if found is None:
            return _missing(f"pull request {number}")
        checks = [check for check in w.state.checks.values() if check.head_sha == found.head_sha]
        comments = w.state.comments_of(number)
        return _page(w, owner, repo, "pull.html", pull=found, comments=comments, checks=checks)


@bp.get("/pull/<int:number>/files")
def pull_files(owner: str, repo: str, number: int) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = w.state.pulls.get(number)
        if found is None:
            return _missing(f"pull request {number}")
        return _page(w, owner, repo, "files.html", pull=found, files=pulls.changed_files(w, found))


@bp.get("/runs/<int:number>")
def check(owner: str, repo: str, number: int) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = w.state.checks.get(number)
        if found is None:
            return _missing(f"check run {number}")
        return _page(w, owner, repo, "check.html", check=found)


@bp.get("/actions/runs/<int:number>")
@bp.get("/actions/runs/<int:number>/job/<int:job>")
def run(owner: str, repo: str, number: int, job: int | None = None) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = w.state.runs.get(number)
        if found is None:
            return _missing(f"run {number}")
        jobs = [(item, _text(bytes(item.log[-MAX_SHOWN:]))) for item in w.state.jobs_of(found)]
        artifacts = [item for item in w.state.artifacts.values() if item.run is found]
        return _page(w, owner, repo, "run.html", run=found, jobs=jobs, artifacts=artifacts)


@bp.get("/blob/<path:where>")
def blob(owner: str, repo: str, where: str) -> ResponseReturnValue:
    w = the_world()
    with w.lock:
        found = _file(w, where)
        if found is None:
            return _missing(f"file {where}")
        ref, path, data = found
        return _page(w, owner, repo, "blob.html", ref=ref, path=path, text=_text(data[:MAX_SHOWN]))


@bp.get("/raw/<path:where>")
def raw(owner: str, repo: str, where: str) -> ResponseReturnValue:
    """A picture of the evidence; as an image it runs no script, and the page's policy allows none."""
    w = the_world()
    with w.lock:
        found = _file(w, where)
    if found is None or not found[1].endswith(".svg"):
        return _missing(f"picture {where}")
    return Response(found[2], mimetype="image/svg+xml")


def _file(w: World, where: str) -> tuple[str, str, bytes] | None:
    """(ref, path, bytes) of `<ref>/<path>`; a ref may have slashes, so the longest that exists is taken."""
    parts = where.split("/")
    for cut in range(len(parts) - 1, 0, -1):
        ref, path = "/".join(parts[:cut]), "/".join(parts[cut:])
        commit = w.git.resolve(ref)
        data = w.git.read(commit, path) if commit else None
        if data is not None:
            return ref, path, data
    return None


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _page(w: World, owner: str, repo: str, template: str, **values: Any) -> ResponseReturnValue:
    if f"{owner}/{repo}".casefold() != w.config.full_name.casefold():
        return _missing(f"repository {owner}/{repo}")
    home = url_for("pages.repository", owner=w.config.owner, repo=w.config.repo)
    return render_template(template, home=home.rstrip("/"), name=w.config.full_name, **values)


def _missing(what: str) -> ResponseReturnValue:
    return render_template("missing.html", home="", name="Not found", what=what), 404
