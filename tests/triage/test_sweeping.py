"""Lost events are found, lost deliveries asked for, failed work done again; the bot itself comes and goes."""

from __future__ import annotations

import contextlib
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest
import requests
from dbos import DBOS, PortableWorkflowError, SetWorkflowID
from flask import jsonify, request
from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.github import lost
from bot.github.lost import Sent, to_ask_for
from bot.store import Delivery, Investigation, Store, open_database
from bot.triage import story, sweeping
from bot.triage.services import services
from tests.demo_github.github_stage import commit
from tests.store.test_store import investigation
from tests.triage.engines import CALLED, QUICK_S, queue, running, status

NAME = "acme/tinyserve"
AT = datetime(2026, 1, 2, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def engine(tmp_path, stage, monkeypatch):
    with running(tmp_path, stage.private_key, stage.url, monkeypatch) as found:
        yield found


@pytest.fixture
def installed(engine, stage) -> int:
    """The bot is set up in the repository and knows of it."""
    set_up(stage, "extends: reference\nmode: observe\n")
    number = stage.app.get_repo_installation("acme", "tinyserve").id
    engine.store.change_installation(number, [NAME], active=True, at=AT)
    return number


def set_up(stage, config: str) -> None:
    files = {".github/kl-triage.yml": config, ".github/workflows/ci.yml": "on: push\n"}
    commit(stage.git_dir, "main", files, "Set kl-triage up")


def ended_job(stage, conclusion: str = "failure", **more: object) -> dict[str, int]:
    """A job that has just ended; its webhooks reach nobody."""
    sha = stage.server.world.git.resolve("refs/heads/feature")
    document = {"workflow": "ci.yml", "head_sha": sha, "log": "Nothing.\n", "conclusion": conclusion} | more
    return requests.post(f"{stage.url}/_demo/recorded-job", json=document, timeout=10).json()


def sweep() -> None:
    with SetWorkflowID(f"sweep:{uuid.uuid4()}"):
        DBOS.start_workflow(sweeping.sweep, None, None).get_result()


def lost_keys() -> list[str]:
    return [work["key"] for work in sweeping.lost_work(services(), NAME)["work"]]


# Lost events


def test_a_lost_red_job_is_queued_once(engine, stage, installed):
    job = ended_job(stage)["job_id"]
    ended_job(stage, "success")
    key = f"red-job:{NAME}:{job}"
    assert [found for found in lost_keys() if found.startswith("red-job")] == [key]
    sweep()
    assert status(key) is not None
    assert lost_keys() == []
    assert engine.store.installed(NAME).swept_at > AT


def test_a_lost_run_of_the_default_branch_is_harvested(engine, stage, installed):
    run = ended_job(stage, "success", head_sha=stage.server.world.default_sha)["run_id"]
    assert lost_keys() == [f"harvest:{NAME}:{run}:1"]


def test_a_red_job_that_a_webhook_told_of_is_not_lost(engine, stage, installed):
    job = ended_job(stage)["job_id"]
    queue("test_breaks", f"red-job:{NAME}:{job}", {"repo": NAME})
    assert [found for found in lost_keys() if found.startswith("red-job")] == []


def test_our_own_reruns_are_never_red_jobs(engine, stage, installed):
    ended_job(stage, workflow="kl-rerun.yml")
    assert [found for found in lost_keys() if found.startswith("red-job")] == []


def test_of_runs_seen_before_only_those_that_changed_since_are_read(engine, stage, installed):
    ended_job(stage)
    engine.store.swept(NAME, datetime.now(UTC) + HOUR)
    stage.server.world.before.clear()
    asked: list[str] = []
    stage.server.world.before.append(lambda: asked.append(request.path))
    assert [found for found in lost_keys() if found.startswith("red-job")] == []
    assert [path for path in asked if "/attempts/" in path] == []


def test_of_too_many_red_runs_the_next_sweep_reads_on(engine, stage, installed, monkeypatch):
    monkeypatch.setattr(lost, "MAX_READ", 2)
    monkeypatch.setattr(sweeping, "OVERLAP", timedelta(0))
    jobs = []
    for second in range(5):
        jobs.append(ended_job(stage)["job_id"])
        run = max(stage.server.world.state.runs.values(), key=lambda run: run.id)
        run.updated_at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5 - second)
    found = []
    for _ in range(3):
        sweep()
        found.append([job for job in jobs if status(f"red-job:{NAME}:{job}")])
    assert found == [jobs[:2], jobs[:4], jobs]


@pytest.mark.parametrize("config", ["extends: reference\nmode: off\n", "extends: [\n"])
def test_a_repository_that_is_off_is_left_alone(engine, stage, installed, config):
    ended_job(stage)
    set_up(stage, config)
    assert lost_keys() == []


def test_the_trouble_of_one_repository_does_not_stop_the_others(engine, stage, installed):
    engine.store.change_installation(installed, ["acme/away"], active=True, at=AT)
    job = ended_job(stage)["job_id"]
    sweep()
    assert status(f"red-job:{NAME}:{job}") is not None
    assert engine.store.installed("acme/away").swept_at is None


