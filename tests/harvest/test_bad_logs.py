"""Logs that are gone, cut, slow or broken are missing data: counted, and no end of the harvest."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from flask import jsonify, redirect, request

from bot.demo.github.state import LogFault
from bot.demo.github.world import Quota
from bot.github import patience
from bot.triage.harvest.past import TROUBLES, Stopped
from tests.harvest.past import ago, green


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """The pauses of retries are GitHub's to need, not the tests'."""
    monkeypatch.setattr(patience, "PAUSES_S", (0.0, 0.0, 0.0))


@pytest.mark.parametrize("status", [404, 410])
def test_an_expired_log_is_counted_and_not_asked_for_again(past, harvest, status):
    run = past.run()
    past.job(run, green(), fault=LogFault(status=status))
    past.job(run, green())
    tally = harvest()
    assert (tally.jobs, tally.expired, tally.unreadable) == (1, 1, 0)
    past.asked.clear()
    assert harvest().known == 1
    assert past.logs_asked() == []


def test_a_log_that_is_not_there_yet_is_tried_again_by_the_next_harvest(past, harvest):
    run = past.run(at=ago(minutes=5))
    job = past.job(run, "")
    assert harvest().unreadable == 1
    job.log += green().encode()
    assert harvest().readings == 1


def test_an_outage_of_one_request_is_not_seen(past, harvest):
    past.job(past.run(), green(), fault=LogFault(status=500, times=1))
    assert harvest().readings == 1


def test_a_job_that_stays_broken_is_unreadable_until_it_can_be_read(past, harvest):
    run = past.run()
    broken = past.job(run, green(), fault=LogFault(status=500))
    past.job(run, green())
    tally = harvest()
    assert (tally.jobs, tally.unreadable) == (1, 1)
    broken.log_fault = None
    past.asked.clear()
    assert harvest().readings == 1
    assert past.logs_asked() == [broken.id]


def test_a_connection_that_breaks_gives_no_reading_and_no_half_of_one(past, harvest):
    text = green()
    past.job(past.run(), text, fault=LogFault(cut_after=len(text) - 20))
    tally = harvest()
    assert (tally.unreadable, tally.readings) == (1, 0)


def test_a_log_that_was_cut_when_it_was_written_keeps_its_readings_and_is_marked(past, harvest, store):
    past.run(green().replace("Cleaning up orphan processes\n", ""))
    tally = harvest()
    assert (tally.jobs, tally.readings, tally.incomplete) == (1, 1, 1)
    assert store.harvested("acme/tinyserve").incomplete == 1


def test_a_log_beyond_the_cap_is_read_up_to_it(past, harvest, monkeypatch):
    from bot.github import blobs

    monkeypatch.setattr(blobs.BlobStream.__init__, "__kwdefaults__", {"max_bytes": 400, "max_s": 60.0})
    past.run(green() + "chatter\n" * 1000 + "Cleaning up orphan processes\n")
    assert harvest().incomplete == 1


def test_a_storage_that_drips_ends_at_the_time_cap(past, harvest, monkeypatch):
    from bot.github import blobs

    monkeypatch.setattr(blobs.BlobStream.__init__, "__kwdefaults__", {"max_bytes": 2**20, "max_s": 0.05})
    past.job(past.run(), green(), fault=LogFault(pause_s=0.2))
    assert harvest().incomplete == 1


def test_a_run_whose_jobs_cannot_be_listed_does_not_end_the_harvest(past, harvest):
    broken = past.run(green(), at=ago(days=1))
    past.run(green())

    def fail():
        bad = f"/runs/{broken.id}/attempts" in request.path
        return (jsonify(message="Bad gateway"), 502) if bad else None

    past.world.before.append(fail)
    tally = harvest()
    assert (tally.readings, tally.unlisted) == (1, 1)
    past.world.before.remove(fail)
    assert harvest().readings == 1


def test_an_attempt_that_github_does_not_show_is_not_closed_and_tried_again(past, harvest):
    hidden = past.run(green(), at=ago(days=1))
    past.run(green())

    def hide():
        bad = f"/runs/{hidden.id}/attempts" in request.path
        return (jsonify(message="Not Found"), 404) if bad else None

    past.world.before.append(hide)
    tally = harvest()
    assert (tally.readings, tally.unreadable, tally.unlisted) == (1, 1, 0)
    past.world.before.remove(hide)
    tally = harvest()
    assert (tally.readings, tally.known) == (1, 1)


def test_when_nothing_can_be_read_any_more_it_stops_instead_of_asking_for_ever(past, harvest):
    run = past.run()
    for _ in range(TROUBLES + 5):
        past.job(run, green(), fault=LogFault(status=500))
    with pytest.raises(Stopped, match="logs in a row could not be read"):
        harvest()
    assert len(set(past.logs_asked())) == TROUBLES


def test_a_spent_rate_limit_is_waited_for_and_nothing_is_lost(past, harvest):
    for number in range(6):
        past.run(green(), at=ago(days=1, minutes=number))
    past.world.quota = Quota(limit=8, remaining=8, reset=int(time.time()) + 1, period_s=1.0)
    assert harvest(max_wait=timedelta(minutes=1)).readings == 6
    assert len(past.logs_asked()) == 6


def test_a_wait_longer_than_allowed_ends_the_harvest_with_what_was_read(past, harvest, store):
    for number in range(3):
        past.run(green(), at=ago(days=1, minutes=number))
    past.world.quota = Quota(limit=5, remaining=5, reset=int(time.time()) + 600)
    with pytest.raises(Stopped, match="longer than --max-wait"):
        harvest(max_wait=timedelta(seconds=30))
    assert store.harvested("acme/tinyserve").read == 1
    past.world.quota = None
    assert harvest().readings == 2
    assert len(past.logs_asked()) == 3


def test_repeated_secondary_limits_wait_no_longer_than_allowed_in_all(past, harvest):
    """Each wait is short enough by itself."""
    past.run(green())

    def slow_down():
        if not request.path.endswith("/logs"):
            return None
        answer = jsonify(message="You have exceeded a secondary rate limit.")
        answer.status_code, answer.headers["Retry-After"] = 403, "1"
        return answer

    past.world.before.append(slow_down)
    with pytest.raises(Stopped, match="longer than --max-wait"):
        harvest(max_wait=timedelta(seconds=1.5))
    assert len(past.logs_asked()) == 2


@pytest.mark.parametrize("fault", [LogFault(status=403), LogFault(status=500), LogFault(cut_after=60)])
def test_a_log_that_cannot_be_read_is_told_of_in_one_sentence(past, harvest, caplog, fault):
    past.job(past.run(), green(), fault=fault)
    assert harvest().unreadable == 1
    (told,) = [record.getMessage() for record in caplog.records if record.name == "bot.triage.harvest.steps"]
    assert told.startswith("the log of job 48100000001 of acme/tinyserve could not be read: ")
    assert "{" not in told and "\n" not in told and "http" not in told


def test_the_signed_address_of_a_log_is_nowhere_to_be_seen(past, harvest, caplog, tmp_path):
    past.run(green())
    signed = "http://127.0.0.1:9/log.txt?sig=c2lnbmVk"
    past.world.before.append(lambda: redirect(signed) if request.path.endswith("/logs") else None)
    assert harvest().unreadable == 1
    assert "could not be read: the blob store could not be read (ConnectionError)" in caplog.text
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("kl.sqlite*"))
    assert b"tinyserve" in kept
    assert "sig=" not in caplog.text and b"sig=" not in kept


def test_a_secondary_limit_says_how_long_to_wait(past, harvest):
    past.run(green())
    answers = [
        {"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://x.invalid"}
    ]

    def slow_down():
        if not answers or not request.path.endswith("/logs"):
            return None
        answer = jsonify(answers.pop())
        answer.status_code, answer.headers["Retry-After"] = 403, "1"
        return answer

    past.world.before.append(slow_down)
    assert harvest(max_wait=timedelta(seconds=30)).readings == 1
