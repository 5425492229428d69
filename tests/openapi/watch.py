"""Puts the checker between the stand-in and whoever talks to it: every exchange and webhook is checked."""

from __future__ import annotations

import json
import logging

from flask import Flask, Response, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github import world_of
from bot.demo.github.app import PLACES
from tests.openapi.validate import RAW, check, check_hook

log = logging.getLogger(__name__)
SHOWN = "/_demo/violations"


def watch(app: Flask) -> list[str]:
    """The list that violations are added to; `GET /_demo/violations` shows it."""
    violations: list[str] = []

    def note(found: list[str]) -> None:
        for violation in found:
            log.error("OpenAPI violation: %s", violation)
        violations.extend(found)

    def after(response: Response) -> Response:
        if request.blueprint not in PLACES and request.path not in ("/favicon.ico", SHOWN):
            note(_check(response))
        return response

    def show() -> ResponseReturnValue | None:
        return jsonify(violations) if request.path == SHOWN else None

    app.after_request_funcs[None].insert(0, after)  # the first one registered sees what is really sent
    app.before_request_funcs[None].insert(0, show)  # no route: those are shared by all servers
    world_of(app).hooks.observers.append(lambda event, payload: note(check_hook(event, payload)))
    return violations


def _check(response: Response) -> list[str]:
    return check(
        request.method,
        request.path,
        request.args.to_dict(),
        _parsed(request.get_data(cache=True)),
        response.status_code,
        _parsed(response.get_data()) if response.is_json else (RAW if response.get_data() else None),
    )


def _parsed(data: bytes) -> object:
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return RAW
