"""A durable step: what it does about a rate limit, and about other failures."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime, timedelta

import pytest
from dbos import DBOS, PortableWorkflowError
from github import GithubException

from bot.github import AppCredentials
from bot.github.patience import NotYet, RateLimited
from bot.triage import durable
from bot.triage.engine import Engine
from bot.triage.health import Health
from bot.triage.settings import Settings
from tests.triage.engines import CALLED, QUICK_S, queue, running

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def engine(tmp_path_factory, pem):
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        running(tmp_path_factory.mktemp("durable"), pem[0], NOBODY, monkeypatch) as found,
    ):
        yield found


def ends(key: str):
    return DBOS.retrieve_workflow(key).get_result(polling_interval_sec=QUICK_S)


def run(key: str, function) -> object:
    CALLED[key] = function
    queue("test_calls", key, {"function": key})
    return ends(key)


def limited(status: int = 403, message: str = "Forbidden", **headers: str) -> GithubException:
    return GithubException(status, {"message": message}, headers)


def in_minutes(minutes: float) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)


def spent_for_an_hour() -> dict[str, str]:
    return {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 3600)}


@pytest.mark.parametrize(
    ("name", "refusal", "low", "high"),
    [
        ("raised", lambda: RateLimited(in_minutes(20)), 1000, 1201),
        ("primary", lambda: limited(**spent_for_an_hour()), 3500, 3602),
        ("secondary", lambda: limited(message="You have exceeded a secondary rate limit."), 55, 60),
        ("retry-after", lambda: limited(**{"Retry-After": "300", "x-ratelimit-remaining": "9"}), 295, 300),
        ("bare 429", lambda: limited(429), 55, 60),
        ("not yet", lambda: NotYet(in_minutes(20), "not there"), 1000, 1201),
    ],
)
def test_a_spent_rate_limit_is_slept_through_and_burns_no_retry(engine, name, refusal, low, high):
    answers = [refusal()] * 15 + [None]  # more than a step has tries
    engine.slept.clear()

    def step(_svc):
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return 7

    assert run(name, step) == 7
    assert len(engine.slept) == 15 and all(low < wait <= high for wait in engine.slept)


def test_a_limit_that_never_ends_fails_the_step(engine):
    def step(_svc):
        raise limited(429)

    with pytest.raises(PortableWorkflowError, match="rate limit was spent 24 times"):
        run("for ever", step)
    assert issubclass(durable.StillLimited, durable.STEP_FAILED)


def test_another_refusal_is_a_failure_that_is_tried_again(engine):
    answers = [limited(403, "Resource not accessible by integration"), limited(502), 7]
    engine.slept.clear()

    def step(_svc):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert run("failing", step) == 7
    assert engine.slept == []


def test_a_worker_lives_on_after_work_that_broke(engine):
    for number in range(20):
        queue("test_breaks", f"breaks-{number}", {"repo": "acme/x"})
    for number in range(20):
        with pytest.raises(PortableWorkflowError):
            ends(f"breaks-{number}")
    assert run("after them", lambda _svc: 7) == 7


# Health


def test_health_while_nothing_waits(engine):
    assert engine.health.trouble(in_minutes(11)) is None


def test_work_that_nobody_takes_is_trouble_after_ten_minutes(engine):
    handle = queue("test_calls", "never taken", {}, app_version="another")
    assert engine.health.trouble(datetime.now(UTC)) is None
    told = engine.health.trouble(in_minutes(11))
    assert told.sentence == "Work of the queue triage has waited over 10 minutes."
    DBOS.cancel_workflow(handle.workflow_id)


def test_work_that_waits_for_its_turn_is_no_trouble(engine):
    """As many harvests run as may: both of them sleep."""
    options = {"queue_name": durable.HARVEST_QUEUE}
    gate = []

    def step(_svc):
        while not gate:
            time.sleep(QUICK_S)

    CALLED["sleeps"] = step
    keys = ["harvest-1", "harvest-2", "harvest-3"]
    for key in keys:
        queue("test_calls", key, {"function": "sleeps"}, **options)
    while len(DBOS.list_workflows(status="PENDING", queue_name=durable.HARVEST_QUEUE)) < 2:
        time.sleep(QUICK_S)
    assert engine.health.trouble(in_minutes(11)) is None
    gate.append(1)
    for key in keys:
        ends(key)


def test_three_missed_sweeps_are_trouble(engine):
    health = Health(engine.database, sweep_s=600, started=datetime.now(UTC))
    assert health.trouble(in_minutes(29)) is None
    missed = health.trouble(in_minutes(31))
    assert missed.sentence == "No sweep for lost events has ended in the last 1800 seconds."
    assert Health(engine.database, sweep_s=0, started=datetime.now(UTC)).trouble(in_minutes(1440)) is None


def test_a_database_of_an_earlier_version_is_refused_with_a_sentence(tmp_path, pem):
    file = tmp_path / "old.sqlite"
    with sqlite3.connect(file) as old:
        old.execute("CREATE TABLE deliveries (guid TEXT PRIMARY KEY, event TEXT, outcome TEXT)")
    settings = Settings(f"sqlite:///{file}", "a secret", AppCredentials(1, pem[0], NOBODY), "test")
    refusal = Engine(settings).start()
    assert refusal.code == "old_database"
    assert "table deliveries has no column workflow" in refusal.sentence
    assert "sqlite:///kl-triage-2.sqlite" in refusal.sentence
