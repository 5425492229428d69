"""Past runs: what was read of them is written once, and found by test, runner, check and time."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta

import pytest

from bot.store import HarvestedJob, Store, open_database
from bot.store.history import Harvested

TEST = "test/t.py::T.test_a"
DAY = datetime(2026, 5, 1, tzinfo=UTC)
MONTH = {"since": DAY, "before": DAY + timedelta(days=30)}


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))


def job(number: int, state: str = "stored", **changed: object) -> HarvestedJob:
    """The job that ran on day `number`."""
    fields = {
        "repo": "Acme/TinyServe",
        "job_id": number,
        "run_id": 50_000_000_000 + number,
        "attempt": 1,
        "name": "kl",
        "labels": ["self-hosted", "4-gpu-h100"],
        "runner": "runner-1",
        "commit": "a" * 40,
        "started_at": DAY + timedelta(days=number),
        "completed_at": None,
        "state": state,
        "reader": "r1",
    }
    return HarvestedJob(**(fields | changed))


def record(value: float = 0.002, test: str = TEST, **more: object) -> dict[str, object]:
    return {"arm": "history", "test": test, "status": "ok", "value": value, **more}


def values(store: Store, runner: str = "4-gpu-h100", **changed: object) -> list[float]:
    query = {**MONTH, **changed}
    return [found["value"] for found in store.history("acme/tinyserve", TEST, runner, **query)]


def test_history_is_the_newest_up_to_the_limit_oldest_first(store):
    for number in (3, 1, 5, 2, 4):
        store.add_job(job(number), [record(number / 1000), record(number / 1000 + 0.0001)])
    assert values(store)[:3] == [0.001, 0.0011, 0.002]
    assert values(store, limit=3) == [0.0041, 0.005, 0.0051]


def test_history_is_that_of_the_time_asked_for(store):
    for number in range(6):
        store.add_job(job(number), [record(number / 1000)])
    at = DAY + timedelta(days=2)
    assert values(store, since=at) == [0.002, 0.003, 0.004, 0.005]
    assert values(store, before=at) == [0.0, 0.001]


def test_a_runner_label_counts_whole_and_whatever_its_case(store):
    store.add_job(job(1, labels=["self-hosted", "4-gpu-h100"]), [record(0.001)])
    store.add_job(job(2, labels=["4-gpu-h100-large"]), [record(0.002)])
    store.add_job(job(3, labels=["4-GPU-H100"]), [record(0.003)])
    store.add_job(job(4, labels=["4_gpu_h100"]), [record(0.004)])
    assert values(store) == [0.001, 0.003]
    assert values(store, "4_gpu_h100") == [0.004]
    assert values(store, "%") == []


def test_another_test_and_another_check_are_left_out(store):
    mine, other = record(0.001, label="decode"), record(0.002, label="prefill")
    store.add_job(job(1), [mine, other, record(0.003), record(0.004, test="test/t.py::T.test_b")])
    assert values(store) == [0.003]
    assert values(store, label="decode") == [0.001, 0.003]


def test_a_settled_job_is_not_written_again(store):
    assert store.add_job(job(1), [record(0.001)])
    assert not store.add_job(job(1), [record(0.002)])
    assert values(store) == [0.001]


def test_an_unreadable_job_may_be_read_later(store):
    store.add_job(job(1, "unreadable"))
    assert store.settled_jobs("acme/tinyserve", [1, 2], "r1") == set()
    assert store.add_job(job(1, readings=1), [record(0.001)])
    assert store.settled_jobs("ACME/tinyserve", [1, 2], "r1") == {1}
    assert values(store) == [0.001]


def test_another_reader_asks_for_all_but_expired_logs_again(store):
    for number, state in enumerate(("stored", "nothing", "skipped", "expired", "unreadable"), 1):
        store.add_job(job(number, state))
    assert store.settled_jobs("acme/tinyserve", range(6), "r1") == {1, 2, 3, 4}
    assert store.settled_jobs("acme/tinyserve", range(6), "r2") == {4}
    store.close_run("acme/tinyserve", 7, 1, "r1", done=True)
    assert not store.is_run_done("acme/tinyserve", 7, 1, "r2")


def test_what_another_reader_finds_takes_the_place_of_what_was_stored(store):
    store.add_job(job(1, readings=3), [record(0.001), record(0.002), record(0.003)])
    assert store.add_job(job(1, reader="r2", readings=1), [record(0.004)])
    assert values(store) == [0.004]
    assert store.settled_jobs("acme/tinyserve", [1], "r2") == {1}


@pytest.mark.parametrize(
    ("state", "settled"), [("nothing", {1}), ("skipped", {1}), ("expired", {1}), ("unreadable", set())]
)
def test_what_was_stored_stays_where_another_reader_finds_nothing(store, state, settled):
    store.add_job(job(1, readings=1), [record(0.001)])
    store.add_job(job(1, state, reader="r2"))
    assert values(store) == [0.001]
    assert store.harvested("acme/tinyserve").jobs == {"stored": 1}
    assert store.settled_jobs("acme/tinyserve", [1], "r2") == settled


def test_a_job_carried_over_is_known_by_name_start_and_runner(store):
    run, start = 7, DAY + timedelta(days=1)
    same = {"run_id": run, "started_at": start}
    store.add_job(job(1, **same), [record(0.001)])
    store.add_job(job(2, "expired", name="gone", **same))
    assert store.jobs_of_other_attempts("Acme/tinyserve", run, 2, "r2") == {("kl", start, "runner-1")}
    assert store.jobs_of_other_attempts("acme/tinyserve", run, 1, "r1") == set()
    assert store.jobs_of_other_attempts("acme/tinyserve", run + 1, 2, "r1") == set()
    assert not store.add_job(job(3, attempt=2, **same), [record(0.001)])
    assert store.add_job(job(4, attempt=2, runner="runner-2", **same), [record(0.002)])
    assert values(store) == [0.001, 0.002]


def test_history_of_exactly_these_labels_and_of_one_gpu(store):
    store.add_job(job(1, labels=["4-GPU-H100", "Self-Hosted"]), [record(0.001, gpu="H100"), record(0.0011)])
    store.add_job(job(2, labels=["self-hosted", "4-gpu-h100", "linux"]), [record(0.002, gpu="H100")])
    store.add_job(job(3), [record(0.003, gpu="H200")])
    labels = {"self-hosted", "4-gpu-h100"}
    assert values(store, labels=labels) == [0.001, 0.0011, 0.003]
    assert values(store, labels=labels, gpu="H100") == [0.001]
    assert values(store, labels={"4-gpu-h100"}) == []


def test_of_many_at_once_one_writes_a_job(tmp_path):
    stores = [Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")) for _ in range(6)]
    wrote: list[bool] = []
    threads = [
        threading.Thread(target=lambda s=s: wrote.append(s.add_job(job(1), [record(0.001)]))) for s in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wrote) == [False] * 5 + [True]
    assert values(stores[0]) == [0.001]


def test_an_attempt_is_done_once_nothing_is_left_of_it(store):
    assert not store.is_run_done("acme/tinyserve", 7, 1, "r1")
    store.close_run("acme/tinyserve", 7, 1, "r1", done=False)
    assert not store.is_run_done("acme/tinyserve", 7, 1, "r1")
    store.close_run("Acme/tinyserve", 7, 1, "r1", done=True)
    assert store.is_run_done("acme/tinyserve", 7, 1, "r1")
    assert not store.is_run_done("acme/tinyserve", 7, 2, "r1")


def test_what_is_stored_is_counted(store):
    store.add_job(job(1, complete=False, readings=2), [record(), record(test="test/t.py::T.test_b")])
    store.add_job(job(2, "nothing"))
    store.add_job(job(3, "expired"))
    found = store.harvested("acme/tinyserve")
    assert found == Harvested({"stored": 1, "nothing": 1, "expired": 1}, 1, 2, 2)
    assert (found.read, store.harvested("acme/other").readings) == (2, 0)


def test_a_database_from_before_gains_the_tables(tmp_path):
    path = tmp_path / "old.sqlite"
    Store(open_database(f"sqlite:///{path}"))
    with sqlite3.connect(path) as old:
        for table in ("past_readings", "past_jobs", "past_runs"):
            old.execute(f"DROP TABLE {table}")
    store = Store(open_database(f"sqlite:///{path}"))
    assert store.add_job(job(1), [record(0.001)])


def test_history_is_kept_with_the_investigation_once(store):
    from tests.store.test_store import READING, investigation

    for _ in range(2):
        store.open_investigation(investigation(), [READING], [record(0.001), record(0.002)])
    assert [found["arm"] for found in store.records("kl-1")] == ["trigger", "history", "history"]
