"""The setup page: one button that makes a GitHub App with the right permissions and events.

The page sends a manifest to GitHub, GitHub sends the browser back with a code, and the code is exchanged
for the App's key and secret, which go into files and nowhere else.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

import requests
from flask import Flask, Response, make_response, render_template, request
from flask.typing import ResponseReturnValue
from github import GithubException

from bot.github.app import EVENTS, PERMISSIONS, NewApp, convert, creation_page, manifest, web_address
from bot.github.connect import PUBLIC_API
from bot.github.patience import reason
from bot.triage.env_file import env_text
from bot.verdict.answer import Refusal
from bot.web.setup_files import SetupFiles, reserved

log = logging.getLogger(__name__)

_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.\[\]:-]{1,250}(/[A-Za-z0-9._~/-]{0,200})?")


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """`organisation` None: the App is to be a person's own. `bot` None: the page asks for the address."""

    api: str
    organisation: str | None
    name: str
    bot: str | None
    files: SetupFiles


def bot_address(text: str) -> str | Refusal:
    """Where GitHub will reach the bot, without the path of the webhook."""
    address = text.strip().rstrip("/").removesuffix("/webhook")
    try:
        named = _ADDRESS.fullmatch(address) is not None and bool(urlsplit(address).hostname)
    except ValueError:
        named = False
    if not named:
        return Refusal("bad_url", "The bot's address must be one such as https://bot.example.")
    return address


def create_setup_app(plan: SetupPlan, here: str, done: Callable[[], object]) -> Flask:
    """`here`: the page's own address. `done` is called when the files are written and the page is sent."""
    app = Flask(__name__)
    web = web_address(plan.api)
    state = secrets.token_urlsafe(32)
    exchange = threading.Lock()

    @app.before_request
    def only_here() -> ResponseReturnValue | None:
        """Under another name it would be open to a foreign site whose name was pointed at this machine."""
        if f"http://{request.host}" != here:
            return _problem("This page is to be opened at its own address.", 403)
        return None

    @app.after_request
    def closed(response: Response) -> Response:
        # https: an organisation's login may lie on a host of its own, on the way to GitHub's page.
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self' {web} https:; "
            "base-uri 'none'; frame-ancestors 'none'"
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "strict-origin"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.get("/")
    def page() -> ResponseReturnValue:
        given = plan.bot or request.args.get("bot", "")
        address = bot_address(given) if given else None
        wanted = (
            manifest(name=plan.name, bot=address, redirect=f"{here}/created")
            if isinstance(address, str)
            else None
        )
        return render_template(
            "setup.html",
            plan=plan,
            action=f"{creation_page(web, plan.organisation)}?state={quote(state)}",
            manifest=json.dumps(wanted) if wanted else None,
            address=address if wanted else given,
            problem=address.sentence if isinstance(address, Refusal) else None,
            host=urlsplit(web).hostname,
            permissions=PERMISSIONS,
            events=EVENTS,
        )

    @app.get("/created")
    def created() -> ResponseReturnValue:
        code = request.args.get("code", "")
        if not secrets.compare_digest(request.args.get("state", "").encode(), state.encode()):
            return _problem("This answer is not to the request of this page.", 400)
        if _CODE.fullmatch(code) is None:
            return _problem("GitHub sent no code, so no App was made.", 400)
        with exchange:
            made = _exchange(plan, code)
        if isinstance(made, Refusal):
            return _problem(made.sentence, 502)
        response = make_response(render_template("setup_done.html", app=made, files=plan.files))
        response.call_on_close(done)
        return response

    return app


def _exchange(plan: SetupPlan, code: str) -> NewApp | Refusal:
    """The App of the code, its key and secret on disk."""
    try:
        with reserved(plan.files) as write:
            made = convert(plan.api, code)
            write(made.private_key, env_text(_settings(plan, made)))
    except FileExistsError as error:
        return Refusal("file_exists", f"{error.filename} is there already; it is left as it is.")
    except OSError as error:
        if isinstance(error, requests.RequestException):
            return Refusal("not_reached", f"{plan.api} could not be reached ({reason(error)}).")
        return Refusal(
            "not_written",
            f"{error.filename or plan.files.folder}: {error.strerror or error}. If GitHub has made the App, "
            "delete it there and begin again.",
        )
    except (GithubException, ValueError) as error:
        why = reason(error) if isinstance(error, GithubException) else str(error)
        return Refusal("not_exchanged", f"The code could not be exchanged for an App ({why}).")
    return made


def _settings(plan: SetupPlan, made: NewApp) -> dict[str, str]:
    found = {
        "KL_TRIAGE_APP_ID": str(made.app_id),
        "KL_TRIAGE_APP_KEY": str(plan.files.key),
        "KL_TRIAGE_WEBHOOK_SECRET": made.webhook_secret,
    }
    return found if plan.api == PUBLIC_API else {**found, "KL_TRIAGE_GITHUB_API": plan.api}


def _problem(sentence: str, status: int) -> tuple[str, int]:
    return render_template("setup_problem.html", sentence=sentence), status
