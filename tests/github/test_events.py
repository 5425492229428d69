"""Deliveries, read tolerantly: what we act on, and what is ignored with a reason."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.github.events import Command, Ignored, RedJob, RerunDone, RunDone, parse, signature_is_valid

SHA = "b" * 40
COMMON: dict[str, Any] = {
    "repository": {"full_name": "acme/tinyserve"},
    "installation": {"id": 5},
    "sender": {"type": "User", "login": "dev-a"},
}


def job(**changed: Any) -> dict[str, Any]:
    fields = {
        "id": 7,
        "run_id": 3,
        "conclusion": "failure",
        "head_sha": SHA,
        "head_branch": "topic",
    } | changed
    return COMMON | {"action": "completed", "workflow_job": fields}


def run(**changed: Any) -> dict[str, Any]:
    fields = {"id": 9, "event": "workflow_dispatch", "display_title": "KL rerun kl-abc-r0"} | changed
    return COMMON | {"action": "completed", "workflow_run": fields}


def main_run(**changed: Any) -> dict[str, Any]:
    """A finished run of the default branch."""
    fields = {
        "id": 9,
        "run_attempt": 2,
        "event": "push",
        "display_title": "Faster engine",
        "head_branch": "main",
        "head_repository": {"full_name": "acme/tinyserve"},
        "path": ".github/workflows/pr-test.yml",
        "conclusion": "failure",
    } | changed
    repository = {"full_name": "acme/tinyserve", "default_branch": "main"}
    return COMMON | {"action": "completed", "workflow_run": fields, "repository": repository}


def comment(body: str = "/rerun-kl", **changed: Any) -> dict[str, Any]:
    fields = {"id": 8, "user": {"login": "dev-a", "type": "User"}, "body": body}
    return (
        COMMON
        | {"action": "created", "issue": {"number": 4, "pull_request": {}}, "comment": fields}
        | changed
    )


def test_a_failed_job():
    assert parse("workflow_job", job()) == RedJob(5, "acme/tinyserve", 7, 3, SHA)


@pytest.mark.parametrize("conclusion", ["success", "cancelled", "skipped", "timed_out", None])
def test_any_other_conclusion_is_no_failure(conclusion):
    assert isinstance(parse("workflow_job", job(conclusion=conclusion)), Ignored)


def test_our_own_rerun_is_done_whatever_its_conclusion():
    assert parse("workflow_run", run(conclusion="cancelled")) == RerunDone(
        5, "acme/tinyserve", 9, "kl-abc-r0"
    )


@pytest.mark.parametrize("title", ["KL rerun ", "PR test", "KL rerun kl-abc-r0 x", "x KL rerun kl-abc", None])
def test_another_workflow_is_not_ours(title):
    assert isinstance(parse("workflow_run", run(display_title=title)), Ignored)


@pytest.mark.parametrize("event", ["push", "schedule"])
@pytest.mark.parametrize("conclusion", ["success", "failure", "cancelled"])
def test_a_run_of_the_default_branch_is_done_green_or_red(event, conclusion):
    payload = main_run(event=event, conclusion=conclusion)
    assert parse("workflow_run", payload) == RunDone(5, "acme/tinyserve", 9, 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"head_branch": "topic"},
        {"event": "pull_request"},
        {"event": "issue_comment"},
        {"event": "workflow_dispatch"},
        {"head_repository": {"full_name": "stranger-c/tinyserve"}},
        {"head_repository": None},
        {"path": ".github/workflows/kl-rerun.yml"},
        {"path": ".github/workflows/kl-rerun.yml@main"},
        {"conclusion": "skipped"},
        {"conclusion": "action_required"},
        {"conclusion": "startup_failure"},
        {"run_attempt": None},
    ],
)
def test_a_run_of_other_code_or_of_nothing_is_no_history(changed):
    assert isinstance(parse("workflow_run", main_run(**changed)), Ignored)


def test_a_run_that_only_begins_is_ignored():
    assert isinstance(parse("workflow_run", main_run() | {"action": "requested"}), Ignored)


def test_a_comment_on_a_pull_request():
    pull_comment = comment(issue={"number": 4, "pull_request": {"url": "x"}})
    assert parse("issue_comment", pull_comment) == Command(5, "acme/tinyserve", 4, 8, "dev-a", "/rerun-kl")


def test_a_comment_on_an_issue_an_edit_and_a_bot_are_ignored():
    on_pull = {"number": 4, "pull_request": {"url": "x"}}
    assert isinstance(parse("issue_comment", comment(issue={"number": 4})), Ignored)
    assert isinstance(parse("issue_comment", comment(issue=on_pull, action="edited")), Ignored)
    bot = {"type": "Bot", "login": "kl-triage[bot]"}
    assert isinstance(parse("issue_comment", comment(issue=on_pull, sender=bot)), Ignored)


@pytest.mark.parametrize(
    "payload",
    [
        job(head_sha="main"),
        job(head_sha=SHA + "\n"),
        job() | {"repository": {"full_name": "acme/\ud800"}},
        job(id="7"),
        job(id=True),
        job() | {"repository": {"full_name": "a/../b"}},
        job() | {"installation": None},
        job() | {"workflow_job": None},
        {},
    ],
)
def test_a_malformed_payload_is_ignored(payload):
    assert isinstance(parse("workflow_job", payload), Ignored)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.sampled_from(["workflow_job", "workflow_run", "issue_comment", "push"]),
    st.dictionaries(
        st.sampled_from(
            ["action", "workflow_job", "workflow_run", "comment", "issue", "repository", "sender"]
        ),
        JSON,
    ),
)
def test_no_payload_raises(name, payload):
    parse(name, payload)


def test_signature():
    # printf body | openssl dgst -sha256 -hmac key
    right = "sha256=515aae133b435d4000956731f68ae5cf5eb85d4f0dc6a546d2bfcd3595ec1ae1"
    assert signature_is_valid(b"body", signature=right, secret="key")
    assert not signature_is_valid(b"body", signature=right.replace("5", "6", 1), secret="key")
    assert not signature_is_valid(b"Body", signature=right, secret="key")
    assert not signature_is_valid(b"body", signature=right, secret="other")
    assert not signature_is_valid(b"body", signature=None, secret="key")
