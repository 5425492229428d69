"""Installation tokens: fetched under a lock, kept for most of their hour, renewed once when refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from github import GithubIntegration
from github.Auth import Auth
from github.InstallationAuthorization import InstallationAuthorization
from github.Requester import Requester

RENEWED_BEFORE_END: Final = timedelta(minutes=5)
UNAUTHORIZED: Final = 401

Answer = tuple[int, dict[str, Any], str]


class InstallationToken(Auth):
    """The token of one installation; threads that find none wait for the one that fetches it."""

    def __init__(self, integration: GithubIntegration, installation_id: int) -> None:
        self._integration = integration
        self._installation_id = installation_id
        self._granted: InstallationAuthorization | None = None
        self._granted_at = 0.0
        self._lock = threading.Lock()

    @property
    def token_type(self) -> str:
        return "token"

    @property
    def token(self) -> str:
        with self._lock:
            if self._granted is None or _ends_soon(self._granted):
                self._granted = self._integration.get_access_token(self._installation_id)
                self._granted_at = time.monotonic()
            return self._granted.token

    def drop_older(self, than: float) -> None:
        """Forgets the token, unless some thread got a fresh one since `than` (monotonic seconds)."""
        with self._lock:
            if self._granted_at <= than:
                self._granted = None


class RenewingRequester(Requester):
    """Asks once more under a fresh token after a 401, a POST too: under the refused one nothing was done.

    A token can end early: it was revoked, the App's permissions changed, or the clocks differ.
    """

    def requestJson(self, *args: Any, **kwargs: Any) -> Answer:
        return self._renewed(super().requestJson, *args, **kwargs)

    def requestBlob(self, *args: Any, **kwargs: Any) -> Answer:
        return self._renewed(super().requestBlob, *args, **kwargs)

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


def _ends_soon(granted: InstallationAuthorization) -> bool:
    return granted.expires_at - RENEWED_BEFORE_END < datetime.now(UTC)
