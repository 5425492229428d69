"""The web server: check, store, answer. Nothing here calls GitHub."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Final

from flask import Flask, Response, render_template, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from bot import __version__
from bot.github import signature_is_valid
from bot.github.events import KNOWN
from bot.store import Store
from bot.triage.intake import Intake, Outcome
from bot.verdict.answer import Refusal

log = logging.getLogger(__name__)

MAX_BODY: Final = 25 * 2**20  # GitHub sends no payload above 25 MB
_GUID: Final = re.compile(r"[A-Za-z0-9-]{8,64}")


def create_app(
    intake: Intake,
    store: Store,
    *,
    secret: str,
    health: Callable[[], Refusal | None] = lambda: None,
    overview: bool = False,
) -> Flask:
    """The WSGI application.

    `secret` must not be empty: without one anybody could start GPU work. `overview` adds the page of
    investigations; it has no login, so it is off unless the operator asks for it.
    """
    if not secret:
        raise ValueError("a webhook secret is required")
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY

    @app.post("/webhook")
    def webhook() -> tuple[str, int]:
        # The signature covers the bytes as they came, so it is checked before anything is parsed.
        body = request.get_data()
        if not signature_is_valid(body, signature=request.headers.get("X-Hub-Signature-256"), secret=secret):
            return _answer("The signature is missing or wrong.", 401)
        guid, event = request.headers.get("X-GitHub-Delivery", ""), request.headers.get("X-GitHub-Event", "")
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            return _answer("The body is not JSON; set the webhook's content type to application/json.", 400)
        if not isinstance(payload, dict):
            return _answer("The body is not a JSON object.", 400)
        if event not in KNOWN:
            return "", 204
        if event == "ping":
            return _answer("pong", 200)
        if not _GUID.fullmatch(guid):
            return _answer("The X-GitHub-Delivery header is missing.", 400)
        outcome = intake.receive(guid, event, payload)
        log.info("delivery %s %s: %s", guid, event, outcome)
        if outcome is Outcome.BUSY:  # shown as failed on GitHub, and asked for again by the next sweep
            return _answer("The database is busy; send this again.", 503)
        return _answer(str(outcome), 202)

    @app.get("/healthz")
    def healthz() -> tuple[str, int]:
        trouble = health()
        return _answer("ok", 200) if trouble is None else _answer(trouble.sentence, 503)

    if overview:

        @app.get("/")
        def page() -> str:
            return render_template(
                "overview.html",
                investigations=store.investigations(),
                decisions=store.decisions(),
                version=__version__,
            )

    @app.errorhandler(RequestEntityTooLarge)
    def too_large(_error: RequestEntityTooLarge) -> tuple[str, int]:
        return _answer("The body is over 25 MB.", 413)

    @app.errorhandler(Exception)
    def failed(error: Exception) -> Response | HTTPException | tuple[str, int]:
        if isinstance(error, HTTPException):
            return error
        log.exception("request failed")
        return _answer("Something went wrong here; it is in the log.", 500)

    return app


def _answer(text: str, status: int) -> tuple[str, int]:
    return text + "\n", status
