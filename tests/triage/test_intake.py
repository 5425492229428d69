"""What a delivery queues, and that its key is what it means."""

import sqlite3
import threading

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.github.events import parse
from bot.store import Delivery, Store, open_database
from bot.triage.intake import Outcome, workflow_id, workflow_of
from tests.github.test_events import ON_PULL, check, comment, installed, job, main_run, pull, pushed
from tests.web.test_webhook import CountingIntake

COMMAND = comment(**ON_PULL)
EDIT = {"action": "edited", "changes": {"body": {"from": "Hm."}}}


@pytest.fixture
def database(tmp_path):
    return open_database(f"sqlite:///{tmp_path}/kl.sqlite", busy_s=0.1)


@pytest.fixture
def intake(database):
    return CountingIntake(database)


def rows(database) -> list[tuple[str, str | None, str, int]]:
    with Session(database) as session:
        return [(d.guid, d.workflow, d.state, d.tries) for d in session.scalars(select(Delivery))]


def test_a_run_of_the_default_branch_queues_one_harvest_for_each_attempt(intake):
    assert intake.receive("guid-0001", "workflow_run", main_run()) is Outcome.ACCEPTED
    assert intake.receive("guid-0001", "workflow_run", main_run()) is Outcome.DUPLICATE
    assert intake.receive("guid-0002", "workflow_run", main_run(head_branch="topic")) is Outcome.IGNORED
    assert intake.queued == ["harvest:acme/tinyserve:9:2"]


@pytest.mark.parametrize(
    ("name", "payload", "workflow", "key"),
    [
        ("workflow_job", job(), "red_job", "red-job:acme/tinyserve:7"),
        ("workflow_run", main_run(), "harvest", "harvest:acme/tinyserve:9:2"),
        ("issue_comment", COMMAND, "command", "command:acme/tinyserve:8"),
        (
            "issue_comment",
            COMMAND | EDIT,
            "command",
            "command:acme/tinyserve:8:2026-01-02T03:04:05+00:00:9a18fa0ec6d8",
        ),
        ("check_run", check(), "check_asked", "check:acme/tinyserve:6:2026-01-02T03:04:05+00:00:dev-a"),
        (
            "pull_request",
            pull("closed"),
            "pull_closed",
            "pull-closed:acme/tinyserve:4:2026-01-02T03:04:05+00:00",
        ),
        ("pull_request", pull("synchronize"), "pull_moved", f"pull-moved:acme/tinyserve:4:{'b' * 40}"),
        ("push", pushed(), "branch_moved", f"branch:acme/tinyserve:{'b' * 40}"),
        (
            "installation",
            installed("suspend"),
            "installation_changed",
            "installation:5:2026-01-02T03:04:05+00:00:False:e3b0c44298fc",
        ),
    ],
)
def test_the_key_is_what_the_delivery_means(name, payload, workflow, key):
    event = parse(name, payload)
    assert (workflow_of(event), workflow_id(event)) == (workflow, key)


def test_a_name_in_other_letters_is_the_same_repository():
    shouted = job() | {"repository": {"full_name": "ACME/TinyServe"}}
    assert workflow_id(parse("workflow_job", shouted)) == workflow_id(parse("workflow_job", job()))


def test_two_lists_of_an_installation_at_one_time_are_two_changes():
    lists = [[{"full_name": "acme/a"}], [{"full_name": "acme/b"}]]
    keys = {
        workflow_id(parse("installation_repositories", installed("added", repositories_added=found)))
        for found in lists
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("body", "before", "outcome"),
    [
        ("/rerun-kl", "Hm.", Outcome.ACCEPTED),
        ("/rerun-kl", "> /rerun-kl", Outcome.ACCEPTED),
        ("/rerun-kl\n\nPlease.", "/rerun-kl", Outcome.IGNORED),
        ("Never mind.", "/rerun-kl", Outcome.IGNORED),
    ],
)
def test_of_an_edit_only_a_command_that_it_brought_counts(intake, body, before, outcome):
    edited = comment(body, **ON_PULL) | {"action": "edited", "changes": {"body": {"from": before}}}
    assert intake.receive("guid-0001", "issue_comment", edited) is outcome


def test_a_comment_without_a_command_is_not_stored(intake, database):
    assert intake.receive("guid-0001", "issue_comment", comment("Nice.", **ON_PULL)) is Outcome.IGNORED
    assert rows(database) == []


def test_work_that_failed_is_queued_again_by_a_redelivery_once_each_time(intake, database):
    key = "red-job:acme/tinyserve:7"
    store = Store(database)
    intake.receive("guid-0001", "workflow_job", job())
    assert rows(database) == [("guid-0001", key, "accepted", 1)]
    store.delivery_failed(key)
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.ACCEPTED
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.DUPLICATE
    store.delivery_failed(key)  # of the first try: the second one is not over
    assert [row for row in rows(database) if row[0] == "guid-0001"] == [
        ("guid-0001", f"{key}:again-2", "accepted", 2)
    ]
    store.delivery_failed(f"{key}:again-2")
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.ACCEPTED
    assert intake.queued == [key, f"{key}:again-2", f"{key}:again-3"]


def test_parallel_redeliveries_of_failed_work_queue_it_once(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/kl.sqlite")
    intake, outcomes = CountingIntake(database), []
    intake.receive("guid-0001", "workflow_job", job())
    Store(database).delivery_failed("red-job:acme/tinyserve:7")

    def redeliver() -> None:
        outcomes.append(intake.receive("guid-0001", "workflow_job", job()))

    threads = [threading.Thread(target=redeliver) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [Outcome.ACCEPTED] + [Outcome.DUPLICATE] * 5
    assert intake.queued == ["red-job:acme/tinyserve:7", "red-job:acme/tinyserve:7:again-2"]


def test_what_cannot_be_queued_is_not_stored_either(intake, database, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("the queue is gone")

    monkeypatch.setattr(intake, "_enqueue", broken)
    with pytest.raises(RuntimeError):
        intake.receive("guid-0001", "workflow_job", job())
    monkeypatch.undo()
    assert rows(database) == []
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.ACCEPTED


def test_a_locked_database_stores_nothing_and_says_so(intake, database, tmp_path):
    other = sqlite3.connect(f"{tmp_path}/kl.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.BUSY
    other.execute("ROLLBACK")
    assert rows(database) == []
    assert intake.receive("guid-0001", "workflow_job", job()) is Outcome.ACCEPTED


def test_an_accepted_event_tells_where_the_bot_is(intake, database):
    intake.receive("guid-0001", "workflow_job", job())
    intake.receive("guid-0002", "workflow_job", job(id=8) | {"installation": {"id": 4}})
    (found,) = Store(database).active_repositories()
    assert (found.repo, found.installation, found.swept_at) == ("acme/tinyserve", 5, None)
