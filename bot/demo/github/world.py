"""Everything one running stand-in consists of: config, git, memory, webhooks, executor."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from flask import Flask, Response, current_app
from flask.typing import ResponseReturnValue

from bot.demo.executor import JobExecutor
from bot.demo.github.config import DemoConfig
from bot.demo.github.git import Git
from bot.demo.github.state import State, User
from bot.demo.github.tokens import Tokens
from bot.demo.github.webhooks import Webhooks

log = logging.getLogger(__name__)
EXTENSION = "kl-triage-github"


@dataclass
class Quota:
    """A rate limit: `limit` requests until `reset` (Unix time), then for every `period_s` again."""

    limit: int
    remaining: int
    reset: int
    period_s: float = 3600.0


@dataclass
class World:
    config: DemoConfig
    git: Git
    base_url: str
    """http://127.0.0.1:PORT, without a slash at the end."""
    executor: JobExecutor
    hooks: Webhooks
    tokens: Tokens
    state: State = field(default_factory=State)
    lock: threading.RLock = field(default_factory=threading.RLock)
    quota: Quota | None = None
    manifests: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Codes of Apps that were confirmed on the page and not asked for yet."""
    before: list[Callable[[], ResponseReturnValue | None]] = field(default_factory=list)
    """Called before each API request, outside the lock; an answer ends the request (tests: misbehave)."""
    after: list[Callable[[Response], Response]] = field(default_factory=list)
    """Called with each API answer, after its effect: what is returned is sent instead."""

    @property
    def owner(self) -> User:
        return self.state.user(self.config.owner, "Organization")

    @property
    def bot(self) -> User:
        return self.state.user(f"{self.config.app.slug}[bot]", "Bot")

    @property
    def api_url(self) -> str:
        """Where the REST API is: below a path on GitHub Enterprise Server."""
        return f"{self.base_url}{self.config.api_prefix}"

    @property
    def repo_url(self) -> str:
        return f"{self.api_url}/repos/{self.config.full_name}"

    @property
    def repo_html(self) -> str:
        return f"{self.base_url}/{self.config.full_name}"

    @property
    def default_sha(self) -> str:
        sha = self.git.resolve(f"refs/heads/{self.config.default_branch}")
        if sha is None:
            raise LookupError(f"the repository has no branch {self.config.default_branch!r}")
        return sha


def world_of(app: Flask) -> World:
    found = app.extensions[EXTENSION]
    assert isinstance(found, World)  # noqa: S101 - narrows the type of a dict of anything
    return found


def the_world() -> World:
    """The world of the request being served."""
    return world_of(current_app)


def node_id(kind: str, number: int | str) -> str:
    return base64.b64encode(f"{kind}:{number}".encode()).decode()


def quoted(path: str) -> str:
    return quote(path, safe="/")
