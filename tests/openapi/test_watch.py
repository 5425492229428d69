"""The watch on a running stand-in: it can fail, and for the right reasons."""

from __future__ import annotations

import pytest
import requests
from flask import jsonify

from bot.demo.github import Server
from tests.demo_github.github_stage import Hand, Receiver, config, keys, seed
from tests.openapi.watch import watch


@pytest.fixture
def watched(tmp_path):
    seed(tmp_path)
    found: list[list[str]] = []
    with (
        Receiver() as receiver,
        Server(
            config(keys()[1], receiver),
            tmp_path / "repo.git",
            Hand(),
            prepare=lambda a: found.append(watch(a)),
        ) as server,
    ):
        yield server, found[0]


def get(server, path):
    return requests.get(server.url + path, headers={"Authorization": "token token-of-dev-a"}, timeout=5)


def test_a_good_exchange_leaves_no_mark(watched):
    server, violations = watched
    assert get(server, "/repos/acme/tinyserve").status_code == 200
    assert get(server, "/acme/tinyserve/").status_code == 200
    assert (violations, get(server, "/_demo/violations").json()) == ([], [])


def test_a_path_that_github_has_not_is_noted(watched):
    server, violations = watched
    assert get(server, "/repos/acme/tinyserve/kl").status_code == 404
    assert violations == ["GET /repos/acme/tinyserve/kl: undocumented path"]
    assert get(server, "/_demo/violations").json() == violations


def test_a_field_that_github_has_not_is_noted(watched):
    server, violations = watched

    def add(response):
        return jsonify({**response.get_json(), "kl": 0.003})

    server.world.after.append(add)
    get(server, "/repos/acme/tinyserve")
    assert violations == ["GET /repos/{owner}/{repo}: response.kl is undocumented"]


def test_a_status_that_github_has_not_is_noted(watched):
    server, violations = watched
    server.world.before.append(lambda: (jsonify(message="no"), 418))
    get(server, "/repos/acme/tinyserve")
    assert violations == ["GET /repos/{owner}/{repo}: status 418 is undocumented"]


def test_a_webhook_that_github_has_not_is_noted(watched):
    server, violations = watched
    server.world.hooks.emit("issue_comment", {"action": "exploded"})
    assert violations == ["webhook issue-comment-exploded: not in the slice"]
