"""What `kl-triage doctor` looks at: plain values, each read by itself. What may not be read is None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeVar

from github import GithubException
from github.Repository import Repository
from github.Requester import Requester

from bot.github.patience import limited_until

MAX_INSTALLATIONS: Final = 100
MAX_RUNNERS: Final = 300
MAX_HOOKS: Final = 100
MAX_DELIVERIES: Final = 100
HIDDEN: Final = (403, 404)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AppSeen:
    """`organisation` None: a person owns it."""

    slug: str
    html_url: str
    organisation: str | None
    permissions: Mapping[str, str]
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InstallationSeen:
    installation_id: int
    account: str
    html_url: str
    permissions: Mapping[str, str]
    suspended: bool


@dataclass(frozen=True, slots=True)
class HookSeen:
    """`has_secret`: GitHub shows stars in its place."""

    url: str
    content_type: str
    has_secret: bool
    checks_certificate: bool


@dataclass(frozen=True, slots=True)
class DeliverySeen:
    """`status_code` 0: nothing answered."""

    event: str
    status: str
    status_code: int

    @property
    def arrived(self) -> bool:
        return 200 <= self.status_code < 300


@dataclass(frozen=True, slots=True)
class RunnerSeen:
    labels: frozenset[str]
    online: bool


def app(requester: Requester) -> AppSeen:
    """Raises GithubException; 401: the key is not the App's."""
    _, data = requester.requestJsonAndCheck("GET", "/app")
    owner = data.get("owner") or {}
    return AppSeen(
        slug=str(data.get("slug") or ""),
        html_url=str(data["html_url"]),
        organisation=str(owner["login"]) if owner.get("type") == "Organization" else None,
        permissions=_texts(data.get("permissions")),
        events=tuple(map(str, data.get("events") or ())),
    )


def installations(requester: Requester) -> tuple[InstallationSeen, ...]:
    """The first MAX_INSTALLATIONS."""
    parameters = {"per_page": MAX_INSTALLATIONS}
    _, data = requester.requestJsonAndCheck("GET", "/app/installations", parameters=parameters)
    return tuple(
        InstallationSeen(
            installation_id=int(item["id"]),
            account=str((item.get("account") or {}).get("login") or item["id"]),
            html_url=str(item["html_url"]),
            permissions=_texts(item.get("permissions")),
            suspended=item.get("suspended_at") is not None,
        )
        for item in data
    )


def repositories(requester: Requester, limit: int) -> tuple[str, ...]:
    """Full names of the first repositories that one installation reaches."""
    parameters = {"per_page": limit}
    _, data = requester.requestJsonAndCheck("GET", "/installation/repositories", parameters=parameters)
    return tuple(str(item["full_name"]) for item in data["repositories"])


def app_hook(requester: Requester) -> HookSeen:
    _, data = requester.requestJsonAndCheck("GET", "/app/hook/config")
    return _hook(data)


def app_deliveries(requester: Requester) -> tuple[DeliverySeen, ...]:
    """The newest, newest first."""
    parameters = {"per_page": MAX_DELIVERIES}
    _, data = requester.requestJsonAndCheck("GET", "/app/hook/deliveries", parameters=parameters)
    return tuple(
        DeliverySeen(str(item["event"]), str(item["status"]), int(item["status_code"] or 0)) for item in data
    )


def may_push(repo: Repository) -> bool:
    """As the token's owner."""
    return bool(repo.permissions and repo.permissions.push)


def workflow_state(repo: Repository, file_name: str) -> str | None:
    """`active`, or why not; None where GitHub knows no such workflow or shows none."""
    return _seen(lambda: repo.get_workflow(file_name).state)


def runners(repo: Repository) -> tuple[RunnerSeen, ...] | None:
    """The repository's own runners; those of its organisation are not listed here."""

    def read() -> tuple[RunnerSeen, ...]:
        listed = islice(repo.get_self_hosted_runners(), MAX_RUNNERS)
        return tuple(
            RunnerSeen(frozenset(str(label["name"]) for label in runner.labels), runner.status == "online")
            for runner in listed
        )

    return _seen(read)


def hooks(repo: Repository) -> tuple[HookSeen, ...] | None:
    """The active webhooks of the repository itself."""
    return _seen(
        lambda: tuple(_hook(hook.config) for hook in islice(repo.get_hooks(), MAX_HOOKS) if hook.active)
    )


def _seen(read: Callable[[], T]) -> T | None:
    """None where GitHub hides it for lack of a permission. Raises GithubException for anything else."""
    try:
        return read()
    except GithubException as error:
        if error.status not in HIDDEN or limited_until(error, datetime.now(UTC)) is not None:
            raise
        return None


def _hook(config: Mapping[str, Any]) -> HookSeen:
    return HookSeen(
        url=str(config.get("url") or ""),
        content_type=str(config.get("content_type") or "form"),
        has_secret=bool(config.get("secret")),
        checks_certificate=str(config.get("insecure_ssl") or "0") == "0",
    )


def _texts(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}
