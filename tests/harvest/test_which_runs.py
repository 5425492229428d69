"""Whose runs count as the history of the default branch, and how often each thing is asked for."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.demo.github.state import LogFault
from bot.github.runs import past_runs
from bot.triage.harvest.steps import jobs_to_read, read_job
from tests.harvest.past import TEST, ago, block, green, log


def values(store) -> list[float]:
    found = store.history("acme/tinyserve", TEST, "kl-cpu", ago(seconds=-5), since=ago(days=60))
    return [round(record["value"], 6) for record in found]


def test_red_and_green_runs_of_the_default_branch_are_read_oldest_first(past, harvest, store):
    past.run(green(0.001), at=ago(days=9), event="schedule")
    past.run(green(0.002), at=ago(days=3), conclusion="failure")
    past.run(green(0.0015), at=ago(days=1), conclusion="cancelled")
    tally = harvest()
    assert (tally.runs, tally.jobs, tally.readings) == (3, 3, 3)
    assert values(store) == [0.001, 0.002, 0.0015]


@pytest.mark.parametrize(
    "run",
    [
        {"event": "pull_request", "fork": "stranger-c/tinyserve"},
        {"event": "push", "fork": "stranger-c/tinyserve"},
        {"event": "pull_request"},
        {"event": "issue_comment"},
        {"branch": "feature"},
        {"event": "workflow_dispatch"},
        {"workflow": "kl-rerun.yml"},
        {"conclusion": "skipped"},
        {"conclusion": "action_required"},
        {"conclusion": "startup_failure"},
        {"at": ago(days=40)},
    ],
)
def test_what_is_not_the_default_branchs_own_past_is_not_read(past, harvest, store, run):
    past.run(green(), **run)
    assert (harvest().runs, past.logs_asked(), values(store)) == (0, [], [])


def test_a_dispatched_run_on_main_may_check_out_a_forks_commit_and_is_not_read(past, harvest, store):
    checkout = ["##[group]Run actions/checkout@v4", "with:", f"  ref: {'f' * 40}", "##[endgroup]"]
    past.run(log(*checkout, *block(0.009)), event="workflow_dispatch", workflow="rerun-test.yml")
    assert (harvest().runs, past.logs_asked(), values(store)) == (0, [], [])


def test_a_run_that_is_under_way_is_left_for_later(past, harvest, store):
    run = past.run(green())
    run.status, run.conclusion = "in_progress", None
    assert harvest().runs == 0
    run.status, run.conclusion = "completed", "success"
    assert harvest().readings == 1


def test_every_attempt_counts_and_a_job_that_was_carried_over_once(past, harvest, store):
    run = past.run()
    passed = past.job(run, green(0.001))
    failed = past.job(run, green(0.002), conclusion="failure")
    past.rerun(run)
    again = past.job(run, green(0.0015))
    assert harvest().readings == 3
    assert sorted(past.logs_asked()) == [passed.id, failed.id, again.id]
    assert sorted(values(store)) == [0.001, 0.0015, 0.002]


@pytest.mark.parametrize("later_first", [False, True])
def test_a_job_that_was_carried_over_under_another_id_counts_once(past, harvest, source, store, later_first):
    run = past.run()
    past.job(run, green(0.001), name="kl (1)")
    past.job(run, green(0.002), name="kl (2)", conclusion="failure")
    past.rerun(run, new_ids=True)
    past.job(run, green(0.0015), name="kl (2)")
    if later_first:  # as when the bot is told of the second attempt alone
        found = source()
        for job in jobs_to_read(found, run.id, 2)[0]:
            read_job(found, job)
    harvest()
    assert sorted(values(store)) == [0.001, 0.0015, 0.002]
    assert len(past.logs_asked()) == 3


def test_two_jobs_of_one_name_in_one_attempt_are_two(past, harvest, store):
    run = past.run(at=ago(days=2))
    past.job(run, green(0.001), runner="runner-1")
    past.job(run, green(0.002), runner="runner-2").started_at = run.created_at
    harvest()
    assert values(store) == [0.001, 0.002]


def test_a_copy_is_read_where_the_log_of_the_first_job_is_gone(past, harvest, store):
    run = past.run()
    first = past.job(run, green(0.001))
    past.rerun(run, new_ids=True)
    first.log_fault = LogFault(status=410)
    harvest()
    assert values(store) == [0.001]


def test_an_attempt_that_comes_later_is_read_and_the_first_is_not_asked_for_again(past, harvest):
    run = past.run()
    past.job(run, green(0.002), conclusion="failure")
    harvest()
    past.rerun(run)
    again = past.job(run, green(0.001))
    past.asked.clear()
    tally = harvest()
    assert (tally.readings, past.logs_asked()) == (1, [again.id])
    assert f"/actions/runs/{run.id}/attempts/1/jobs" not in past.asked


def test_a_second_harvest_asks_for_no_log_and_no_jobs(past, harvest, store):
    past.run(green(0.001), green(0.002))
    past.run(log("nothing"), at=ago(days=3))
    assert harvest().jobs == 3
    past.asked.clear()
    tally = harvest()
    assert (tally.runs, tally.known, tally.jobs) == (2, 2, 0)
    assert set(past.asked) == {"/actions/runs"}
    assert len(past.asked) == 2  # one list for each event
    assert values(store) == [0.001, 0.002]


@pytest.mark.parametrize(("seconds_apart", "requests"), [(0, 4), (1, 3)])
def test_more_runs_than_a_page_are_found_once_each(past, source, seconds_apart, requests):
    first = ago(days=1)
    for number in range(130):
        past.run(at=first - timedelta(seconds=number * seconds_apart))
    found = [run.run_id for run in past_runs(source().repo, "main", ago(days=2), ago(), lambda read: read())]
    assert len(found) == len(set(found)) == 130
    assert past.asked == ["/actions/runs"] * requests


def test_jobs_that_hold_no_kl_test_are_not_read(past, harvest, pack):
    run = past.run()
    past.job(run, green(), name="lint")
    kept = past.job(run, green(), name="kl-suite (1)")
    past.job(run, "", name="kl-suite (2)", conclusion="skipped")
    assert harvest(pack=pack.model_copy(update={"jobs": ("kl-suite*",)})).jobs == 1
    assert past.logs_asked() == [kept.id]


def test_only_first_tries_of_the_packs_own_tests_are_taken_with_where_they_come_from(past, harvest, store):
    own = log(*block(0.001, 0.003), *block(0.002, method="test_prefill"))
    foreign = log(*block(0.002), path="test/registered/other/test_b.py")
    run = past.run(own, foreign, runner="h100-host-3-gpu-4-7")
    tally = harvest()
    assert (tally.jobs, tally.readings, store.harvested("Acme/TinyServe").tests) == (2, 2, 2)
    (record,) = store.history("acme/tinyserve", TEST, "kl-cpu", ago(seconds=-5), since=ago(days=60))
    job = min(past.logs_asked())
    assert record["arm"] == "history" and record["attempt"] == 1
    assert record["per_prompt"] == [0.001, 0.003] and record["threshold"] == 0.003
    assert record["commit"] == run.head_sha and record["host"] == "h100-host-3-gpu-4-7"
    assert record["source"] == f"job {job}"
    assert record["launch"] == f"job {job} test_a.TestA"


def test_gpu_types_are_not_pooled(past, harvest, store):
    past.run(green(0.001), labels=("self-hosted", "KL-CPU"))
    past.run(green(0.002), labels=("self-hosted", "kl-cpu-large"))
    past.run(green(0.0015), labels=("kl_cpu",))
    harvest()
    assert values(store) == [0.001]
