"""The lab itself: GitHub stand-in, bot and runners of one story in one process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.demo.github import DemoConfig, DemoHook, Server, World
from bot.github import AppCredentials
from bot.store import Investigation, Store
from bot.triage.engine import Engine
from bot.triage.settings import Settings
from tests.demo_github.github_stage import SECRET, commit, git
from tests.lab.bots import RUNNING, Bot, BotHere, BotKilled
from tests.lab.faults import lose_answers
from tests.lab.people import People
from tests.lab.project import RED_LOG
from tests.lab.runner import Answer, CannedRunner
from tests.lab.steps import Around, around_steps, plainly, twice
from tests.openapi.watch import watch

REPO = "acme/tinyserve"
DATABASE = "bot.sqlite"
EXECUTOR = "lab"
QUIET_S = 0.1
LOOK_S = 0.05


class Lab:
    """One story. A context manager: at its end GitHub must have seen nothing that its API does not know.

    `trouble`: None; "twice": each step runs twice, the first result is dropped; "lost_answers": each write of
    the bot has its effect and is answered 502 the first time; "killed": the bot is a process of its own that
    dies after the effect of each kind of step once.
    """

    def __init__(
        self,
        folder: Path,
        repository: Path,
        config: DemoConfig,
        private_key: str,
        *answers: Answer,
        trouble: str | None = None,
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.runner = CannedRunner(*answers)
        self.violations: list[str] = []
        self.around: Around = twice if trouble == "twice" else plainly
        self.lost: list[str] = []
        self._config, self._repository, self._key = config, repository, private_key
        self._trouble, self._more = trouble, settings
        self._exits = contextlib.ExitStack()
        self.bot: Bot = BotKilled(folder) if trouble == "killed" else BotHere()

    def __enter__(self) -> Lab:
        with contextlib.ExitStack() as exits:
            self.server = exits.enter_context(
                Server(self._config, self._repository, self.runner, prepare=self._watch)
            )
            if self._trouble == "lost_answers":
                self.lost = lose_answers(self.world)
            self.people = People(self.server.url, self._config)
            exits.enter_context(around_steps(lambda name, step: self.around(name, step)))
            exits.callback(self.stop_bot)
            self.start_bot()
            self._exits = exits.pop_all()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._exits.close()
        if kind is None:
            assert self.violations == []

    # The bot

    def start_bot(self) -> None:
        """Also after `stop_bot`: the same database, another port."""
        self.bot_url = self.bot.start(self.settings())
        self.world.hooks.hook = DemoHook(url=f"{self.bot_url}/webhook", secret=SECRET)

    def stop_bot(self) -> None:
        """Running workflows stay as they are."""
        self.world.hooks.settle(5)
        self.world.hooks.hook = None
        self.bot.stop()

    def settings(self) -> Settings:
        values: dict[str, Any] = {
            "database_url": f"sqlite:///{self.folder / DATABASE}",
            "webhook_secret": SECRET,
            "credentials": AppCredentials(1, self._key, self.server.url),
            "executor_id": EXECUTOR,
            "poll_s": 0.1,
            "queue_deadline_s": 60.0,
            "run_deadline_s": 60.0,
            "seconds_between_writes": 0.0,
            "sweep_s": 0.0,
        }
        return Settings(**{**values, **self._more})

    @property
    def engine(self) -> Engine:
        """Of a bot in this process."""
        assert isinstance(self.bot, BotHere) and self.bot.engine is not None
        return self.bot.engine

    @property
    def store(self) -> Store:
        return self.bot.store

    def rows(self, table: type[Any]) -> list[Any]:
        """All rows of one of the bot's tables."""
        with Session(self.bot.database, expire_on_commit=False) as session:
            return list(session.scalars(select(table)))

    def wait(self, seconds: float = 60.0) -> None:
        """Until every webhook is delivered, every rerun answered and every workflow over."""
        deadline = time.monotonic() + seconds
        calm = 0.0
        while time.monotonic() < deadline:
            busy = not self.runner.idle() or not self.world.hooks.settle(0) or self.running()
            calm = 0.0 if busy else calm or time.monotonic()
            if calm and time.monotonic() - calm >= QUIET_S:
                return
            time.sleep(LOOK_S)
        raise AssertionError(f"not over within {seconds:g} s: {self.running()}")

    def running(self) -> list[str]:
        """Ids of workflows that have not ended."""
        return [found.workflow_id for found in self.bot.workflows(RUNNING)]

    def until(self, look: Callable[[], Any], seconds: float = 10.0) -> Any:
        """The first true answer of `look`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds:g} s")

    # GitHub

    @property
    def world(self) -> World:
        return self.server.world

    @property
    def git_dir(self) -> Path:
        return self.world.git.dir

    def sha(self, ref: str) -> str:
        return git(self.git_dir, "rev-parse", ref)

    def push(self, branch: str, files: dict[str, str], message: str = "A change") -> str:
        """A commit with these files changed on a branch (of main where there is none); GitHub is told."""
        there = self.world.git.resolve(f"refs/heads/{branch}") or self.sha("main")
        tree = {
            path: git(self.git_dir, "show", f"{there}:{path}") + "\n"
            for path in git(self.git_dir, "ls-tree", "-r", "--name-only", there).splitlines()
        }
        sha = commit(self.git_dir, branch, tree | files, message, there)
        self.people.control("refresh", user="dev-a")
        return sha

    def open_pull(self, branch: str = "feature", base: str = "main") -> int:
        return self.people.open_pull(branch, base)

    def red(self, number: int | None, *, log: str = RED_LOG, **more: Any) -> dict[str, int]:
        """A red job of this pull request's head, or of main; {run_id, job_id, workflow_id}."""
        head = self.sha("main") if number is None else self.world.state.pulls[number].head_sha
        document = {"workflow": "pr-test.yml", "head_sha": head, "log": log, "name": "kl", "pull": number}
        document |= {"labels": ["self-hosted", "kl-cpu"], **more}
        return self.people.control("recorded-job", **{k: v for k, v in document.items() if v is not None})

    def red_pull(self, branch: str = "feature", **more: Any) -> int:
        """A pull request whose KL test went red, and all that the bot does about it."""
        number = self.open_pull(branch)
        self.red(number, **more)
        self.wait()
        return number

    def say(self, number: int, body: str, who: str = "dev-a") -> int:
        """A comment; its id."""
        return self.people.say(number, body, who)

    def redeliver(self, guid: str) -> None:
        self.people.control("redeliver", guid=guid)

    # What the bot did

    def comments(self, number: int) -> list[str]:
        """Texts of the bot's comments on a pull request."""
        found = self.world.state.comments_of(number)
        return [comment.body for comment in found if comment.user == self.world.bot]

    def sticky(self, number: int) -> list[str]:
        """Those about a verdict, as against replies to commands."""
        return [body for body in self.comments(number) if body.startswith("<!-- kl-triage:v1")]

    def checks(self, sha: str | None = None) -> list[Any]:
        """The bot's check runs, on one commit or on all."""
        found = self.world.state.checks.values()
        return [c for c in found if c.app == self._config.app.slug and sha in (None, c.head_sha)]

    def bumps(self) -> list[Any]:
        """Pull requests from the bot's own branches, open or not."""
        return [p for p in self.world.state.pulls.values() if p.head_ref.startswith("kl-triage/bump/")]

    def requests(self) -> list[str]:
        """Request ids of the rerun runs on GitHub, in the order they were made."""
        runs = [run for run in self.world.state.runs.values() if run.event == "workflow_dispatch"]
        return [run.display_title.removeprefix("KL rerun ") for run in runs]

    def investigations(self) -> list[Investigation]:
        """Oldest first."""
        return list(self.store.investigations())[::-1]

    def kinds(self) -> list[str | None]:
        """The verdicts, oldest first; None where none was reached."""
        return [found.verdict["kind"] if found.verdict else None for found in self.investigations()]

    def codes(self) -> list[str]:
        """Codes of the decisions noted, oldest first."""
        return [decision.code for decision in self.store.decisions()][::-1]

    def post(self, body: bytes, headers: dict[str, str]) -> requests.Response:
        """A delivery as anybody could send it."""
        return requests.post(f"{self.bot_url}/webhook", data=body, headers=headers, timeout=10)

    def _watch(self, app: Flask) -> None:
        self.violations = watch(app)


@contextlib.contextmanager
def misbehaving(world: World, *, before: Any = None, after: Any = None) -> Iterator[None]:
    """These hooks of the stand-in for as long as the block lasts."""
    if before is not None:
        world.before.append(before)
    if after is not None:
        world.after.append(after)
    try:
        yield
    finally:
        if before is not None:
            world.before.remove(before)
        if after is not None:
            world.after.remove(after)
