"""Whatever is sent, the stand-in refuses it in GitHub's shape or takes it; it never crashes."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.demo.github import Server
from tests.demo_github.github_stage import Hand, Receiver, config, keys, seed

REPO = "/repos/acme/tinyserve"
WHO = {"name": "dev-a", "email": "dev-a@example.invalid", "date": "2026-12-01T08:00:00Z"}
WRITES = [
    ("PUT", "/contents/a/b.txt", {"message": "m", "content": "eA==", "branch": "main", "author": WHO}),
    ("POST", "/git/refs", {"ref": "refs/heads/x", "sha": "MAIN"}),
    ("PATCH", "/git/refs/heads/feature", {"sha": "MAIN", "force": True}),
    ("POST", "/git/commits", {"message": "m", "tree": "TREE", "parents": ["MAIN"], "author": WHO}),
    ("POST", "/git/trees", {"tree": [{"path": "a", "mode": "100644", "content": "x"}], "base_tree": "TREE"}),
    ("POST", "/git/blobs", {"content": "eA==", "encoding": "base64"}),
    ("POST", "/pulls", {"title": "t", "head": "feature", "base": "main", "body": "b", "draft": True}),
    ("PATCH", "/pulls/1", {"title": "t", "body": "b", "state": "open", "base": "main"}),
    ("POST", "/issues/1/comments", {"body": "b"}),
    ("POST", "/issues/1/labels", {"labels": ["x"]}),
    ("POST", "/check-runs", {"name": "x", "head_sha": "MAIN", "conclusion": "success",
                             "output": {"title": "t", "summary": "s"}, "started_at": "2026-01-01"}),
    ("POST", "/actions/workflows/kl-rerun.yml/dispatches",
     {"ref": "main", "inputs": {"request_id": "r", "runner": "kl-cpu"}, "return_run_details": True}),
]  # fmt: skip
READS = [
    f"{REPO}/contents/", f"{REPO}/git/ref/", f"{REPO}/git/matching-refs/", f"{REPO}/git/trees/",
    f"{REPO}/git/commits/", f"{REPO}/commits/", f"{REPO}/compare/", f"{REPO}/compare/main...",
    f"{REPO}/branches/", f"{REPO}/pulls?head=", f"{REPO}/actions/workflows/", f"{REPO}/actions/runs?created=",
    f"{REPO}/issues/1/comments?since=", f"{REPO}/commits?sha=", f"{REPO}/commits?path=", "/users/",
    "/acme/tinyserve/blob/main/", "/acme/tinyserve/blob/", "/_blobs/",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["main", "feature", "a/../b", "-x", "0" * 40, "MAIN"])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def spoilt(draw):
    """A body that is right but for one field, at any depth."""
    method, path, body = draw(st.sampled_from(WRITES))
    body = json.loads(json.dumps(body))
    place = body
    while True:
        keys_ = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys_))
        if not isinstance(place[key], dict | list) or draw(st.booleans()):
            place[key] = draw(VALUES)
            return method, path, body
        place = place[key]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    seed(folder)
    with Receiver() as receiver:
        quiet = config(keys()[1], receiver).model_copy(update={"hook": None})
        with Server(quiet, folder / "repo.git", Hand()) as found:
            pull = {"title": "t", "head": "feature", "base": "main"}
            assert send(found, "POST", "/pulls", pull).status_code == 201
            yield found


def send(server, method, path, body):
    token, _ = server.world.tokens.new_installation_token(None)
    main = server.world.default_sha
    text = json.dumps(body).replace("MAIN", main).replace("TREE", server.world.git.commit(main).tree)
    headers = {"Authorization": f"token {token}"}
    return requests.request(method, server.url + REPO + path, data=text, headers=headers, timeout=10)


# First: the spoilt bodies below may close the pull request and take the names.
def test_the_bodies_are_right_before_they_are_spoilt(server):
    refused = [path for method, path, body in WRITES if not send(server, method, path, body).ok]
    assert set(refused) <= {"/pulls", "/git/refs", "/contents/a/b.txt"}  # these may exist by now


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(call=spoilt())
def test_no_body_makes_it_crash(server, call):
    answer = send(server, *call)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["message"]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(READS), name=st.one_of(st.text(min_size=1, max_size=20), TEXTS))
def test_no_name_makes_it_crash(server, place, name):
    answer = requests.get(f"{server.url}{place}{quote(name, safe='/')}", timeout=10)
    assert answer.status_code < 500, answer.text
