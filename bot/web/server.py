"""Serving: one process, waitress threads in front, DBOS workers beside."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import sys

import waitress  # type: ignore[import-untyped]

from bot.triage import services
from bot.triage.doctor import preflight
from bot.triage.engine import Engine
from bot.triage.settings import Settings
from bot.verdict.answer import Refusal
from bot.web.app import MAX_BODY, create_app

log = logging.getLogger(__name__)


def run_server(settings: Settings, *, host: str, port: int, overview: bool) -> Refusal | None:
    """Serves until SIGTERM or Ctrl-C. A refusal when it could not start."""
    logging.getLogger("bot").setLevel(logging.INFO)
    listener = _listen(host, port)
    if isinstance(listener, Refusal):
        return listener
    engine = Engine(settings)
    refusal = engine.start()
    if refusal is not None:
        return refusal
    app = create_app(
        engine.intake,
        engine.store,
        secret=settings.webhook_secret,
        health=engine.health.trouble,
        overview=overview,
    )
    server = waitress.create_server(app, sockets=[listener], threads=8, max_request_body_size=MAX_BODY + 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    preflight.in_background(settings, services.services().installations)
    log.info("listening on http://%s:%d", host, port)
    try:
        server.run()
    except (KeyboardInterrupt, SystemExit):
        log.info("stopping; running investigations go on at the next start")
    server.close()
    engine.stop()
    return None


def _listen(host: str, port: int) -> socket.socket | Refusal:
    """Bound before the engine starts, so that a taken port resumes no work."""
    try:
        return socket.create_server((host, port), backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return Refusal("port_taken", f"Port {port} on {host} is taken; choose another with --port.")
        return Refusal("cannot_listen", f"Cannot listen on {host}:{port}: {error.strerror or error}.")
