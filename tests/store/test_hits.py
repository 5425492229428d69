"""Hits: one row a pull request and site, and nobody waits for what has ended."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from bot.store import Hit, Store, open_database
from bot.store.base import utcnow
from tests.store.test_store import investigation

REPO, SITE = "acme/tinyserve", "t.py::T.kl_threshold"


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))


def hit(pull: int, **changed: object) -> Hit:
    fields = {
        "repo": REPO,
        "site_key": SITE,
        "pull": pull,
        "head_sha": f"{pull}" * 40,
        "event": {},
        "facts": {},
    }
    return Hit(**(fields | changed))


def pulls(hits) -> list[int]:
    return [found.pull for found in hits]


def test_who_came_first_comes_first_and_each_waits_once(store):
    store.open_investigation(investigation("kl-1"), [])
    early = utcnow() - timedelta(minutes=5)
    assert store.wait_for(hit(7), "kl-1")
    assert store.wait_for(hit(9, at=early), "kl-1")
    assert store.wait_for(hit(7, head_sha="f" * 40), "kl-1")
    assert pulls(store.waiting_for("kl-1")) == [9, 7]
    assert store.hit(REPO, SITE, 7).head_sha == "f" * 40
    assert [store.waiting_beside(REPO, SITE, pull) for pull in (7, 8)] == [1, 2]


def test_nobody_waits_for_what_has_ended_or_never_was(store):
    store.open_investigation(investigation("kl-1"), [])
    store.finish("kl-1", {"kind": "noise"})
    assert not store.wait_for(hit(7), "kl-1")
    assert not store.wait_for(hit(7), "kl-none")
    assert store.hit(REPO, SITE, 7) is None


def test_who_waits_while_it_ends_is_found_by_who_ends_it_or_told_that_it_has_ended(store):
    """Of many that come at the moment of the end none is lost."""
    store.open_investigation(investigation("kl-1"), [])
    waits: dict[int, bool] = {}
    threads = [
        threading.Thread(target=lambda n=n: waits.update({n: store.wait_for(hit(n), "kl-1")}))
        for n in range(1, 13)
    ]
    for thread in threads[:6]:
        thread.start()
    store.finish("kl-1", {"kind": "noise"})
    found = set(pulls(store.waiting_for("kl-1")))
    for thread in threads[6:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert {pull for pull, waiting in waits.items() if waiting} == found
    assert len(waits) == 12 and not waits[12]


def test_those_left_waiting_are_found_once_the_end_is_some_time_ago(store):
    store.open_investigation(investigation("kl-1"), [])
    store.wait_for(hit(7), "kl-1")
    later = utcnow() + timedelta(minutes=1)
    assert store.left_waiting(later) == []
    store.finish("kl-1", None)
    assert store.left_waiting(utcnow() - timedelta(minutes=1)) == []
    assert store.left_waiting(later) == ["kl-1"]
    store.drop_hit(REPO, SITE, 7)
    store.drop_hit(REPO, SITE, 7)
    assert store.left_waiting(later) == []


def test_what_is_known_of_a_site(store):
    assert store.open_on(REPO, SITE) is None
    for number in (1, 2):
        store.open_investigation(investigation(f"kl-{number}", head_sha=f"{number}" * 40), [])
        assert store.open_on(REPO, SITE).id == f"kl-{number}"
        store.finish(f"kl-{number}", {"kind": "noise"})
    assert [found.id for found in store.ended_on(REPO, SITE)] == ["kl-2", "kl-1"]
    assert store.ended_on(REPO, "another") == []
    assert store.judged_on(REPO, SITE, "1" * 40).id == "kl-1"
    assert store.judged_on(REPO, SITE, "3" * 40) is None
    assert store.opened_by("kl-1") == "https://example.invalid/job/7"
    assert store.opened_by("kl-3") is None


def shown(job: int, *values: float | str, **changed: object) -> dict[str, object]:
    """Facts of one red job."""
    facts = {
        "test": "t.py::T.test_a",
        "label": None,
        "job_url": f"https://example.invalid/job/{job}",
        "trigger": [{"source": f"job {job}", "value": value} for value in values],
        "values": list(values),
        "labels": ["kl-cpu", "self-hosted"],
        "bound": 0.003,
        "also_red": [],
        "unfit": False,
        "commanded": False,
        "suffix": "",
    }
    return facts | changed


def waiting_facts(store, *jobs: dict[str, object]) -> dict[str, object]:
    """Of the pull request that waits after these jobs."""
    store.open_investigation(investigation("kl-1"), [])
    for number, facts in enumerate(jobs):
        assert store.wait_for(hit(7, event={"job_id": number}, facts=facts), "kl-1")
    found = store.hit(REPO, SITE, 7)
    return found.facts | {"event": found.event["job_id"]}


@pytest.mark.parametrize("jobs", [[(1, 0.9), (2, 0.0031)], [(1, 0.9), (2, 0.0031), (2, 0.0031), (1, 0.9)]])
def test_a_milder_job_of_the_commit_does_not_hide_a_worse_one(store, jobs):
    facts = waiting_facts(store, *(shown(*job) for job in jobs))
    assert sorted(facts["values"]) == [0.0031, 0.9]
    assert sorted(record["source"] for record in facts["trigger"]) == ["job 1", "job 2"]


def test_a_job_that_nobody_asked_for_does_not_replace_a_command(store):
    asked = shown(1, 0.0031, commanded=True, suffix="c7-0")
    facts = waiting_facts(store, shown(1, 0.0031), asked, shown(2, "nan"))
    assert (facts["commanded"], facts["suffix"], facts["event"]) == (True, "c7-0", 1)
    assert facts["values"] == [0.0031, "nan"]


def test_what_does_not_go_together_bars_an_answer(store):
    other = shown(2, 0.9, test="t.py::T.test_b", labels=["mi300", "self-hosted"], bound=0.004, unfit=True)
    facts = waiting_facts(store, shown(1, 0.0031), other)
    assert facts["also_red"] == ["t.py::T.test_a"]
    assert (facts["labels"], facts["bound"], facts["unfit"]) == (["self-hosted"], None, True)
    assert facts["values"] == [0.9]


def test_another_commit_waits_with_what_it_shows_itself(store):
    store.open_investigation(investigation("kl-1"), [])
    store.wait_for(hit(7, facts=shown(1, 0.9)), "kl-1")
    store.wait_for(hit(7, facts=shown(2, 0.0031), head_sha="8" * 40), "kl-1")
    assert store.hit(REPO, SITE, 7).facts["values"] == [0.0031]
