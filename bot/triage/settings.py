"""Settings, all from the environment; a missing one is a sentence that says how to set it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from bot.github.connect import PUBLIC_API, AppCredentials, Credentials, TokenCredentials
from bot.store import sqlite_file
from bot.verdict.answer import Refusal

# The lock on the database file lets one process work on it, so one name is right. It must not be the host's:
# a new container has another, and work of another executor id is not resumed.
EXECUTOR_ID: Final = "kl-triage"


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kl-triage serve` runs with. Times are seconds."""

    database_url: str
    webhook_secret: str = field(repr=False)
    credentials: Credentials
    executor_id: str
    poll_s: float = 30.0
    """How often a rerun is looked at when no webhook tells of it."""
    queue_deadline_s: float = 4 * 3600.0
    """A rerun that no runner takes for this long is cancelled and counts as missing."""
    run_deadline_s: float = 6 * 3600.0
    seconds_between_writes: float = 1.0
    sweep_s: float = 600.0
    """How often lost events are looked for; 0: never."""
    stop: bool = False
    """The operator's kill switch: nothing is started, said or proposed."""


def from_environment(env: Mapping[str, str]) -> Settings | Refusal:
    """Settings from `KL_TRIAGE_*`, or the first thing that is wrong."""
    secret = env.get("KL_TRIAGE_WEBHOOK_SECRET", "")
    if not secret:
        return Refusal(
            "no_webhook_secret",
            "KL_TRIAGE_WEBHOOK_SECRET is not set: give it the secret of the webhook "
            "(make one with `openssl rand -hex 32`).",
        )
    credentials = credentials_from(env)
    if isinstance(credentials, Refusal):
        return credentials
    database_url = env.get("KL_TRIAGE_DATABASE_URL", "sqlite:///kl-triage.sqlite")
    database = sqlite_file(database_url)
    if isinstance(database, Refusal):
        return database
    stop = _switch(env, "KL_TRIAGE_STOP")
    if isinstance(stop, Refusal):
        return stop
    times: dict[str, float] = {}
    for name, field_name, minimum in _TIMES:
        value = _seconds(env, name, minimum)
        if isinstance(value, Refusal):
            return value
        if value is not None:
            times[field_name] = value
    return Settings(
        database_url=database_url,
        webhook_secret=secret,
        credentials=credentials,
        executor_id=env.get("KL_TRIAGE_EXECUTOR_ID") or EXECUTOR_ID,
        stop=stop,
        **times,
    )


_TIMES: Final = (
    ("KL_TRIAGE_POLL_SECONDS", "poll_s", 0.1),
    ("KL_TRIAGE_QUEUE_DEADLINE_SECONDS", "queue_deadline_s", 0.1),
    ("KL_TRIAGE_RUN_DEADLINE_SECONDS", "run_deadline_s", 0.1),
    ("KL_TRIAGE_SECONDS_BETWEEN_WRITES", "seconds_between_writes", 0.0),
    ("KL_TRIAGE_SWEEP_SECONDS", "sweep_s", 0.0),
)


_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("", "0", "false", "no", "off")


def credentials_from(env: Mapping[str, str]) -> Credentials | Refusal:
    """The App or the token that the environment names: one of them, not both."""
    api = api_address(env)
    if isinstance(api, Refusal):
        return api
    token = env.get("KL_TRIAGE_TOKEN", "").strip()
    named = [name for name in ("KL_TRIAGE_APP_ID", "KL_TRIAGE_APP_KEY") if env.get(name)]
    if token and named:
        return Refusal(
            "two_credentials",
            f"KL_TRIAGE_TOKEN and {' and '.join(named)} are set: keep the App's two, or the token alone.",
        )
    if token:
        return _token(token, api)
    if not named:
        return Refusal(
            "no_credentials",
            "Neither an App (KL_TRIAGE_APP_ID and KL_TRIAGE_APP_KEY) nor a token (KL_TRIAGE_TOKEN) is set; "
            "`kl-triage setup` makes an App.",
        )
    return _app(env, api)


def api_address(env: Mapping[str, str]) -> str | Refusal:
    """GitHub's REST address, without a slash at its end."""
    api = env.get("KL_TRIAGE_GITHUB_API") or PUBLIC_API
    if not re.fullmatch(r"https?://[A-Za-z0-9.\[\]:-]+(/[\w./-]*)?", api):
        return Refusal(
            "bad_api",
            f"KL_TRIAGE_GITHUB_API must be an address such as {PUBLIC_API} or https://ghe.example/api/v3.",
        )
    return api.rstrip("/")


def _token(token: str, api: str) -> TokenCredentials | Refusal:
    # GitHub's tokens are one word; a line break would end the header it is sent in.
    if not re.fullmatch(r"[!-~]{8,1000}", token):
        return Refusal(
            "bad_token", "KL_TRIAGE_TOKEN is not a token: give it the one word that GitHub showed."
        )
    return TokenCredentials(token, api)


def _app(env: Mapping[str, str], api: str) -> AppCredentials | Refusal:
    app_id = env.get("KL_TRIAGE_APP_ID", "")
    if not re.fullmatch(r"[0-9]{1,18}", app_id):
        return Refusal("no_app_id", "KL_TRIAGE_APP_ID must be set to the number of the GitHub App.")
    key = env.get("KL_TRIAGE_APP_KEY", "")
    if not key:
        return Refusal(
            "no_app_key", "KL_TRIAGE_APP_KEY is not set: give it the path of the App's private key (PEM)."
        )
    if not key.startswith("-----BEGIN"):
        try:
            key = Path(key).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError, ValueError):
            return Refusal("no_app_key", "The file that KL_TRIAGE_APP_KEY names cannot be read as a PEM key.")
    try:
        load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return Refusal(
            "no_app_key",
            "KL_TRIAGE_APP_KEY is not a private key in PEM form; download it from the App's page.",
        )
    return AppCredentials(int(app_id), key, api)


def _switch(env: Mapping[str, str], name: str) -> bool | Refusal:
    text = env.get(name, "").strip().lower()
    if text in _ON:
        return True
    return False if text in _OFF else Refusal("bad_switch", f"{name} must be 1 or 0 (on or off).")


def _seconds(env: Mapping[str, str], name: str, minimum: float) -> float | Refusal | None:
    """None where it is not set."""
    text = env.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not minimum <= value <= 7 * 86_400:
        return Refusal("bad_number", f"{name} must be a number of seconds from {minimum:g} to a week.")
    return value
