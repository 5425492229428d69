"""The application on a real socket of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import waitress  # type: ignore[import-untyped]
from flask import Flask
from waitress import wasyncore

from bot.demo.executor import JobExecutor
from bot.demo.github.app import MAX_BODY, create_app
from bot.demo.github.config import DemoConfig
from bot.demo.github.world import World, world_of

HOST = "127.0.0.1"
THREADS = 8
_TICK_S = 1.0


class Server:
    """Listens as soon as it is made; `close` ends requests, jobs and deliveries. Also a context manager.

    Raises OSError when the port is taken, LookupError when the repository has no default branch.
    """

    def __init__(
        self,
        config: DemoConfig,
        git_dir: Path,
        executor: JobExecutor,
        port: int = 0,
        prepare: Callable[[Flask], object] | None = None,
    ) -> None:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((HOST, port))
            self.url = f"http://{HOST}:{listening.getsockname()[1]}"
            self.app = create_app(config, git_dir, self.url, executor)
        except BaseException:
            listening.close()
            raise
        if prepare is not None:
            prepare(self.app)
        self._executor = executor
        self._sockets: dict[int, object] = {}
        self._server = waitress.create_server(
            self.app,
            map=self._sockets,
            sockets=[listening],
            threads=THREADS,
            max_request_body_size=MAX_BODY + 1024,
            ident="kl-triage-demo",
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="github", daemon=True)
        self._thread.start()

    @property
    def world(self) -> World:
        return world_of(self.app)

    def wait(self) -> None:
        """Until `close` is called or a signal handler raises."""
        while self._thread.is_alive():
            self._thread.join(timeout=1)

    def close(self) -> None:
        self._executor.close()
        self.world.hooks.close()
        self._stopping.set()
        self._server.pull_trigger()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            wasyncore.loop(timeout=_TICK_S, map=self._sockets, count=1)
        self._server.task_dispatcher.shutdown()
        wasyncore.close_all(self._sockets)
