"""Hazards 9 to 13: what GitHub sends twice, never, too late, or in another form than thought."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from dbos import DBOS, SetWorkflowID

from bot.store import Delivery
from bot.triage import sweeping
from bot.web import create_app
from tests.demo_github.github_stage import SECRET, git
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.faults import of_the_bot, refuse
from tests.lab.runner import Answer

NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def send(bench, payload: dict | bytes, *, event: str = "workflow_job", guid: str = "", signed: object = None):
    """A delivery that we sign ourselves; `signed`: over these bytes instead of those that are sent."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode()
    digest = hmac.new(SECRET.encode(), body if signed is None else signed, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid or str(uuid.uuid4()),
        "X-Hub-Signature-256": f"sha256={digest}",
    }
    return bench.post(body, headers).status_code


def red_delivery(bench):
    """The delivery that told of the red job."""
    return next(
        d
        for d in bench.world.hooks.deliveries()
        if d.event == "workflow_job" and d.payload["workflow_job"]["conclusion"] == "failure"
    )


def silent(bench) -> None:
    """From now on GitHub's deliveries go nowhere."""
    bench.world.hooks.settle(5)
    bench.world.hooks.hook = None


def test_hazard_09_the_same_delivery_and_the_same_meaning_are_one_piece_of_work(lab):
    bench = lab(NOTHING, trouble="twice")
    number = bench.red_pull()
    told = red_delivery(bench)
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: send(bench, told.payload, guid=told.guid), range(4)))
        other = list(pool.map(lambda _: send(bench, told.payload), range(4)))
    assert set(same + other) == {202}
    bench.wait()
    assert len(bench.investigations()) == len(bench.requests()) == len(bench.comments(number)) == 1
    over(bench)


def test_hazard_09_a_redelivery_of_work_that_failed_is_done(lab):
    bench = lab(NOTHING)
    refused = refuse(bench.world, "GET", r"/jobs/\d+/logs$", 403, "Resource not accessible", times=12)
    bench.red_pull()
    assert len(refused) == 12 and bench.investigations() == []
    bench.redeliver(red_delivery(bench).guid)
    bench.wait()
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_09_a_lost_event_is_found_by_the_sweep(lab):
    bench = lab(NOTHING, trouble="twice", here=True)
    first = bench.open_pull("other")
    bench.say(first, "/rerun-kl help")  # something has told the bot of this repository
    bench.wait()
    silent(bench)
    bench.red(bench.open_pull())
    for _ in range(2):
        with SetWorkflowID(f"sweep:{uuid.uuid4()}"):
            DBOS.start_workflow(sweeping.sweep, None, None).get_result()
        bench.wait()
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_10_a_github_that_hangs_does_not_hold_up_the_webhook(lab):
    """Deliveries are answered while each request of the bot waits for GitHub."""
    bench = lab(NOTHING)
    goes_on, asked = threading.Event(), threading.Event()

    def hang() -> None:
        if of_the_bot():
            asked.set()
            goes_on.wait(15)

    bench.world.before.append(hang)
    number = bench.open_pull()
    bench.red(number)
    assert asked.wait(10)
    answers = [send(bench, red_delivery(bench).payload) for _ in range(5)]
    assert answers == [202] * 5
    assert not goes_on.is_set()
    goes_on.set()
    bench.wait()
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_11_the_signature_is_over_the_bytes_as_they_came(lab):
    bench = lab()
    payload = {"action": "created", "comment": {"body": "naïve 🙂"}}
    as_sent = json.dumps(payload, ensure_ascii=False, indent=1).encode()
    encoded_again = json.dumps(payload).encode()
    assert send(bench, as_sent, event="issue_comment") == 202
    assert send(bench, as_sent, event="issue_comment", signed=encoded_again) == 401
    assert send(bench, b"", event="issue_comment", signed=as_sent) == 401
    unsigned = {"X-GitHub-Event": "issue_comment", "X-GitHub-Delivery": str(uuid.uuid4())}
    assert bench.post(as_sent, unsigned).status_code == 401
    assert bench.rows(Delivery) == []


@pytest.mark.parametrize("secret", ["", None])
def test_hazard_11_without_a_secret_there_is_no_webhook(secret):
    with pytest.raises(ValueError, match="secret"):
        create_app(None, None, secret=secret)


def test_hazard_12_a_forks_pull_request_is_found_though_its_run_names_none(lab):
    bench = lab(NOTHING, trouble="twice")
    sha = bench.push("scratch", {"tinyserve/metrics.py": "cached_tokens = 2\n"})
    number = bench.people.control("fork-pull", user="stranger-c", branch="main", sha=sha)["number"]
    bench.red(number)
    bench.wait()
    run = red_delivery(bench).payload["workflow_job"]["run_id"]
    found = bench.people.ask("GET", f"actions/runs/{run}", "dev-a")
    assert found["pull_requests"] == []
    assert "fork" in bench.codes() and "no_pull_request" not in bench.codes()
    assert bench.requests() == []
    over(bench)


def test_hazard_12_two_pull_requests_with_one_head_are_both_left_alone(lab):
    bench = lab(NOTHING, trouble="twice")
    git(bench.git_dir, "update-ref", "refs/heads/twin", bench.sha("feature"))
    numbers = [bench.open_pull("feature"), bench.open_pull("twin")]
    bench.red(numbers[0])
    bench.wait()
    assert [bench.comments(number) for number in numbers] == [[], []]
    assert bench.codes() != [] and bench.requests() == []
    over(bench)


def test_hazard_12_a_run_that_waits_for_approval_is_no_red_job(lab):
    bench = lab(NOTHING)
    number = bench.open_pull()
    bench.red(number, conclusion="action_required")
    bench.wait()
    assert bench.bot.workflows() == [] and bench.comments(number) == []


def test_hazard_13_each_rerun_button_measures_again_for_whoever_may_write(lab):
    bench = lab(NOTHING, trouble="twice")
    bench.red_pull()
    for measured, button in enumerate(({}, {"action": "rerun-kl"}, {"suite": True}), 2):
        newest = bench.checks()[-1]
        for who in ("stranger-c", "dev-a"):
            bench.people.control("rerequest", check_id=newest.id, user=who, **button)
            bench.wait()
        assert len(bench.investigations()) == measured
    over(bench)


def test_hazard_13_an_unknown_event_is_204(lab):
    bench = lab()
    assert send(bench, {"action": "created"}, event="sponsorship") == 204
    assert send(bench, {"action": "invented"}, event="check_run") in (202, 204)
    assert bench.rows(Delivery) == []
