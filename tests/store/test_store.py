"""What is remembered, and that writing it twice changes nothing."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from bot.store import Bump, Investigation, Store, open_database
from bot.store.base import utcnow

READING = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034}


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))


def investigation(key: str = "kl-1", **changed: object) -> Investigation:
    fields = {
        "id": key,
        "repo": "acme/tinyserve",
        "installation": 1,
        "pull": 4,
        "test": "t.py::T.test_a",
        "site_key": "t.py::T.kl_threshold",
        "head_sha": "a" * 40,
        "base_sha": "b" * 40,
        "job_url": "https://example.invalid/job/7",
        "facts": {"threshold": 0.003, "check_name": "kl-triage"},
    }
    return Investigation(**(fields | changed))


def test_the_job_that_opened_it_may_open_it_again(store):
    assert store.open_investigation(investigation(), [READING])
    assert store.open_investigation(investigation(), [READING])
    assert store.records("kl-1") == [READING]


def test_another_job_of_the_same_commit_does_not_open_it_again(store):
    store.open_investigation(investigation(), [])
    assert not store.open_investigation(investigation(job_url="https://example.invalid/job/8"), [])


def test_a_site_has_one_open_investigation_at_a_time(store):
    store.open_investigation(investigation("kl-1"), [])
    assert not store.open_investigation(investigation("kl-2", head_sha="c" * 40), [])
    store.finish("kl-1", {"kind": "noise"})
    assert store.open_investigation(investigation("kl-2", head_sha="c" * 40), [])


def test_each_site_of_a_commit_has_a_check_of_its_own_name(store):
    keys = ["a.py::A.kl", "a.py::B.kl", "b.py::B.kl", "a.py::A.kl"]
    for number, key in enumerate(keys):
        assert store.open_investigation(investigation(f"kl-{number}", site_key=key), [])
        store.finish(f"kl-{number}", None)
    store.open_investigation(investigation("kl-9", site_key="a.py::B.kl", head_sha="c" * 40), [])
    names = [store.investigation(f"kl-{number}").facts["check_name"] for number in (0, 1, 2, 3, 9)]
    assert names == ["kl-triage", "kl-triage: B.kl", "kl-triage: b.py::B.kl", "kl-triage", "kl-triage"]


def test_of_many_jobs_at_once_one_opens_the_site(store):
    opened: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda n=n: opened.append(
                store.open_investigation(investigation(f"kl-{n}", head_sha=f"{n}" * 40), [READING])
            )
        )
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opened) == [False] * 7 + [True]


def test_collecting_the_same_source_twice_adds_nothing(store):
    store.open_investigation(investigation(), [])
    for _ in range(2):
        store.add_readings("kl-1", "kl-1-r0", [READING, READING])
    assert len(store.records("kl-1")) == 2
    store.add_readings("kl-1", "kl-1-r1", [READING])
    assert len(store.records("kl-1")) == 3


def test_facts_are_added_not_replaced(store):
    store.open_investigation(investigation(), [])
    store.remember("kl-1", comment_url="https://example.invalid/1")
    assert store.investigation("kl-1").facts == {
        "threshold": 0.003,
        "check_name": "kl-triage",
        "comment_url": "https://example.invalid/1",
    }


def test_a_list_among_the_facts_grows_by_what_is_not_in_it(store):
    store.open_investigation(investigation(), [])
    for sha in ("a", "b", "a"):
        store.remember_more("kl-1", bump_commits=sha)
    assert store.investigation("kl-1").facts["bump_commits"] == ["a", "b"]


def test_only_what_began_before_is_earlier(store):
    for day in (1, 2, 3):
        at = datetime(2026, 1, day, tzinfo=UTC)
        store.open_investigation(investigation(f"kl-{day}", created_at=at), [])
        store.finish(f"kl-{day}", {"kind": "noise"})
    assert [found.id for found in store.earlier("kl-2")] == ["kl-1"]


def test_a_rerun_is_planned_once(store):
    store.open_investigation(investigation(), [])
    store.plan_rerun("kl-1-r0", "kl-1", {"json": "{}", "runner": "kl-cpu"})
    store.update_rerun("kl-1-r0", state="queued", run_id=9)
    again = store.plan_rerun("kl-1-r0", "kl-1", {"json": "other", "runner": "other"})
    assert (again.state, again.run_id, again.plan["runner"]) == ("queued", 9, "kl-cpu")


def test_a_decision_is_written_once(store):
    for _ in range(2):
        store.note("acme/tinyserve", "job 7", "no_kl_failure", "Nothing over a bound.")
    assert [decision.code for decision in store.decisions()] == ["no_kl_failure"]


def test_old_decisions_are_forgotten(store):
    store.note("acme/tinyserve", "job 1", "log_gone", "Gone.")
    store.forget_decisions(utcnow() - timedelta(days=1))
    assert len(store.decisions()) == 1
    store.forget_decisions(utcnow() + timedelta(days=1))
    assert store.decisions() == []


def test_the_ledger_knows_what_was_bumped_within_the_cooling_time(store):
    old = utcnow() - timedelta(days=100)
    for proposed_at, new in ((old, 0.004), (utcnow(), 0.005)):
        for _ in range(2):
            store.record_bump(
                Bump(
                    repo="acme/tinyserve",
                    site_key="t.py::T.kl_threshold",
                    investigation="kl-1",
                    old=0.003,
                    new=new,
                    pull=12,
                    evidence="d" * 40,
                    proposed_at=proposed_at,
                    expires_at=proposed_at + timedelta(days=90),
                )
            )
    assert [bump.new for bump in store.bumps("acme/tinyserve", "t.py::T.kl_threshold")] == [0.004, 0.005]
    assert store.bumped_since("acme/tinyserve", "t.py::T.kl_threshold", 90).new == 0.005
    assert store.bumped_since("acme/tinyserve", "another", 90) is None


def test_times_come_back_with_their_zone(store):
    store.open_investigation(investigation(), [])
    assert store.investigation("kl-1").created_at.tzinfo is not None


def test_an_unknown_investigation_is_a_key_error(store):
    with pytest.raises(KeyError):
        store.investigation("kl-9")


def test_what_became_of_a_bump_is_what_was_seen_last(store):
    for state in ("open", "closed", "closed"):
        store.settle_bump("acme/tinyserve", 12, state, utcnow())
    store.settle_bump("acme/other", 12, "merged", utcnow())
    assert {pull: found.state for pull, found in store.outcomes("acme/tinyserve").items()} == {12: "closed"}
    assert store.outcomes("acme/tinyserve")[12].at.tzinfo is not None
