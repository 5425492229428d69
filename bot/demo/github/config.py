"""What the stand-in has to know before it starts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Role = Literal["admin", "maintain", "write", "triage", "read", "none"]

APP_PERMISSIONS: dict[str, str] = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
}
APP_EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "pull_request",
    "push",
    "workflow_job",
    "workflow_run",
)


class ConfigError(ValueError):
    """A configuration that cannot be used; the message is one line."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DemoUser(_Strict):
    """A person: role on the repository and a token of their own."""

    role: Role
    token: str = Field(min_length=8)


class DemoApp(_Strict):
    """The GitHub App that is installed on the repository; its actor is `<slug>[bot]`."""

    id: int = 1
    slug: str = "kl-triage"
    public_key: str
    """PEM of the RSA public key the App's tokens (RS256) are verified with."""
    permissions: dict[str, str] = Field(default_factory=lambda: dict(APP_PERMISSIONS))
    events: tuple[str, ...] = APP_EVENTS
    approved: dict[str, str] | None = None
    """What an owner approved on installing it; None: all it asks for."""

    @property
    def granted(self) -> dict[str, str]:
        return self.permissions if self.approved is None else self.approved


class DemoHook(_Strict):
    """Where webhooks go."""

    url: str
    secret: str = Field(min_length=1)


class DemoRunner(_Strict):
    """A self-hosted runner; it takes jobs whose `runs-on` labels it all has."""

    name: str = "cpu-local-0"
    labels: tuple[str, ...] = ("self-hosted", "kl-cpu")
    online: bool = True
    """As the list of runners shows it."""


class DemoConfig(_Strict):
    """One repository, its people, one App. `private` decides what somebody without a token may read."""

    owner: str = "acme"
    repo: str
    default_branch: str = "main"
    private: bool = False
    teams: tuple[str, ...] = ()
    """Slugs of the organization's teams that have access."""
    users: dict[str, DemoUser] = Field(default_factory=dict)
    app: DemoApp
    app_is_installed: bool = True
    """False: the App exists, on no repository."""
    api_prefix: str = Field("", pattern=r"(/[a-z0-9]+)*")
    """`/api/v3` makes it a GitHub Enterprise Server."""
    hook: DemoHook | None = None
    runners: tuple[DemoRunner, ...] = (DemoRunner(),)
    installation_token_ttl_s: float = 3600
    blob_ttl_s: int = 60
    """How long a link to a log or an artifact works."""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.repo}"


def parse_config(text: str) -> DemoConfig:
    """Raises ConfigError naming the first wrong field."""
    try:
        return DemoConfig.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "config"
        raise ConfigError(f"{where}: {first['msg']}") from None
