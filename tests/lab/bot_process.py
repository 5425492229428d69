"""A bot that is killed after the effect of each kind of step, once each, and before the result is recorded.

`python -m tests.lab.bot_process` reads one line of JSON (see `bots._told`) and prints {"url": …}. What is
heavy is imported once; each life of the bot is a fork, all lives listen on one socket.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import waitress

from bot.github import AppCredentials, TokenCredentials
from bot.triage.engine import Engine
from bot.triage.settings import Settings
from bot.web import create_app
from tests.lab.soon import quicken
from tests.lab.steps import Step, around_steps, resume_soon

MAX_LIVES = 120


class Killer:
    """Runs a step and ends the process, unless it died of a step of this name before."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._known = set(file.read_text().split()) if file.exists() else set()

    def __call__(self, name: str, step: Step) -> Any:
        result = step()
        with self._lock:
            if name in self._known:
                return result
            with self._file.open("a") as file:
                file.write(f"{name}\n")
                file.flush()
                os.fsync(file.fileno())
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError("still alive")


def main() -> None:
    told = json.loads(sys.stdin.readline())
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    quicken()
    for _ in range(MAX_LIVES):
        child = os.fork()
        if child == 0:
            live(told, listener)
        signal.signal(signal.SIGTERM, lambda *_, child=child: os.kill(child, signal.SIGTERM))
        _, status = os.waitpid(child, 0)
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            sys.exit(os.waitstatus_to_exitcode(status) and 1)
    sys.exit("the bot never lived long enough to end its work")


def live(told: dict[str, Any], listener: socket.socket) -> None:
    """One life; does not return."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    kind = {"AppCredentials": AppCredentials, "TokenCredentials": TokenCredentials}[told["kind"]]
    settings = Settings(credentials=kind(**told["credentials"]), **told["settings"])
    resume_soon()
    with around_steps(Killer(Path(told["killed"]))):
        engine = Engine(settings)
        refusal = engine.start()
        if refusal is not None:
            print(refusal.sentence, file=sys.stderr, flush=True)
            os._exit(3)
        app = create_app(engine.intake, engine.store, secret=settings.webhook_secret)
        waitress.create_server(app, sockets=[listener], threads=4).run()
    os._exit(0)


if __name__ == "__main__":
    main()
