"""What the threads of one client share: its token, fetched under a lock, kept for most of its hour and
renewed once when refused; but no connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from github.Auth import Auth
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

RENEWED_BEFORE_END: Final = timedelta(minutes=5)
UNAUTHORIZED: Final = 401

Answer = tuple[int, dict[str, Any], str]


@dataclass(frozen=True, slots=True)
class Granted:
    token: str = field(repr=False)
    expires_at: datetime


class InstallationToken(Auth):
    """The token of one installation; threads that find none wait for the one that fetches it."""

    def __init__(self, app: Requester, installation_id: int) -> None:
        """`app` speaks as the App."""
        self._app = app
        self._address = f"/app/installations/{installation_id}/access_tokens"
        self._granted: Granted | None = None
        self._granted_at = 0.0
        self._lock = threading.Lock()

    @property
    def token_type(self) -> str:
        return "token"

    @property
    def token(self) -> str:
        with self._lock:
            if self._granted is None or _ends_soon(self._granted):
                _, found = self._app.requestJsonAndCheck("POST", self._address)
                self._granted = Granted(found["token"], datetime.fromisoformat(found["expires_at"]))
                self._granted_at = time.monotonic()
            return self._granted.token

    def drop_older(self, than: float) -> None:
        """Forgets the token, unless some thread got a fresh one since `than` (monotonic seconds)."""
        with self._lock:
            if self._granted_at <= than:
                self._granted = None


class PlainConnection(threading.local, HTTPRequestsConnectionClass):
    """Another one in each thread. PyGithub lays a request down on its connection and sends what lies there:
    on a shared one that may be another thread's, which then goes out twice, and this thread's never.
    """


class SecureConnection(threading.local, HTTPSRequestsConnectionClass):
    """The same with TLS."""


class SharedRequester(Requester):
    """Threads may ask at the same time, each over a connection of its own.

    It asks once more under a fresh token after a 401, a POST too: under the refused one nothing was done. A
    token can end early: it was revoked, the App's permissions changed, or the clocks differ.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        server = urlsplit(self.base_url)
        kind = SecureConnection if server.scheme == "https" else PlainConnection
        self._connection = kind(
            server.hostname or "", server.port, retry=options["retry"], timeout=options["timeout"]
        )

    def requestJson(
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        input: Any | None = None,
        cnx: Any = None,
        follow_302_redirect: bool = False,
    ) -> Answer:
        """`cnx`: to another server."""
        return self._renewed(
            super().requestJson,
            *(verb, url, parameters, headers, input, cnx or self._connection, follow_302_redirect),
        )

    def getStream(
        self,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        cnx: Any = None,
        chunk_size: int | None = 1,
    ) -> tuple[int, dict[str, Any], Iterator[Any]]:
        return super().getStream(url, parameters, headers, cnx or self._connection, chunk_size)

    def _renewed(self, request: Callable[..., Answer], *args: Any, **kwargs: Any) -> Answer:
        auth = self.auth
        if not isinstance(auth, InstallationToken):
            return request(*args, **kwargs)
        began = time.monotonic()
        answer = request(*args, **kwargs)
        if answer[0] != UNAUTHORIZED:
            return answer
        auth.drop_older(began)
        return request(*args, **kwargs)


def _ends_soon(granted: Granted) -> bool:
    return granted.expires_at - RENEWED_BEFORE_END < datetime.now(UTC)
