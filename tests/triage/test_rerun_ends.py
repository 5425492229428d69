"""How reruns end that GitHub loses, hides or does not let go; and who waits for what cannot be settled."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from github import GithubException

from bot.github.patience import NotYet
from bot.store import Hit
from bot.store.base import utcnow
from bot.triage import durable
from bot.triage.measure import left_runs, measuring
from bot.triage.red import redjob, relaying, settling
from bot.triage.services import Services
from runners.fleets.fleet import Collected, Progress, State, with_lost
from tests.store.test_store import investigation
from tests.triage.test_measuring import TRIGGER, opened, svc  # noqa: F401

NAME, SITE = "acme/tinyserve", "t.py::T.kl_threshold"
MINUTE = timedelta(minutes=1)


@dataclass
class OneFleet:
    """Its one run is in `state`; a cancel is refused with `refusal`."""

    state: State = State.QUEUED
    url: str | None = None
    refusal: GithubException | None = None
    cancelled: int = 0
    seen: list[Any] = field(default_factory=list)

    def progress(self, ticket: Any) -> Progress:
        return Progress(self.state, None, 1, self.url)

    def collect(self, ticket: Any) -> Collected:
        return Collected(with_lost(ticket.plan, (), "gone"), "gone")

    def cancel(self, _ticket: Any) -> None:
        self.cancelled += 1
        if self.refusal is not None:
            raise self.refusal


@pytest.fixture
def fleet(monkeypatch) -> OneFleet:
    found = OneFleet()
    monkeypatch.setattr(measuring, "_fleet", lambda _svc, _rerun: found)
    return found


def sent(svc: Services, ago: timedelta, **values: object) -> str:  # noqa: F811
    """A rerun planned a day ago and sent so long ago."""
    opened(svc)
    svc.store.add_readings("kl-1", "trigger", [TRIGGER])
    request = measuring.plan(svc, "kl-1", 0)
    times = {"created_at": utcnow() - timedelta(days=1), "sent_at": utcnow() - ago}
    svc.store.update_rerun(request, state="queued", **times, **values)
    return request


def of(svc: Services, request: str) -> tuple[str, str | None]:  # noqa: F811
    found = svc.store.rerun(request)
    return found.state, found.trouble


def test_a_run_that_github_does_not_show_yet_is_not_lost_however_long_its_dispatch_took(svc, fleet):  # noqa: F811
    request = sent(svc, MINUTE, run_id=7)
    fleet.state = State.LOST
    assert (measuring.progress(svc, request), fleet.cancelled) == ("queued", 0)
    svc.store.update_rerun(request, sent_at=utcnow() - 3 * MINUTE)
    assert (measuring.progress(svc, request), fleet.cancelled) == ("lost", 1)


def test_a_dispatch_that_started_nothing_blames_no_runner(svc, fleet):  # noqa: F811
    request = sent(svc, 9 * MINUTE)
    assert measuring.progress(svc, request) == "queued"
    measuring.give_up(svc, request, "queued")
    assert of(svc, request) == ("queued", measuring.NOT_STARTED)
    svc.store.update_rerun(request, sent_at=utcnow() - 11 * MINUTE)
    assert measuring.progress(svc, request) == "lost"
    measuring.collect(svc, request)
    assert of(svc, request) == ("left", measuring.NOT_STARTED)


def test_a_run_that_went_on_is_cancelled_by_the_sweep_until_it_ends(svc, fleet):  # noqa: F811
    request = sent(svc, MINUTE, run_id=7, url="https://run/7")
    fleet.state, fleet.url, fleet.refusal = State.RUNNING, "https://run/7", GithubException(500, {}, {})
    measuring.cancel(svc, request)
    measuring.collect(svc, request)
    assert left_runs.end_left_runs(svc) == []  # whoever measures looks after it
    svc.store.finish("kl-1", None)
    assert left_runs.end_left_runs(svc) == [request] and fleet.cancelled == 2
    fleet.state = State.FINISHED
    assert left_runs.end_left_runs(svc) == [] and of(svc, request)[0] == "finished"
    fleet.state = State.RUNNING
    assert left_runs.end_left_runs(svc) == [] and fleet.cancelled == 2


def test_a_cancel_waits_for_the_rate_limit(svc, fleet):  # noqa: F811
    request = sent(svc, MINUTE, run_id=7)
    fleet.refusal = GithubException(429, {}, {"Retry-After": "60"})
    with pytest.raises(GithubException):
        measuring.cancel(svc, request)


@pytest.mark.parametrize(("minutes", "awaited"), [(1, True), (14, True), (16, False)])
def test_a_log_may_come_some_time_after_the_end_of_its_job(monkeypatch, minutes, awaited):
    monkeypatch.setattr(redjob, "job_ended", lambda _repo, _job: utcnow() - minutes * MINUTE)
    if awaited:
        with pytest.raises(NotYet):
            redjob._await_log(None, 7)
    else:
        redjob._await_log(None, 7)


# Who waits


def waits(svc: Services, for_: str) -> Hit:  # noqa: F811
    hit = Hit(repo=NAME, site_key=SITE, pull=9, head_sha="c" * 40, event={}, facts={}, investigation=for_)
    hit.state = "waiting"
    svc.store.record_hit(hit)
    return hit


def test_the_waiting_text_does_not_go_over_an_answer(svc):  # noqa: F811
    opened(svc)
    hit = waits(svc, "kl-1")
    assert relaying._still_waits(svc, hit, "kl-1")
    svc.store.finish("kl-1", None)
    assert not relaying._still_waits(svc, hit, "kl-1")


def test_who_cannot_be_settled_for_days_is_let_go(svc, monkeypatch):  # noqa: F811
    opened(svc)
    waits(svc, "kl-1")
    svc.store.finish("kl-1", None)
    monkeypatch.setattr(settling, "SETTLED_WITHIN", timedelta(0))
    (asked,) = settling.left_over(svc).items()
    assert asked[1] == "kl-1" and asked[0].startswith("settle:kl-1:2")
    monkeypatch.setattr(settling, "WAITS_AT_MOST", timedelta(0))
    assert settling.settle(svc, "kl-1", 9) == ""
    assert svc.store.hit(NAME, SITE, 9) is None
    assert svc.store.decisions()[0].code == "never_settled"


def test_what_people_ask_for_does_not_queue_behind_red_jobs():
    queues = {name: durable.options_of(name, "x")["queue_name"] for name in ("red_job", "command")}
    assert queues["red_job"] != queues["command"]


def test_an_app_that_was_installed_anew_speaks_with_its_new_id(svc):  # noqa: F811
    class Connection:
        def repository(self, number: int, name: str) -> tuple[int, str]:
            return number, name

    there = Services(None, svc.store, Connection())
    assert there.repository(investigation()) == (1, NAME)
    svc.store.change_installation(8, [NAME], active=True, at=utcnow())
    assert there.repository(investigation()) == (8, NAME)
