"""What the stand-in shows of runs that have ended: attempts, logs that are gone or broken, a rate limit."""

from __future__ import annotations

import time

import pytest
import requests
from github import GithubException

from bot.demo.github.state import LogFault
from bot.demo.github.world import Quota
from tests.harvest.past import PastCI, green

REPO = "/repos/acme/tinyserve"


@pytest.fixture
def past(stage) -> PastCI:
    return PastCI(stage.server.world)


def get(stage, path: str) -> requests.Response:
    token = {"Authorization": "token token-of-dev-a"}
    return requests.get(stage.url + REPO + path, headers=token, timeout=5, allow_redirects=False)


def log_of(stage, job) -> str:
    link = get(stage, f"/actions/jobs/{job.id}/logs").headers["Location"]
    return requests.get(link, timeout=5).text


def attempts(stage, run, number: int) -> list[tuple[int, int]]:
    """(id, attempt) of the jobs listed under an attempt."""
    listed = get(stage, f"/actions/runs/{run.id}/attempts/{number}/jobs").json()["jobs"]
    return [(job["id"], job["run_attempt"]) for job in listed]


def test_a_job_that_passed_is_listed_under_the_next_attempt_too(stage, past):
    run = past.run()
    passed, failed = past.job(run, green()), past.job(run, green(), conclusion="failure")
    past.rerun(run)
    again = past.job(run, green())
    assert attempts(stage, run, 1) == [(passed.id, 1), (failed.id, 1)]
    assert attempts(stage, run, 2) == [(passed.id, 2), (again.id, 2)]
    assert get(stage, f"/actions/runs/{run.id}/attempts/3/jobs").status_code == 404
    latest = get(stage, f"/actions/runs/{run.id}/jobs").json()["jobs"]
    assert [job["id"] for job in latest] == [passed.id, again.id]


def test_a_run_of_a_fork_names_its_repository(stage, past):
    past.run(fork="stranger-c/tinyserve", event="pull_request")
    (run,) = get(stage, "/actions/runs?branch=main").json()["workflow_runs"]
    assert run["head_repository"]["full_name"] == "stranger-c/tinyserve"
    assert run["repository"]["full_name"] == "acme/tinyserve"


@pytest.mark.parametrize("status", [404, 410, 500])
def test_a_log_may_be_gone_for_ever_or_fail_once(stage, past, status):
    run = past.run()
    gone = past.job(run, green(), fault=LogFault(status=status))
    once = past.job(run, green(), fault=LogFault(status=status, times=1))
    for job, answers in ((gone, [status, status]), (once, [status, 302])):
        assert [get(stage, f"/actions/jobs/{job.id}/logs").status_code for _ in range(2)] == answers


def test_a_log_may_break_off_or_come_slowly(stage, past):
    run = past.run()
    cut = past.job(run, green(), fault=LogFault(cut_after=30))
    slow = past.job(run, green(), fault=LogFault(pause_s=0.05))
    with pytest.raises(requests.RequestException):
        log_of(stage, cut)
    assert log_of(stage, slow) == green()


def test_a_spent_rate_limit_is_403_until_it_is_reset(stage, past):
    past.world.quota = Quota(limit=2, remaining=1, reset=int(time.time()) + 60)
    repo = stage.people["dev-a"].get_repo("acme/tinyserve")
    assert stage.people["dev-a"].rate_limiting == (0, 2)
    with pytest.raises(GithubException, match="API rate limit exceeded") as spent:
        repo.get_branch("main")
    assert spent.value.headers["x-ratelimit-remaining"] == "0"
    past.world.quota.reset = int(time.time())
    assert repo.get_branch("main").name == "main"
