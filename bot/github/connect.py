"""Connections: one client per App installation, reads retried, writes never.

PyGithub's own default repeats a POST after a 5xx; one public outage turned that into 47 runs of one
dispatch. Here an ambiguous write raises, and the workflow looks for its marker before it acts again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from github import Auth, Github, GithubIntegration
from github.GithubRetry import GithubRetry
from github.Repository import Repository

from bot import __version__

BOT_USER_AGENT: Final = f"kl-triage/{__version__}"
API_VERSION: Final = "2022-11-28"
TIMEOUT_S: Final = 20


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """A GitHub App: its id, its private key (PEM), and the REST address it speaks to."""

    app_id: int
    private_key: str = field(repr=False)
    base_url: str = "https://api.github.com"


class Installations:
    """Cached clients; PyGithub renews a token but does not lock, so the first use is warmed under one."""

    def __init__(self, app: AppCredentials, *, seconds_between_writes: float | None = 1.0) -> None:
        self._app = app
        self._pace = seconds_between_writes
        self._auth = Auth.AppAuth(app.app_id, app.private_key)
        self._integration = GithubIntegration(
            auth=self._auth, base_url=app.base_url, retry=_read_retry(), timeout=TIMEOUT_S
        )
        self._clients: dict[tuple[int, bool], Github] = {}
        self._login: str | None = None
        self._lock = threading.Lock()

    def repository(self, installation_id: int, full_name: str, *, retries: bool = True) -> Repository:
        """The repository through its installation's token; lazy, so it costs no request by itself.

        Without `retries` every trouble is raised at once, for `bot.github.patience`.
        """
        return self._client(installation_id, retries).get_repo(full_name)

    def login(self) -> str:
        """The author name of everything the App writes, for instance `kl-triage[bot]`."""
        with self._lock:
            if self._login is None:
                self._login = f"{self._integration.get_app().slug}[bot]"
            return self._login

    def _client(self, installation_id: int, retries: bool) -> Github:
        key = (installation_id, retries)
        with self._lock:
            if key not in self._clients:
                auth = self._auth.get_installation_auth(
                    installation_id, requester=self._integration.requester
                )
                auth.token  # noqa: B018  # fetched here, under the lock
                self._clients[key] = _client(
                    auth, self._app.base_url, _read_retry() if retries else None, self._pace
                )
            return self._clients[key]


def token_repository(token: str, full_name: str, base_url: str) -> Repository:
    """A repository through somebody's own token, to be read with `bot.github.patience`."""
    return _client(Auth.Token(token), base_url, None, None).get_repo(full_name)


def _client(auth: Auth.Auth, base_url: str, retry: GithubRetry | None, pace: float | None) -> Github:
    return Github(
        auth=auth,
        base_url=base_url,
        retry=retry,
        timeout=TIMEOUT_S,
        user_agent=BOT_USER_AGENT,
        per_page=100,
        lazy=True,
        api_version=API_VERSION,
        seconds_between_requests=None,
        seconds_between_writes=pace,
    )


def _read_retry() -> GithubRetry:
    return GithubRetry(total=5, allowed_methods={"GET", "HEAD"}, backoff_factor=0.5, max_rate_limit_wait=60)
