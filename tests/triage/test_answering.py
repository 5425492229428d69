"""What is answered from the store alone, and replies that GitHub does not take."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from flask import jsonify, request

from bot.report import replies
from bot.store import Hit, Store, open_database
from bot.store.base import utcnow
from bot.triage.commands import answering, remeasuring
from bot.triage.red import relaying
from bot.triage.services import Services
from tests.store.test_store import investigation
from tests.triage.test_admitting import event  # noqa: F401

FACTS = {
    "config": 'extends: "reference"\nmode: "comment"\n',
    "site": None,
    "bump_refusal": None,
    "threshold": 0.003,
    "also_red": [],
    "check_name": "kl-triage",
    "runner": "kl-cpu",
    "default_branch": "main",
    "server_url": "https://github.example",
    "comment_url": "https://github.example/c/1",
}
VERDICT = {
    "kind": "noise",
    "reason": "r",
    "sentence": "It is noise.",
    "trace": [{"name": "noise", "saw": "alike"}],
}
ASKED = {
    "repo": "acme/tinyserve",
    "pull": 4,
    "comment_id": 7,
    "author": "dev-a",
    "before": "",
    "installation": 1,
}
SITE = "t.py::T.kl_threshold"


@pytest.fixture
def svc(tmp_path) -> Services:
    return Services(None, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), None)


def opened(svc: Services, key: str = "kl-1", **changes: object) -> None:
    """An investigation of the pull request 4; later keys are newer."""
    at = utcnow() + timedelta(seconds=int(key.removeprefix("kl-")))
    assert svc.store.open_investigation(
        investigation(key, **({"facts": FACTS, "created_at": at} | changes)), []
    )


def waits(svc: Services, on: str, pull: int = 4, state: str = "waiting") -> None:
    facts = {"test": "t.py::T.test_a", "comment_url": None}
    head = "d" * 40
    same = {
        "repo": "acme/tinyserve",
        "site_key": SITE,
        "pull": pull,
        "head_sha": head,
        "event": {},
        "facts": facts,
    }
    svc.store.record_hit(Hit(**same, investigation=on, state=state))


def answer(svc: Services, verb: str) -> str:
    return answering.answer(svc, ASKED | {"body": f"/rerun-kl {verb}"}, 0)


def outcome(svc: Services, line: str = "/rerun-kl") -> str:
    return remeasuring.outcome(svc, ASKED | {"body": line}, 0, [], [])


def test_status_shows_the_newest_of_each_site_of_this_pull_request(svc):
    opened(svc, "kl-1")
    svc.store.finish("kl-1", VERDICT)
    opened(svc, "kl-2")
    opened(svc, "kl-3", site_key="t.py::U.kl_threshold", test="t.py::U.test_b")
    svc.store.finish("kl-3", None)
    opened(svc, "kl-4", site_key="t.py::V.kl_threshold", pull=5)
    rows = answer(svc, "status").strip().splitlines()[2:]
    assert rows == [
        "| `U.test_b` | `aaaaaaa` | given up | 0 of 0 | 0 | [comment](https://github.example/c/1) |",
        "| `T.test_a` | `aaaaaaa` | measuring | 0 of 0 | 0 | [comment](https://github.example/c/1) |",
    ]


def test_a_pull_request_that_waits_is_told_for_whom(svc):
    opened(svc, "kl-1", pull=5)
    waits(svc, "kl-1")
    assert "| `T.test_a` | `ddddddd` | waiting for [#5](https://github.example/acme/tinyserve/pull/5) |" in (
        answer(svc, "status")
    )
    assert outcome(svc).startswith(
        "being measured now: `T.test_a` for [#5](https://github.example/acme/tinyserve/pull/5);"
    )
    assert outcome(svc, "/rerun-kl U.test_b") == replies.NOTHING_RED


def test_what_was_answered_with_another_pull_requests_verdict_is_told(svc):
    opened(svc, "kl-1", pull=5)
    svc.store.finish("kl-1", VERDICT)
    waits(svc, "kl-1", state="answered")
    told = "| `T.test_a` | `ddddddd` | NOISE, measured for [#5](https://github.example/c/1) |"
    assert told in answer(svc, "status")
    assert answer(svc, "explain").startswith(
        "`T.test_a` at `aaaaaaa`: [NOISE](https://github.example/c/1), measured for #5. It is noise."
    )


def test_what_runs_for_this_pull_request_is_linked(svc):
    opened(svc, "kl-1")
    assert outcome(svc).startswith(
        "being measured for this pull request already: `T.test_a` [at `aaaaaaa`](https://github.example/c/1)."
    )


def test_explain_shows_the_newest_verdict_also_while_measuring_again(svc):
    assert answer(svc, "explain") == "no verdict of this pull request was reached yet."
    opened(svc, "kl-1")
    svc.store.finish("kl-1", VERDICT)
    opened(svc, "kl-2")
    said = answer(svc, "explain")
    assert said.startswith("`T.test_a` at `aaaaaaa`: [NOISE](https://github.example/c/1). It is noise.")
    assert "| `noise` | answered | alike |" in said


def test_stop_ends_what_is_open_here_and_names_it_again_when_it_runs_again(svc):
    opened(svc, "kl-1")
    opened(svc, "kl-2", site_key="t.py::U.kl_threshold", pull=5)
    said = answering.stop(svc, ASKED, "writer")
    assert (said["keys"], said["text"]) == (["kl-1"], replies.stopped(["T.test_a"]))
    halt = svc.store.investigation("kl-1").facts["halt"]
    assert halt == {"code": "stopped", "sentence": "dev-a stopped it."}
    stopped_in = svc.store.investigation("kl-1").facts["stopped_in"]
    assert stopped_in == "https://github.example/acme/tinyserve/pull/4#issuecomment-7"
    assert "halt" not in svc.store.investigation("kl-2").facts
    assert "| stopping |" in answer(svc, "status")
    assert not answering.ended(svc, ["kl-1"])
    svc.store.finish("kl-1", VERDICT)
    assert answering.ended(svc, ["kl-1"])
    assert answering.stop(svc, ASKED, "writer") == said
    assert answering.stop(svc, ASKED | {"comment_id": 8}, "writer")["text"] == replies.NOTHING_TO_STOP


@pytest.mark.parametrize(
    ("words", "meant"), [("test_a", "T.test_a"), ("T", "T.test_a"), ("test_c", None), ("--n 12", "n=12")]
)
def test_a_part_of_a_tests_name_is_answered_with_the_whole(svc, words, meant):
    opened(svc)
    said = answer(svc, words)
    assert said.endswith(f"did you mean `{meant}`?") if meant else "is not understood" in said


@pytest.mark.parametrize(("before", "again"), [(None, ""), ("a" * 40, " again"), ("b" * 40, "")])
def test_a_rerun_is_told_as_it_was_asked_for(svc, before, again):
    if before:
        opened(svc, "kl-1", head_sha=before)
        svc.store.finish("kl-1", VERDICT)
    opened(svc, "kl-2")
    line = "/rerun-kl n=40 launches=8 gpu=kl-cpu"
    assert remeasuring.outcome(svc, ASKED | {"body": line}, 0, [], ["kl-2"]) == (
        f"`T.test_a` is being measured{again}, head beside base, with `n=40` `launches=8` `gpu=kl-cpu`,"
        " as far as the budget allows; the result goes into the comment of the test."
    )


def test_stop_ends_a_wait_and_names_it_again_when_it_runs_again(svc, monkeypatch):
    told = []
    monkeypatch.setattr(relaying, "tell_no_answer", lambda _svc, hit, why: told.append((hit.pull, why)))
    opened(svc, "kl-1", pull=5)
    waits(svc, "kl-1")
    waits(svc, "kl-1", pull=6)
    said = {"text": replies.waits_no_more(["T.test_a"]), "keys": []}
    assert answering.stop(svc, ASKED, "writer") == said
    assert [hit.pull for hit in svc.store.waiting_for("kl-1")] == [6]
    assert told == [(4, "dev-a stopped it.")]
    assert answering.stop(svc, ASKED, "writer") == said
    assert answering.stop(svc, ASKED | {"comment_id": 8}, "writer")["text"] == replies.NOTHING_TO_STOP


def test_only_writers_stop(svc):
    opened(svc, "kl-1")
    assert answering.stop(svc, ASKED, "listed") == {"text": replies.ONLY_WRITERS_STOP, "keys": []}
    assert "halt" not in svc.store.investigation("kl-1").facts


def test_a_deleted_comment_and_a_locked_conversation_hold_nothing_up(stage, installations, tmp_path, event):  # noqa: F811
    store = Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))
    svc = Services(SimpleNamespace(stop=False), store, installations)
    asked = event(pull=stage.open_pull().number)
    answering.react(svc, asked, "eyes")

    def locked():
        if request.method == "POST" and request.path.endswith("/comments"):
            response = jsonify(message="Unable to create comment because issue is locked.")
            response.status_code = 403
            return response
        return None

    stage.server.world.before.append(locked)
    answering.reply(svc, asked, ["done."])
    assert [decision.code for decision in store.decisions()] == ["reply_refused"]
