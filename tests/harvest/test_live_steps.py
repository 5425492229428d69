"""The steps of the durable harvest: what they answer, and when they ask to be asked again."""

from __future__ import annotations

import time

import pytest
from flask import jsonify, request

from bot.demo.github.state import LogFault
from bot.demo.github.world import Quota
from bot.github.patience import RateLimited
from bot.github.runs import attempt_jobs
from bot.triage.harvest import live
from bot.triage.harvest.steps import JobState, read_job
from tests.demo_github.github_stage import commit
from tests.harvest.past import ago, green
from tests.harvest.test_use import FILES, svc  # noqa: F401


@pytest.fixture
def event(stage, past):
    """An ended run of main with one KL job, in a repository that is set up."""
    commit(stage.git_dir, "main", FILES, "Set kl-triage up")
    run = past.run(green())
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    return {"installation": installation, "repo": "acme/tinyserve", "run_id": run.id, "attempt": 1}


def test_jobs_are_read_and_the_run_is_closed(svc, event, store, source):  # noqa: F811
    reader = source().reader
    found = live.jobs_to_read(svc, event)
    (job,) = found["jobs"]
    assert live.read_job(svc, event, found["config"], job) == 1
    assert not store.is_run_done("acme/tinyserve", event["run_id"], 1, reader)
    live.close_run(svc, event, found)
    assert store.is_run_done("acme/tinyserve", event["run_id"], 1, reader)
    assert live.jobs_to_read(svc, event)["jobs"] == []


def test_a_run_whose_jobs_are_not_shown_is_left_to_the_next_harvest(past, svc, event, harvest):  # noqa: F811
    def hide():
        return (jsonify(message="Not Found"), 404) if "/attempts/" in request.path else None

    past.world.before.append(hide)
    assert live.jobs_to_read(svc, event) == {}
    past.world.before.remove(hide)
    assert harvest().readings == 1


@pytest.mark.parametrize(
    ("config", "read"),
    [
        ("extends: reference\nmode: off\n", False),
        ("extends: [\n", False),
        (None, False),
        ("extends: reference\nmode: observe\n", True),
        ("extends: reference\nmode: propose\n", True),
    ],
)
def test_every_mode_but_off_keeps_history(stage, svc, event, config, read):  # noqa: F811
    files = {**FILES, ".github/kl-triage.yml": config or ""}
    if config is None:
        del files[".github/kl-triage.yml"]
    commit(stage.git_dir, "main", files, "Other settings")
    assert bool(live.jobs_to_read(svc, event).get("jobs")) is read


def test_a_spent_rate_limit_is_raised_with_the_time_to_sleep_until(past, svc, event, store):  # noqa: F811
    found = live.jobs_to_read(svc, event)
    past.world.quota = Quota(limit=100, remaining=0, reset=int(time.time()) + 300)
    with pytest.raises(RateLimited) as limited:
        live.read_job(svc, event, found["config"], found["jobs"][0])
    assert 290 < limited.value.until.timestamp() - time.time() <= 301
    assert store.harvested("acme/tinyserve").jobs == {}


def test_a_share_of_the_rate_limit_is_left_to_investigations(past, svc, event):  # noqa: F811
    past.world.quota = Quota(limit=100, remaining=21, reset=int(time.time()) + 300)
    past.asked.clear()
    with pytest.raises(RateLimited):
        live.jobs_to_read(svc, event)
    assert past.world.quota.remaining >= 19


def test_a_log_that_lags_behind_its_job_is_asked_for_again(past, source):
    run = past.run(at=ago(minutes=1))
    past.job(run, green(), fault=LogFault(status=404, times=2))
    found = source()
    (job,) = attempt_jobs(found.repo, run.id, 1)
    assert read_job(found, job, pauses=(0.0,)).state is JobState.UNREADABLE
    assert read_job(found, job, pauses=(0.0,)).state is JobState.STORED
