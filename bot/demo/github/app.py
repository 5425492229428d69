"""The Flask application of the stand-in."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from copy import copy
from functools import cache
from pathlib import Path

from flask import Flask, Response, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from bot.demo.executor import JobExecutor
from bot.demo.github import (
    control,
    control_people,
    pages,
    routes_actions,
    routes_app,
    routes_blobs,
    routes_checks,
    routes_contents,
    routes_git,
    routes_hooks,
    routes_issues,
    routes_labels,
    routes_pulls,
    routes_repo,
    routes_reviews,
)
from bot.demo.github.api import rate_limit, spend
from bot.demo.github.below import Below
from bot.demo.github.callbacks import Callbacks
from bot.demo.github.config import DemoConfig
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.git import Git, GitError
from bot.demo.github.tokens import Tokens
from bot.demo.github.webhooks import Webhooks
from bot.demo.github.world import EXTENSION, World, the_world

log = logging.getLogger(__name__)
MAX_BODY = 64 << 20
PLACES = ("pages", "manifests", "blobs", "control", "control_people", "static")
"""Blueprints that are not GitHub's REST API."""


def create_app(config: DemoConfig, git_dir: Path, base_url: str, executor: JobExecutor) -> Flask:
    """`base_url` is where the application will be reached: every address in its answers starts with it.

    Raises LookupError when the repository has no default branch.
    """
    world = World(
        config=config,
        git=Git(git_dir),
        base_url=base_url.rstrip("/"),
        executor=executor,
        hooks=Webhooks(config.hook, config.app.id),
        tokens=Tokens(config),
    )
    _ = world.default_sha
    for login in (world.owner.login, *config.users):
        world.state.user(login)
    _ = world.bot
    world.state.refs = world.git.refs("refs/heads/")
    executor.start(Callbacks(world))

    app = _of_its_own(_routes())
    app.extensions[EXTENSION] = world
    if config.api_prefix:
        app.wsgi_app = Below(app.wsgi_app, config.api_prefix)  # type: ignore[method-assign]
    return app


@cache
def _routes() -> Flask:
    """Every route and handler; what a request works on is the world of the application that serves it."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    app.jinja_env.trim_blocks = True
    for module in (
        routes_contents, routes_git, routes_pulls, routes_issues, routes_checks, routes_actions, routes_repo,
        routes_blobs, control, control_people, pages, routes_app, routes_hooks,
        routes_labels, routes_reviews,
    ):  # fmt: skip
        app.register_blueprint(module.bp)
    app.register_blueprint(routes_repo.accounts)
    app.register_blueprint(routes_contents.archives)
    app.register_blueprint(routes_app.manifests)
    app.register_blueprint(routes_hooks.repository_hooks)
    app.before_request(_before)
    app.after_request(_after)
    app.register_error_handler(ApiError, ApiError.response)
    app.register_error_handler(GitError, _git_refused)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _crashed)
    return app


def _of_its_own(routes: Flask) -> Flask:
    """Compiling the routes is most of a start, so they are shared; hooks and extensions are not."""
    app = copy(routes)
    app.extensions = {}
    for name in ("before_request_funcs", "after_request_funcs"):
        kept = {scope: list(hooks) for scope, hooks in getattr(routes, name).items()}
        setattr(app, name, defaultdict(list, kept))
    return app


def is_api() -> bool:
    """Is this request GitHub's REST API? An unknown path is."""
    return request.blueprint not in PLACES


def _before() -> ResponseReturnValue | None:
    if not is_api():
        return None
    world = the_world()
    if request.script_root != world.config.api_prefix:
        raise not_found()
    g.caller = world.tokens.caller(request.headers.get("Authorization"))
    spend(world)
    for hook in world.before:
        answer = hook()
        if answer is not None:
            return answer
    return None


def _after(response: Response) -> Response:
    if not is_api():
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
        )
        return response
    limit = rate_limit(the_world())
    response.headers["X-GitHub-Request-Id"] = uuid.uuid4().hex[:24].upper()
    response.headers["X-GitHub-Media-Type"] = "github.v3; format=json"
    response.headers["X-RateLimit-Limit"] = str(limit["limit"])
    response.headers["X-RateLimit-Remaining"] = str(limit["remaining"])
    response.headers["X-RateLimit-Used"] = str(limit["used"])
    response.headers["X-RateLimit-Reset"] = str(limit["reset"])
    response.headers["X-RateLimit-Resource"] = "core"
    for hook in the_world().after:
        response = hook(response)
    return response


def _git_refused(error: GitError) -> Response:
    log.warning("git refused %s %s: %s", request.method, request.path, error)
    return ApiError(422, f"Repository rule violation: {error}").response()


def _http_error(error: HTTPException) -> Response:
    names = {404: "Not Found", 405: "Not Found", 413: "Payload too big"}
    status = 404 if error.code == 405 else error.code or 500
    return ApiError(status, names.get(error.code or 500, error.name)).response()


def _crashed(error: Exception) -> Response:
    log.error("%s %s crashed", request.method, request.path, exc_info=error)
    return ApiError(500, "Server Error").response()