def test_a_spent_rate_limit_leaves_a_repository_to_the_next_sweep(engine, stage, installed):
    job = ended_job(stage)["job_id"]
    refusal = lambda: (jsonify(message="You have exceeded a secondary rate limit"), 403)  # noqa: E731
    stage.server.world.before.append(refusal)
    sweep()
    assert engine.store.installed(NAME).swept_at is None
    stage.server.world.before.remove(refusal)
    sweep()
    assert status(f"red-job:{NAME}:{job}") is not None


# Investigations that nobody works on


def test_a_site_whose_workflow_broke_is_free_and_a_forgotten_investigation_begins(engine, stage, monkeypatch):
    done = []
    monkeypatch.setattr(story, "_give_up", lambda key: done.append(key))
    monkeypatch.setattr(story, "_measure", lambda key: done.append(key) or "noise")
    monkeypatch.setattr(story, "_see_checks_start", lambda _key: None)
    for key in ("kl-1", "kl-2"):
        engine.store.open_investigation(investigation(key, site_key=key), [])
    with pytest.raises(PortableWorkflowError):
        queue("test_breaks", "kl-1", {"repo": NAME}).get_result()
    sweep()
    DBOS.retrieve_workflow("kl-2").get_result()
    DBOS.retrieve_workflow(story.end_of("kl-1")).get_result()
    sweep()
    assert sorted(done) == ["kl-1", "kl-2"]


# Lost deliveries


def sent(guid: str, hours_ago: float, *, arrived: bool = False, again: bool = False, number: int = 1) -> Sent:
    return Sent(number, guid, AT - hours_ago * HOUR, again, arrived)


@pytest.mark.parametrize(
    ("attempts", "asked"),
    [
        ([sent("a", 1)], [1]),
        ([sent("a", 1, arrived=True)], []),
        ([sent("a", 1, number=2), sent("b", 2, number=1)], [1, 2]),
        ([sent("a", 1, again=True, arrived=True, number=2), sent("a", 2)], []),
        ([sent("a", 1, again=True, number=2), sent("a", 2)], []),
        ([sent("a", 25, again=True, number=2), sent("a", 26)], [2]),
    ],
)
def test_a_delivery_that_never_arrived_is_asked_for_once_a_day(attempts, asked):
    assert to_ask_for(iter(attempts), AT, most=100) == asked


def test_a_sweep_asks_for_the_oldest_deliveries_first_and_for_no_more_than_it_may():
    attempts = [sent(str(n), n / 10, number=n) for n in range(1, 6)]
    assert to_ask_for(iter(attempts), AT, most=3) == [5, 4, 3]


def test_a_lost_comment_comes_back(engine, stage, receiver):
    receiver.status = 503
    pull = stage.open_pull()
    pull.create_issue_comment("/rerun-kl")
    assert stage.server.world.hooks.settle(10)
    receiver.status, receiver.received[:] = 202, []
    assert sweeping.redeliver(services())["asked"] == len(set(guids(stage)))
    names = stage.hooks()
    assert "issue_comment.created" in names
    assert sweeping.redeliver(services())["asked"] == 0
    assert stage.hooks() == names


def guids(stage) -> list[str]:
    return [delivery.guid for delivery in stage.server.world.hooks.deliveries()]


def test_deliveries_are_listed_page_by_page(engine, stage, receiver, monkeypatch):
    monkeypatch.setattr(lost, "PAGE", 2)
    monkeypatch.setattr(sweeping, "MAX_REDELIVERIES", 4)
    receiver.status = 503
    stage.open_pull()
    assert len(stage.hooks()) == 4
    stage.repo("dev-a").get_pull(1).create_issue_comment("Hm.")
    assert len(stage.hooks()) == 5
    assert sweeping.redeliver(services())["asked"] == 4
    assert len(stage.hooks()) == 9
    assert sweeping.redeliver(services())["asked"] == 1


def test_after_a_start_the_whole_list_of_deliveries_is_looked_at(engine, stage, receiver, monkeypatch):
    monkeypatch.setattr(lost, "PAGE", 2)
    monkeypatch.setattr(lost, "MAX_PAGES", 1)
    receiver.status = 503
    stage.open_pull()
    assert stage.server.world.hooks.settle(10)
    hooks = stage.server.world.hooks
    oldest = min(hooks.deliveries(), key=lambda found: found.number).guid
    receiver.status = 202
    sweeping.sweep(None, None)
    asked = [found.guid for found in hooks.deliveries() if found.redelivery]
    assert len(asked) == 2 and oldest not in asked
    sweeping.sweep(None, True)
    assert oldest in [found.guid for found in hooks.deliveries() if found.redelivery]


# Work that failed


def test_work_that_broke_is_noted_and_done_once_more(engine):
    event = {"repo": NAME, "job_id": 7}
    queue("test_breaks", "red-job:x:7", event)
    assert ends("red-job:x:7") == "ERROR"
    for _ in range(2):
        sweep()
        assert ends("red-job:x:7:again-2") == "ERROR"
    assert status("red-job:x:7:again-3") is None
    assert [(d.subject, d.code) for d in engine.store.decisions()] == [("red-job:x:7", "done_again")]


