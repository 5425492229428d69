"""One stand-in on a real socket over a real bare repository, spoken to through PyGithub and checked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from github import Auth, Github, GithubIntegration

from bot.demo.github import Server
from tests.demo_github.github_stage import Hand, Receiver, Stage, config, git, keys, seed
from tests.openapi.watch import watch


@pytest.fixture(scope="session")
def pem():
    return keys()


@pytest.fixture(scope="session")
def seeded(tmp_path_factory) -> Path:
    """A bare repository: main with two commits, branch `feature` one commit ahead of the first."""
    folder = tmp_path_factory.mktemp("seed")
    seed(folder)
    return folder / "repo.git"


@pytest.fixture
def receiver():
    with Receiver() as found:
        yield found


@pytest.fixture
def stage(tmp_path, seeded, pem, receiver):
    git_dir = tmp_path / "repo.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(seeded), str(git_dir)], check=True)
    git(git_dir, "config", "gc.auto", "0")
    private, public = pem
    violations: list[str] = []
    hand = Hand()
    settings = config(public, receiver)
    with Server(settings, git_dir, hand, prepare=lambda app: violations.append(watch(app))) as server:
        options = {
            "base_url": server.url,
            "retry": None,
            "seconds_between_requests": None,
            "seconds_between_writes": None,
        }
        app = GithubIntegration(auth=Auth.AppAuth(1, private), **options)
        bot = app.get_repo_installation("acme", "tinyserve").get_github_for_installation()
        people = {
            login: Github(auth=Auth.Token(person.token), **options)
            for login, person in settings.users.items()
        }
        yield Stage(server, hand, receiver, app, bot, people, private, options)
        assert server.world.hooks.settle(10)
    assert violations == [[]]
