"""Puts the REST API below a path, as GitHub Enterprise Server does; pages and blobs stay at the root."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Below:
    """Takes the prefix off, so that no route knows of it."""

    def __init__(self, app: Wsgi, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path.startswith(f"{self._prefix}/"):
            environ["SCRIPT_NAME"], environ["PATH_INFO"] = self._prefix, path[len(self._prefix) :]
        return self._app(environ, start_response)
