"""The bot's own connection to a stand-in that can be made to misbehave."""

from __future__ import annotations

import pytest
from flask import jsonify, request

from bot.github import AppCredentials, Installations
from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401


@pytest.fixture
def installations(stage):  # noqa: F811
    return Installations(AppCredentials(1, stage.private_key, stage.url), seconds_between_writes=None)


@pytest.fixture
def repo(stage, installations):  # noqa: F811
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    return installations.repository(installation, "acme/tinyserve")


@pytest.fixture
def lose_the_next_answer(stage):  # noqa: F811
    """The next write with this method happens, and its answer is lost: a 502 comes instead."""

    def lose(method: str, path: str) -> None:
        lost: list[str] = []

        def after(response):
            if request.method == method and path in request.path and not lost:
                lost.append(path)
                response = jsonify(message="Bad gateway")
                response.status_code = 502
            return response

        stage.server.world.after.append(after)

    return lose
