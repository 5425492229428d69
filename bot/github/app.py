"""The GitHub App this bot needs: one table of permissions and events, its manifest, and how it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from bot.github.connect import anonymous

MAX_NAME: Final = 34
"""GitHub takes no longer name of an App."""
_LEVELS: Final = {"read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True, slots=True)
class Permission:
    """`key` as the API spells it, `title` as GitHub's pages do; `why` ends a sentence 'needed to …'."""

    key: str
    title: str
    level: str
    why: str

    def is_covered(self, granted: Mapping[str, str]) -> bool:
        return _LEVELS.get(granted.get(self.key, ""), 0) >= _LEVELS[self.level]


PERMISSIONS: Final = (
    Permission("actions", "Actions", "write", "read job logs and artifacts, start reruns and cancel them"),
    Permission("checks", "Checks", "write", "show the verdict as a check run and see the checks of a bump"),
    Permission("contents", "Contents", "write", "read tests, and keep evidence and bumps on branches"),
    Permission("issues", "Issues", "write", "read the kill switch, react to commands and set labels"),
    Permission("metadata", "Metadata", "read", "find the repository and ask what a commenter may do"),
    Permission(
        "pull_requests", "Pull requests", "write", "comment on red ones and open a draft that moves a bound"
    ),
)
OPTIONAL: Final = (
    Permission("administration", "Administration", "read", "let `kl-triage doctor` see the runners"),
)
TOKEN_PERMISSIONS: Final = (
    *(wanted for wanted in PERMISSIONS if wanted.key != "checks"),
    Permission("statuses", "Commit statuses", "write", "show the verdict without check runs"),
)


@dataclass(frozen=True, slots=True)
class Subscription:
    event: str
    why: str


EVENTS: Final = (
    Subscription("check_run", "the button Rerun KL, and Re-run of the check"),
    Subscription("check_suite", "Re-run all checks"),
    Subscription("issue_comment", "commands such as /rerun-kl"),
    Subscription("pull_request", "a closed pull request stops its reruns; a closed bump is remembered"),
    Subscription("push", "an open bump is checked again when the default branch moves"),
    Subscription("workflow_job", "red jobs"),
    Subscription("workflow_run", "the end of a rerun, and readings of the default branch"),
)
"""`installation` events come to every App without a subscription."""


@dataclass(frozen=True, slots=True)
class NewApp:
    """What GitHub tells of an App once, when it is made."""

    app_id: int
    slug: str
    html_url: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)


def manifest(*, name: str, bot: str, redirect: str) -> dict[str, Any]:
    """The App as GitHub's page takes it. `bot`: the server's address; `redirect`: back to the setup page."""
    return {
        "name": name,
        "url": bot,
        "description": "Judges red KL tests: noise, regression, or no answer.",
        "hook_attributes": {"url": f"{bot}/webhook", "active": True},
        "redirect_url": redirect,
        "public": False,
        "default_permissions": {wanted.key: wanted.level for wanted in PERMISSIONS},
        "default_events": [wanted.event for wanted in EVENTS],
    }


def convert(api: str, code: str) -> NewApp:
    """Exchanges the code of a confirmed manifest, which works once. Raises GithubException, or ValueError for
    an answer that is not an App with a webhook."""
    address = f"/app-manifests/{quote(code, safe='')}/conversions"
    _, data = anonymous(api).requestJsonAndCheck("POST", address)
    try:
        secret = data["webhook_secret"]
        made = NewApp(
            int(data["id"]), str(data["slug"]), str(data["html_url"]), str(data["pem"]), str(secret)
        )
    except (KeyError, TypeError, ValueError):
        raise ValueError("GitHub's answer is not an App") from None
    if "-----BEGIN" not in made.private_key or not secret:
        raise ValueError("GitHub's answer lacks the key or the secret of the webhook")
    return made


def web_address(api: str) -> str:
    """Where people look, of the server whose REST API is at `api`: github.com, or the Enterprise host."""
    parts = urlsplit(api)
    if parts.netloc == "api.github.com":
        return "https://github.com"
    host = parts.netloc.removeprefix("api.") if parts.netloc.endswith(".ghe.com") else parts.netloc
    return f"{parts.scheme}://{host}"


def settings_page(web: str, owner: str | None, slug: str) -> str:
    """Where the App's owner changes it; `owner` None: a person's own App."""
    whose = f"organizations/{quote(owner)}/" if owner else ""
    return f"{web}/{whose}settings/apps/{quote(slug)}"


def creation_page(web: str, owner: str | None) -> str:
    """Where a manifest is sent to."""
    return settings_page(web, owner, "new")


def is_login(text: str) -> bool:
    """Is this the name of an account or organisation?"""
    return re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?", text) is not None
