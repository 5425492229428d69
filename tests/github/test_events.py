"""Deliveries, read tolerantly: what we act on, and what is ignored with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.github.events import (
    BranchMoved,
    CheckAsked,
    Command,
    Ignored,
    InstallationChanged,
    PullClosed,
    PullMoved,
    RedJob,
    RerunDone,
    RunDone,
    parse,
    signature_is_valid,
)
from tests.github.examples import KEPT

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
    fields = {
        "id": 8,
        "user": {"login": "dev-a", "type": "User"},
        "body": body,
        "updated_at": "2026-01-02T03:04:05Z",
    }
    return (
        COMMON
        | {"action": "created", "issue": {"number": 4, "pull_request": {}}, "comment": fields}
        | changed
    )


def test_a_failed_job():
    assert parse("workflow_job", job()) == RedJob(5, "acme/tinyserve", 7, 3, SHA)


@pytest.mark.parametrize(
    ("name", "told"),
    [("caller / kl (2)", "caller / kl (2)"), ("x" * 256, ""), (None, ""), (7, ""), ("a\nb", "")],
)
def test_a_job_has_a_name_that_is_taken_whole_or_not_at_all(name, told):
    assert parse("workflow_job", job(name=name)).name == told


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


ON_PULL = {"issue": {"number": 4, "pull_request": {"url": "x"}}}
AT = "2026-01-02T03:04:05+00:00"
BOT = {"type": "Bot", "login": "kl-triage[bot]"}


def test_a_comment_on_a_pull_request():
    made = Command(5, "acme/tinyserve", 4, 8, "dev-a", "/rerun-kl", "", AT)
    assert parse("issue_comment", comment(**ON_PULL)) == made


def test_an_edited_comment_holds_both_texts():
    edit = {"action": "edited", "changes": {"body": {"from": "Hm."}}}
    edited = Command(5, "acme/tinyserve", 4, 8, "dev-a", "/rerun-kl", "Hm.", AT)
    assert parse("issue_comment", comment(**ON_PULL, **edit)) == edited


def test_whoever_edits_the_comment_of_another_has_asked_for_nothing():
    editor = {"type": "User", "login": "maintainer-b"}
    edit = {"action": "edited", "changes": {"body": {"from": "Hm."}}, "sender": editor}
    found = parse("issue_comment", comment(**ON_PULL, **edit))
    assert found == Ignored("issue_comment: edited by somebody else than its author")


@pytest.mark.parametrize(
    "changed",
    [
        {"issue": {"number": 4}},
        {"action": "deleted"},
        {"action": "edited"},
        {"action": "edited", "changes": {"title": {"from": "x"}}},
        {"sender": BOT},
        {"sender": None},
        {"comment": {"id": 8, "user": BOT, "body": "/rerun-kl", "updated_at": AT}},
    ],
)
def test_other_comments_are_ignored(changed):
    assert isinstance(parse("issue_comment", comment(**(ON_PULL | changed))), Ignored)


def check(action: str = "rerequested", **changed: Any) -> dict[str, Any]:
    fields = {
        "id": 6,
        "head_sha": SHA,
        "external_id": "kl-0123456789abcdef0123",
        "started_at": "2026-01-02T03:00:00Z",
        "completed_at": "2026-01-02T03:04:05Z",
    } | changed
    return COMMON | {
        "action": action,
        "check_run": fields,
        "requested_action": {"identifier": "rerun-kl"},
    }


ASKED = CheckAsked(5, "acme/tinyserve", SHA, 6, "kl-0123456789abcdef0123", "dev-a", AT)


@pytest.mark.parametrize("action", ["rerequested", "requested_action"])
def test_our_check_is_asked_for_again(action):
    assert parse("check_run", check(action)) == ASKED


@pytest.mark.parametrize(
    "payload",
    [
        check("completed"),
        check("created"),
        check(external_id="build-17"),
        check(external_id=""),
        check(external_id="kl-0123456789abcdef0123\n"),
        check() | {"sender": BOT},
        check("requested_action") | {"requested_action": {"identifier": "fix"}},
        check("requested_action") | {"requested_action": None},
    ],
)
def test_other_checks_are_not_ours(payload):
    assert isinstance(parse("check_run", payload), Ignored)


def test_a_whole_suite_is_asked_for_again():
    suite = {"id": 3, "head_sha": SHA, "updated_at": "2026-01-02T04:04:05+01:00"}
    payload = COMMON | {"action": "rerequested", "check_suite": suite}
    assert parse("check_suite", payload) == CheckAsked(5, "acme/tinyserve", SHA, 3, "", "dev-a", AT)
    assert isinstance(parse("check_suite", payload | {"sender": BOT}), Ignored)


def pull(action: str, **changed: Any) -> dict[str, Any]:
    fields = {
        "number": 4,
        "merged": False,
        "closed_at": "2026-01-02T03:04:05Z",
        "head": {"ref": "topic", "sha": SHA},
    } | changed
    return COMMON | {"action": action, "pull_request": fields, "before": "a" * 40}


def test_a_pull_request_is_closed_by_whomever():
    closed = PullClosed(5, "acme/tinyserve", 4, "topic", False, AT)
    assert parse("pull_request", pull("closed")) == closed
    assert parse("pull_request", pull("closed") | {"sender": BOT}) == closed


def test_a_pull_request_is_pushed_to():
    assert parse("pull_request", pull("synchronize")) == PullMoved(5, "acme/tinyserve", 4, SHA, "a" * 40)
    assert isinstance(parse("pull_request", pull("edited")), Ignored)


def pushed(**changed: Any) -> dict[str, Any]:
    repository = {"full_name": "acme/tinyserve", "default_branch": "main"}
    fields = {"ref": "refs/heads/main", "deleted": False, "after": SHA, "repository": repository}
    return COMMON | fields | changed


def test_a_push_to_the_default_branch_only():
    assert parse("push", pushed()) == BranchMoved(5, "acme/tinyserve", SHA)
    for changed in (
        {"ref": "refs/tags/main"},
        {"ref": "refs/heads/topic"},
        {"deleted": True},
        {"deleted": None},
    ):
        assert isinstance(parse("push", pushed(**changed)), Ignored)


def installed(action: str, **changed: Any) -> dict[str, Any]:
    return {"action": action, "installation": {"id": 5, "updated_at": "2026-01-02T03:04:05Z"}} | changed


ONE = [{"full_name": "acme/tinyserve"}]


@pytest.mark.parametrize(
    ("payload", "repos", "active"),
    [
        (installed("created", repositories=ONE), ("acme/tinyserve",), True),
        (installed("unsuspend", repositories=None), (), True),
        (installed("new_permissions_accepted"), (), True),
        (installed("deleted", repositories=ONE), (), False),
        (installed("suspend"), (), False),
    ],
)
def test_an_installation_changes(payload, repos, active):
    assert parse("installation", payload) == InstallationChanged(5, "", repos, active, AT)


def test_repositories_are_added_and_removed():
    lists = {"repositories_added": ONE, "repositories_removed": [{"full_name": "acme/old"}]}
    name = "installation_repositories"
    added = InstallationChanged(5, "", ("acme/tinyserve",), True, AT)
    removed = InstallationChanged(5, "", ("acme/old",), False, AT)
    assert parse(name, installed("added", **lists)) == added
    assert parse(name, installed("removed", **lists)) == removed
    # An empty list names no repository; it does not mean all of them.
    assert isinstance(parse(name, installed("removed", repositories_removed=[])), Ignored)


def test_unix_seconds_are_a_time_too():
    payload = installed("suspend", installation={"id": 5, "updated_at": 1767323045})
    assert parse("installation", payload) == InstallationChanged(5, "", (), False, AT)


@pytest.mark.parametrize("nothing", [COMMON | {"installation": None}, {"repository": COMMON["repository"]}])
def test_the_hook_of_a_repository_names_no_installation(nothing):
    payload = {k: v for k, v in job().items() if k != "installation"} | nothing
    assert parse("workflow_job", payload) == RedJob(0, "acme/tinyserve", 7, 3, SHA)


EXAMPLES = json.loads(KEPT.read_text())
OTHERS = {
    "check_run requested_action": Ignored,  # another App's button and checks
    "check_run rerequested": Ignored,
    "check_suite rerequested": Ignored,  # sent by a bot
    "issue_comment created": Ignored,  # on an issue
    "issue_comment edited": Ignored,
    "push": Ignored,  # a tag
    "workflow_job completed": Ignored,  # green
    "workflow_run completed": Ignored,  # of a pull request
    "pull_request closed": PullClosed,
    "pull_request synchronize": PullMoved,
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_published_examples_are_read(example):
    name, _, _ = example.partition(" ")
    event = parse(name, EXAMPLES[example])
    assert type(event) is OTHERS.get(example, InstallationChanged)
    assert not isinstance(event, Ignored) or "lacks what is needed" not in event.why


@pytest.mark.parametrize(
    "payload",
    [
        job(head_sha="main"),
        job(head_sha=SHA + "\n"),
        job() | {"repository": {"full_name": "acme/\ud800"}},
        job(id="7"),
        job(id=True),
        job() | {"repository": {"full_name": "a/../b"}},
        job() | {"installation": {}},
        job() | {"installation": {"id": "5"}},
        job() | {"workflow_job": None},
        job() | {"action": ["completed"]},
        job(id=2**63),
        job(id=-1),
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
    st.sampled_from(sorted(EXAMPLES)), st.lists(st.tuples(st.integers(0, 400), JSON), min_size=1, max_size=4)
)
def test_no_payload_raises(example, changes):
    """Examples in which some fields, wherever they are, hold something else."""
    payload = json.loads(json.dumps(EXAMPLES[example]))
    for number, value in changes:
        places = [place for place in _places(payload) if place[1] != "action"]
        holder, key = places[number % len(places)]
        holder[key] = value
    parse(example.partition(" ")[0], payload)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a JSON value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def test_signature():
    # printf body | openssl dgst -sha256 -hmac key
    right = "sha256=515aae133b435d4000956731f68ae5cf5eb85d4f0dc6a546d2bfcd3595ec1ae1"
    assert signature_is_valid(b"body", signature=right, secret="key")
    assert not signature_is_valid(b"body", signature=right.replace("5", "6", 1), secret="key")
    assert not signature_is_valid(b"Body", signature=right, secret="key")
    assert not signature_is_valid(b"body", signature=right, secret="other")
    assert not signature_is_valid(b"body", signature=None, secret="key")
