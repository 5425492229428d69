"""`lab`: opens a lab of its own for each call; `pem` is made once."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from bot.demo.github import DemoApp, DemoConfig, DemoUser
from bot.github import AppCredentials
from bot.triage.engine import Engine
from bot.triage.settings import Settings
from tests.demo_github.conftest import pem  # noqa: F401
from tests.lab.lab import DATABASE, EXECUTOR, Lab
from tests.lab.project import files, seed
from tests.lab.runner import Answer
from tests.lab.soon import quicken

KILLS = bool(os.environ.get("KL_TRIAGE_KILLS"))


@pytest.fixture(scope="session")
def lab_repository(tmp_path_factory) -> Path:
    """Main with kl-triage in mode propose; branches `feature` and `other`."""
    return seed(tmp_path_factory.mktemp("lab-seed"), files())


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    quicken(monkeypatch.setattr)


@pytest.fixture(scope="session")
def lab_database(tmp_path_factory, pem) -> Path:  # noqa: F811
    """The bot's database after a first start, queues registered: a copy saves each lab a second."""
    folder = tmp_path_factory.mktemp("lab-database")
    app = AppCredentials(1, pem[0], "http://127.0.0.1:9")
    engine = Engine(Settings(f"sqlite:///{folder}/{DATABASE}", "a secret", app, EXECUTOR, sweep_s=0.0))
    assert engine.start() is None
    engine.stop()
    return folder


@pytest.fixture
def lab(tmp_path, lab_repository, lab_database, pem):  # noqa: F811
    """`lab(*answers, trouble=…, repository=…, …)`: a running Lab, closed at the end of the test.

    `here`: the test needs the bot in its own process. With KL_TRIAGE_KILLS every other lab's bot is killed.
    """
    with maker(tmp_path, lab_repository, lab_database, pem) as make:
        yield make


@pytest.fixture(scope="module")
def module_lab(tmp_path_factory, lab_repository, lab_database, pem):  # noqa: F811
    """The same, closed at the end of the module; never one whose bot is killed."""
    with (
        pytest.MonkeyPatch.context() as patch,
        maker(tmp_path_factory.mktemp("labs"), lab_repository, lab_database, pem, killed=False) as make,
    ):
        quicken(patch.setattr)
        yield make


@contextlib.contextmanager
def maker(root: Path, seeded: Path, database: Path, keys: tuple[str, str], killed: bool = KILLS):
    """What `lab` is; closes all labs it made."""
    opened: list[Lab] = []

    def make(
        *answers: Answer,
        repository: Path | None = None,
        people: dict[str, str] | None = None,
        app: dict | None = None,
        here: bool = False,
        **more: object,
    ) -> Lab:
        if killed and here:
            pytest.skip("it looks into the bot's process")
        if killed:
            more["trouble"] = "killed"
        folder = root / f"lab-{len(opened)}"
        shutil.copytree(database, folder)
        shutil.copytree(repository or seeded, folder / "repo.git")
        made = Lab(folder, folder / "repo.git", config(keys[1], people, app), keys[0], *answers, **more)
        opened.append(made.__enter__())
        return made

    failed = True
    try:
        yield make
        failed = False
    finally:
        for made in opened:
            made.__exit__(AssertionError if failed else None, None, None)


def config(public_key: str, people: dict[str, str] | None = None, app: dict | None = None) -> DemoConfig:
    roles = people or {"dev-a": "write", "maintainer-b": "admin", "stranger-c": "read"}
    return DemoConfig(
        repo="tinyserve",
        users={login: DemoUser(role=role, token=f"token-of-{login}") for login, role in roles.items()},
        app=DemoApp(public_key=public_key, **(app or {})),
    )
