"""A stand-in with a past, and the harvest of it in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from bot.github.connect import token_repository
from bot.store import Store, open_database
from bot.triage.harvest.past import Past, Tally, Waiting
from bot.triage.harvest.steps import Source
from rules import Pack, load_named
from tests.cli.command import run
from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401
from tests.demo_github.github_stage import Stage
from tests.harvest.past import CONFIG, PastCI, ago

NAME = "acme/tinyserve"


@pytest.fixture
def past(stage) -> PastCI:  # noqa: F811
    return PastCI(stage.server.world)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))


@pytest.fixture
def pack() -> Pack:
    found = load_named("reference")
    assert isinstance(found, Pack)
    return found


@pytest.fixture
def source(stage, store, pack):  # noqa: F811
    """A connection of its own each time, as each process has."""

    def connect(pack: Pack = pack) -> Source:
        return Source(token_repository("token-of-maintainer-b", NAME, stage.url), NAME, pack, store)

    return connect


@pytest.fixture
def harvest(source):
    """Reads the last 30 days."""

    def run(max_wait: timedelta = timedelta(0), **changed: Pack) -> Tally:
        past = Past(source(**changed), "main", Waiting(max_wait, lambda _until: None))
        for _ in past.read(ago(days=30), ago(seconds=-5)):
            pass
        return past.tally

    return run


@dataclass
class Command:
    """`kl-triage harvest`, in this process or as one of its own."""

    stage: Stage
    folder: Path

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/kl.sqlite"

    def start(self, *options: str) -> subprocess.Popen[str]:
        """A process."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("KL_TRIAGE_")}
        return subprocess.Popen(
            [sys.executable, "-m", "bot.cli", *self._words(options)],
            env=env | {"KL_TRIAGE_TOKEN": "token-of-maintainer-b"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str, login: str = "maintainer-b") -> tuple[int, str, str]:
        """In this process. `login`: whose token it has; empty for none."""
        ours = dict.fromkeys(name for name in os.environ if name.startswith("KL_TRIAGE_"))
        token = f"token-of-{login}" if login else None
        done = run(*self._words(options), env={**ours, "KL_TRIAGE_TOKEN": token})
        return done.returncode, done.stdout, done.stderr

    def _words(self, options: tuple[str, ...]) -> list[str]:
        return ["harvest", NAME, "--api", self.stage.url, "--database", self.database, *options]

    def document(self, *options: str) -> dict:
        code, out, err = self.run("--json", *options)
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def command(stage, tmp_path) -> Command:  # noqa: F811
    stage.repo().create_file(".github/kl-triage.yml", "Set kl-triage up", CONFIG, branch="main")
    return Command(stage, tmp_path)
