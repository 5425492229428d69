"""The bot of a lab: in this process, or in one that kills itself after each kind of step in turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
from sqlalchemy import Engine as Database
from werkzeug.serving import make_server

from bot.store import Store, open_database
from bot.triage.engine import Engine
from bot.triage.settings import Settings
from bot.web import create_app

RUNNING = ["PENDING", "ENQUEUED", "DELAYED"]


class Bot(Protocol):
    store: Store
    database: Database

    def start(self, settings: Settings) -> str:
        """The address of its web server. Also after `stop`: on the same database."""
        ...

    def stop(self) -> None: ...

    def workflows(self, status: list[str] | None = None) -> list[Any]:
        """All of them, or those of some states."""
        ...


class BotHere:
    """In this process: tests may look into it and patch it."""

    engine: Engine | None = None
    store: Store
    database: Database

    def start(self, settings: Settings) -> str:
        engine = Engine(settings)
        refusal = engine.start()
        assert refusal is None, refusal
        self.engine, self.store, self.database = engine, engine.store, engine.database
        app = create_app(engine.intake, engine.store, secret=settings.webhook_secret)
        self._web = make_server("127.0.0.1", 0, app, threaded=True)
        serve = threading.Thread(target=self._web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        serve.start()
        return f"http://127.0.0.1:{self._web.server_port}"

    def stop(self) -> None:
        if self.engine is None:
            return
        self._web.shutdown()
        self._web.server_close()
        self.engine.stop()
        self.engine = None  # its lock on the database goes with it

    def workflows(self, status: list[str] | None = None) -> list[Any]:
        return DBOS.list_workflows(status=status, load_input=False, load_output=False)


class BotKilled:
    """A process of its own (tests/lab/bot_process.py), begun again after each time it has killed itself."""

    store: Store
    database: Database

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self, settings: Settings) -> str:
        self.database = open_database(settings.database_url)
        self.store = Store(self.database)
        self._client = DBOSClient(
            system_database_engine=self.database, serializer=DBOSPortableJSONSerializer()
        )
        with (self._folder / "bot.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.lab.bot_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(_told(settings, self.killed_file)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, (self._folder / "bot.log").read_text()[-2000:]
        return str(json.loads(line)["url"])

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=20)
        self._process = None
        self._client.destroy()
        self.database.dispose()

    def workflows(self, status: list[str] | None = None) -> list[Any]:
        return self._client.list_workflows(status=status, load_input=False, load_output=False)

    @property
    def killed_file(self) -> Path:
        return self._folder / "killed.txt"

    def killed(self) -> list[str]:
        """Names of the steps after whose effect it died, in order."""
        return self.killed_file.read_text().split() if self.killed_file.exists() else []


def _told(settings: Settings, killed_file: Path) -> dict[str, Any]:
    """What the process needs to make the same settings."""
    told = {field.name: getattr(settings, field.name) for field in fields(settings)}
    app = told.pop("credentials")
    credentials = {field.name: getattr(app, field.name) for field in fields(app)}
    kind = type(app).__name__
    return {"settings": told, "kind": kind, "credentials": credentials, "killed": str(killed_file)}
