"""Serves the setup page on this machine until its work is done."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Final

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from bot.verdict.answer import Refusal
from bot.web.setup import SetupPlan, create_setup_app

HOST: Final = "127.0.0.1"


class Quiet(WSGIRequestHandler):
    """No line a request: the address GitHub sends the browser back to holds the code."""

    def log(self, type: str, message: str, *args: object) -> None:
        pass


def run_setup(plan: SetupPlan, port: int, tell: Callable[[str], object]) -> Refusal | None:
    """`tell` gets the page's address. None when the files are written; Ctrl-C raises KeyboardInterrupt.

    A thread a connection: browsers open some that they do not use at once.
    """
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        return Refusal(
            "cannot_listen", f"Port {port} on {HOST}: {error.strerror}; choose another with --port."
        )
    with listener:
        here = f"http://{HOST}:{listener.getsockname()[1]}"
        written = threading.Event()
        app = create_setup_app(plan, here, written.set)
        server = make_server(HOST, port, app, threaded=True, request_handler=Quiet, fd=listener.fileno())
        threading.Thread(target=_end, args=(server, written), daemon=True).start()
        tell(here)
        with server:
            server.serve_forever(poll_interval=0.1)
    return None


def _end(server: BaseWSGIServer, written: threading.Event) -> None:
    """`shutdown` waits for the loop to end, so no request may call it itself."""
    written.wait()
    server.shutdown()