def test_work_that_gave_up_is_done_once_more_and_then_left_to_a_redelivery(engine):
    with Session(engine.database) as session, session.begin():
        session.add(Delivery(guid="guid-0001", event="x", outcome="x", workflow="red-job:x:8"))
    queue("test_gives_up", "red-job:x:8", {"repo": NAME})
    ends("red-job:x:8")
    sweep()
    assert ends("red-job:x:8:again-2") == "SUCCESS"
    sweep()
    with Session(engine.database) as session:
        row = session.get_one(Delivery, "guid-0001")
        assert (row.workflow, row.state, row.tries) == ("red-job:x:8:again-2", "failed", 2)


def test_work_of_a_sweep_that_gave_up_is_done_once_more_too(engine):
    queue("test_gives_up", "red-job:x:9", {"repo": NAME})
    ends("red-job:x:9")
    sweep()
    assert ends("red-job:x:9:again-2") == "SUCCESS"


def ends(key: str) -> str | None:
    """The state of a workflow at its end."""
    with contextlib.suppress(PortableWorkflowError):
        DBOS.retrieve_workflow(key).get_result(polling_interval_sec=QUICK_S)
    return status(key)


def test_what_only_grows_is_forgotten(engine, monkeypatch):
    with Session(engine.database) as session, session.begin():
        for guid, days in (("guid-0001", 31), ("guid-0002", 29)):
            at = datetime.now(UTC) - timedelta(days=days)
            session.add(Delivery(guid=guid, event="x", outcome="x", received_at=at))
    sweep()
    monkeypatch.setattr(sweeping, "SWEEPS_KEPT", timedelta(0))
    sweep()  # the one before goes, it is not over itself
    assert len(DBOS.list_workflows(name="sweep")) == 1
    CALLED["nothing"] = lambda _svc: 0
    queue("test_calls", "red-job:x:11", {"function": "nothing"})
    ends("red-job:x:11")
    sweep()
    assert status("red-job:x:11") == "SUCCESS"
    monkeypatch.setattr(sweeping, "WORKFLOWS_KEPT", timedelta(0))
    sweep()
    assert status("red-job:x:11") is None
    with Session(engine.database) as session:
        assert list(session.scalars(select(Delivery.guid))) == ["guid-0002"]


# The bot comes and goes


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))


def active(store: Store) -> list[str]:
    return [found.repo for found in store.active_repositories()]


def test_the_newest_event_holds_whatever_order_they_come_in(store):
    store.change_installation(5, ["acme/a", "acme/b"], active=True, at=AT)
    store.change_installation(5, ["acme/b"], active=False, at=AT + 2 * HOUR)
    store.change_installation(5, ["acme/b"], active=True, at=AT + HOUR)
    assert active(store) == ["acme/a"]
    store.change_installation(5, [], active=False, at=AT + 3 * HOUR)
    assert active(store) == [] and store.left(5) == {"acme/a", "acme/b"}


def test_a_late_event_of_an_old_installation_brings_nothing_back(store):
    store.change_installation(5, ["acme/a"], active=True, at=AT)
    store.change_installation(5, [], active=False, at=AT + HOUR)
    store.change_installation(5, ["acme/a"], active=True, at=AT)
    assert active(store) == []
    store.change_installation(9, ["acme/a"], active=True, at=AT + 2 * HOUR)
    store.change_installation(5, [], active=False, at=AT + 3 * HOUR)
    assert active(store) == ["acme/a"]


def test_where_the_app_was_removed_open_investigations_are_halted(engine, installed):
    investigation = Investigation(
        id="kl-0", repo=NAME, installation=installed, pull=1, test="t", site_key="s", head_sha="a",
        base_sha="b", job_url="u", facts={},
    )  # fmt: skip
    engine.store.open_investigation(investigation, [])
    event = {"installation": installed, "repo": "", "repos": [], "active": False, "at": AT.isoformat()}
    queue("installation_changed", "installation:1", event)
    ends("installation:1")
    assert engine.store.investigation("kl-0").facts["halt"]["code"] == "uninstalled"
    assert active(engine.store) == []


# When


@pytest.mark.parametrize(
    ("seconds", "schedule"),
    [
        (0, None),
        (0.2, "*/1 * * * * *"),
        (30, "*/30 * * * * *"),
        (600, "0 */10 * * * *"),
        (3599, "0 */59 * * * *"),
        (7200, "0 0 */2 * * *"),
        (604800, "0 0 */23 * * *"),
    ],
)
def test_the_schedule(seconds, schedule):
    assert sweeping.cron(seconds) == schedule


def test_a_sweep_runs_at_the_start_and_then_by_the_clock(tmp_path, stage, monkeypatch):
    with running(tmp_path, stage.private_key, stage.url, monkeypatch, sweep_s=1.0):
        for _ in range(100):
            ended = DBOS.list_workflows(name="sweep", status="SUCCESS")
            if len(ended) > 1:
                break
            time.sleep(0.05)
        assert len(ended) > 1
