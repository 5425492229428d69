"""Connections: one client per App installation, or one for a token; reads retried, writes never.

PyGithub's own default repeats a POST after a 5xx; one public outage turned that into 47 runs of one
dispatch. Here an ambiguous write raises, and the workflow looks for its marker before it acts again.
Nor is a rate limit slept away here: it is raised, and the durable step above waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from github import Auth
from github.Repository import Repository
from github.Requester import Requester
from urllib3 import Retry

from bot import __version__
from bot.github.tokens import InstallationToken, SharedRequester

BOT_USER_AGENT: Final = f"kl-triage/{__version__}"
API_VERSION: Final = "2022-11-28"
PUBLIC_API: Final = "https://api.github.com"
TIMEOUT_S: Final = 20


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """A GitHub App: its id, its private key (PEM), and the REST address it speaks to."""

    app_id: int
    private_key: str = field(repr=False)
    base_url: str = PUBLIC_API


@dataclass(frozen=True, slots=True)
class TokenCredentials:
    """A fine-grained token of a machine account, for who cannot make an App."""

    token: str = field(repr=False)
    base_url: str = PUBLIC_API


Credentials = AppCredentials | TokenCredentials


class Connection(Protocol):
    """What the steps ask of either kind of credentials."""

    @property
    def can_check(self) -> bool:
        """GitHub lets only Apps write check runs; without, a commit status takes their place."""
        ...

    def repository(self, installation_id: int, full_name: str, *, retries: bool = True) -> Repository:
        """Lazy, so it costs no request by itself. Without `retries` every trouble is raised at once, for
        `bot.github.patience`. `installation_id` 0: the event named none."""
        ...

    def login(self) -> str:
        """The author name of everything that is written."""
        ...


def connect(credentials: Credentials, *, seconds_between_writes: float | None = 1.0) -> Connection:
    """The connection for these credentials; nothing is asked of GitHub yet."""
    if isinstance(credentials, AppCredentials):
        return Installations(credentials, seconds_between_writes=seconds_between_writes)
    return OneToken(credentials, seconds_between_writes=seconds_between_writes)


class Installations:
    """An App: one cached client per installation, whose token is renewed for as long as the bot runs."""

    can_check: Final = True

    def __init__(self, app: AppCredentials, *, seconds_between_writes: float | None = 1.0) -> None:
        self._app = app
        self._pace = seconds_between_writes
        self._own = _requester(Auth.AppAuth(app.app_id, app.private_key), app.base_url, True, None)
        self._clients: dict[tuple[int, bool], Requester] = {}
        self._login = Once(lambda: f"{self._own.requestJsonAndCheck('GET', '/app')[1]['slug']}[bot]")
        self._lock = threading.Lock()

    def repository(self, installation_id: int, full_name: str, *, retries: bool = True) -> Repository:
        return _repository(self.installation(installation_id or self._id_of(full_name), retries), full_name)

    def login(self) -> str:
        """For instance `kl-triage[bot]`."""
        return self._login.value()

    @property
    def app(self) -> Requester:
        """Speaks as the App itself: its settings, installations and deliveries."""
        return self._own

    def installation(self, installation_id: int, retries: bool = True) -> Requester:
        """Speaks as one installation. Both kinds of client of an installation share its token."""
        with self._lock:
            key, other = (installation_id, retries), (installation_id, not retries)
            if key not in self._clients:
                shared = self._clients.get(other)
                auth = shared.auth if shared else InstallationToken(self._own, installation_id)
                self._clients[key] = _requester(auth, self._app.base_url, retries, self._pace)
            return self._clients[key]

    def _id_of(self, full_name: str) -> int:
        """One request; not kept, since an App that is installed anew has another id. Raises
        UnknownObjectException."""
        _, found = self._own.requestJsonAndCheck("GET", f"/repos/{full_name}/installation")
        return int(found["id"])


class OneToken:
    """A token that reaches every repository its owner gave it."""

    can_check: Final = False

    def __init__(self, credentials: TokenCredentials, *, seconds_between_writes: float | None = 1.0) -> None:
        auth = Auth.Token(credentials.token)
        self._clients = {
            retries: _requester(auth, credentials.base_url, retries, seconds_between_writes)
            for retries in (True, False)
        }
        self._login = Once(lambda: str(self.user.requestJsonAndCheck("GET", "/user")[1]["login"]))

    def repository(self, installation_id: int, full_name: str, *, retries: bool = True) -> Repository:
        return _repository(self._clients[retries], full_name)

    def login(self) -> str:
        return self._login.value()

    @property
    def user(self) -> Requester:
        """Speaks as the token's owner."""
        return self._clients[True]


class Once:
    """A text that is asked for once, by one thread."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._text: str | None = None
        self._lock = threading.Lock()

    def value(self) -> str:
        with self._lock:
            if self._text is None:
                self._text = self._ask()
            return self._text


def token_repository(token: str, full_name: str, base_url: str) -> Repository:
    """A repository through somebody's own token, to be read with `bot.github.patience`."""
    return _repository(_requester(Auth.Token(token), base_url, False, None), full_name)


def anonymous(base_url: str) -> Requester:
    """Without credentials: what an App that is being made is asked for."""
    return _requester(None, base_url, False, None)


def _repository(requester: Requester, full_name: str) -> Repository:
    return Repository(requester, url=f"/repos/{full_name}")


def _requester(auth: Auth.Auth | None, base_url: str, retries: bool, pace: float | None) -> Requester:
    options = _options(base_url, retries=retries, pace=pace)
    return SharedRequester(auth=auth, verify=True, pool_size=None, **options)


def _options(base_url: str, *, retries: bool, pace: float | None = None) -> dict[str, Any]:
    return {
        "base_url": base_url,
        "retry": _read_retry() if retries else None,
        "timeout": TIMEOUT_S,
        "user_agent": BOT_USER_AGENT,
        "per_page": 100,
        "lazy": True,
        "api_version": API_VERSION,
        "seconds_between_requests": None,
        "seconds_between_writes": pace,
    }


def _read_retry() -> Retry:
    """Through a short outage: at most 7 s of pauses. 403 and 429 are answers, whatever wait they name."""
    return Retry(
        total=4,
        allowed_methods={"GET", "HEAD"},
        status_forcelist=range(500, 600),
        backoff_factor=0.5,
        respect_retry_after_header=False,
        raise_on_status=False,
    )
