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
    assert store.was_opened_by("kl-1", "https://example.invalid/job/7")
    assert not store.was_opened_by("kl-1", "https://example.invalid/job/8")
    assert not store.was_opened_by("kl-3", "https://example.invalid/job/7")
