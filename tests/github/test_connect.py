"""The connection: a token that ends mid-work, rate limits, GitHub Enterprise, a token instead of an App."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import jsonify, request
from github import (
    BadCredentialsException,
    GithubException,
    RateLimitExceededException,
    UnknownObjectException,
)
from github.Requester import HTTPRequestsConnectionClass

from bot.demo.executor import JobResult
from bot.demo.github import DemoConfig, Server
from bot.demo.github.world import Quota
from bot.github import TokenCredentials, connect, reads, writes
from bot.github.actions import Actions
from bot.github.blobs import job_log
from bot.github.connect import AppCredentials, Installations
from bot.github.status import state_of, upsert_status
from runners.fleets.github_actions import GitHubActionsFleet
from runners.plan import PlannedLaunch, RerunPlan
from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401
from tests.demo_github.github_stage import Hand, config
from tests.openapi.watch import watch

NAME = "acme/tinyserve"
TOKENS = "POST /app/installations/51000001/access_tokens"


@pytest.fixture
def asked(stage):  # noqa: F811
    """How often each method and path was asked for."""
    counts: Counter[str] = Counter()
    stage.server.world.before.append(lambda: counts.update([f"{request.method} {request.path}"]))
    return counts


def revoke(stage):  # noqa: F811
    """As when the owner changes what the App may do: every token that is out is refused from here on."""
    stage.server.world.tokens._installations.clear()


def answer(stage, status: int, times: int, **headers: str):  # noqa: F811
    """The next requests but those for tokens are answered so, without an effect."""
    left = [times]

    def before():
        if "access_tokens" in request.path or not left[0]:
            return None
        left[0] -= 1
        return jsonify(message="Bad credentials" if status == 401 else "No"), status, headers

    stage.server.world.before.append(before)


# The token of an installation


def test_a_token_revoked_mid_work_is_renewed_for_reads_and_writes(stage, repo, asked):  # noqa: F811
    stage.open_pull()
    assert reads.pull(repo, 1) is not None
    revoke(stage)
    assert reads.pull(repo, 1) is not None
    revoke(stage)
    repo.get_issue(1).create_comment("once")
    assert [comment.body for comment in stage.repo("dev-a").get_issue(1).get_comments()] == ["once"]
    assert asked[TOKENS] == 3


def test_a_token_revoked_before_a_log_is_fetched_is_renewed(stage, repo):  # noqa: F811
    stage.open_pull()
    spec = stage.hand.specs[-1]
    stage.hand.events.on_log(spec.job_id, b"measured\n")
    stage.hand.events.on_finished(spec.job_id, JobResult("success"))
    revoke(stage)
    with job_log(repo, spec.job_id) as pieces:
        assert b"measured" in b"".join(pieces)


def test_it_is_renewed_once_and_no_more(stage, repo, asked):  # noqa: F811
    assert reads.branch_head(repo, "main") and asked[TOKENS] == 1
    answer(stage, 401, times=9)
    with pytest.raises(BadCredentialsException):
        reads.facts(repo)
    assert asked[f"GET /repos/{NAME}"] == 2 and asked[TOKENS] == 2


def test_eight_threads_ask_for_one_token_and_live_through_its_end(stage, installations, asked):  # noqa: F811
    def read(_number: int) -> str:
        return reads.facts(installations.repository(51_000_001, NAME)).default_branch

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(read, range(16))) == {"main"}
        assert asked[TOKENS] == 1
        revoke(stage)
        assert set(threads.map(read, range(16))) == {"main"}
    assert 2 <= asked[TOKENS] <= 9


def test_threads_that_share_a_client_send_each_write_once(stage, repo, monkeypatch):  # noqa: F811
    """PyGithub lays a request down on the connection, then sends it: here all lay theirs down before any is
    sent."""
    stage.open_pull()
    reads.facts(repo)
    laid_down, request_of = threading.Barrier(4), HTTPRequestsConnectionClass.request

    def lay_down(connection, verb, *args):
        request_of(connection, verb, *args)
        if verb == "POST":
            laid_down.wait(timeout=10)

    monkeypatch.setattr(HTTPRequestsConnectionClass, "request", lay_down)
    texts = ["a", "b", "c", "d"]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda text: repo.get_issue(1).create_comment(text).body, texts)) == texts
    assert sorted(found.body for found in repo.get_issue(1).get_comments()) == texts


def test_a_token_that_is_about_to_end_is_not_used(stage, repo, asked):  # noqa: F811
    world = stage.server.world
    world.config = world.config.model_copy(update={"installation_token_ttl_s": 60.0})
    world.tokens._config = world.config
    reads.file_at(repo, "README.md", "main")
    assert asked[TOKENS] == 1
    reads.file_at(repo, "README.md", "main")
    assert asked[TOKENS] == 2


def test_both_kinds_of_client_share_a_token(installations, stage, asked):  # noqa: F811
    reads.facts(installations.repository(51_000_001, NAME))
    reads.facts(installations.repository(51_000_001, NAME, retries=False))
    assert asked[TOKENS] == 1


def test_an_installation_is_found_by_its_repository(installations, stage):  # noqa: F811
    assert reads.facts(installations.repository(0, NAME)).default_branch == "main"
    with pytest.raises(UnknownObjectException):
        installations.repository(0, "acme/other")


# Trouble


def test_a_read_goes_through_a_short_outage_and_a_write_does_not(stage, repo, asked):  # noqa: F811
    stage.open_pull()
    answer(stage, 502, times=1)
    assert reads.pull(repo, 1) is not None
    answer(stage, 502, times=1)
    with pytest.raises(GithubException, match="502"):
        repo.get_issue(1).create_comment("never twice")
    assert asked[f"POST /repos/{NAME}/issues/1/comments"] == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [(403, {"Retry-After": "30"}), (429, {"Retry-After": "30"}), (429, {}), (403, {})],
)
def test_a_limit_is_raised_at_once_not_slept_away(stage, repo, asked, status, headers):  # noqa: F811
    answer(stage, status, times=1, **headers)
    with pytest.raises(GithubException, match=str(status)):
        reads.facts(repo)
    assert asked[f"GET /repos/{NAME}"] == 1


def test_a_spent_quota_is_raised_at_once(stage, repo):  # noqa: F811
    repo.get_pulls().totalCount  # noqa: B018  # the token is there before the quota is spent
    stage.server.world.quota = Quota(10, 0, int(time.time()) + 3600)
    with pytest.raises(RateLimitExceededException):
        reads.facts(repo)
    stage.server.world.quota = None


def test_the_version_of_the_api_is_sent(stage, repo):  # noqa: F811
    seen: list[str | None] = []
    stage.server.world.before.append(lambda: seen.append(request.headers.get("X-GitHub-Api-Version")))
    reads.facts(repo)
    assert set(seen) == {"2022-11-28"}


# Dispatches


@pytest.fixture
def dispatching(repo):
    return GitHubActionsFleet(_WithoutPlan(repo), ref="main", runner="kl-cpu", sleep=lambda _s: None)


class _WithoutPlan(Actions):
    """The seeded workflow declares no `plan` input."""

    def dispatch(self, workflow, ref, inputs):
        return super().dispatch(workflow, ref, {k: v for k, v in inputs.items() if k != "plan"})


def rerun_plan() -> RerunPlan:
    return RerunPlan(
        request="kl-abc-r0",
        test="test/test_kl.py::TestKL.test_hit",
        commits={"head": "a" * 40, "base": "b" * 40},
        launches=(PlannedLaunch("head", 1), PlannedLaunch("base", 1)),
    )


@pytest.mark.parametrize("status", [400, 422])
def test_an_older_server_is_asked_without_run_details(stage, dispatching, asked, status):  # noqa: F811
    def older():
        if request.path.endswith("/dispatches") and "return_run_details" in request.get_json():
            return jsonify(message='Invalid request.\n\n"return_run_details" is not a permitted key.'), status
        return None

    stage.server.world.before.append(older)
    ticket = dispatching.dispatch(rerun_plan())
    runs = stage.repo().get_workflow_runs(event="workflow_dispatch")
    assert [(str(run.id), run.display_title) for run in runs] == [(ticket.handle, "KL rerun kl-abc-r0")]


def test_a_dispatch_under_a_limit_is_neither_refused_nor_called_sent(stage, dispatching):  # noqa: F811
    def limited():
        if request.path.endswith("/dispatches"):
            return jsonify(message="You have exceeded a secondary rate limit."), 403
        return None

    stage.server.world.before.append(limited)
    with pytest.raises(RateLimitExceededException):
        dispatching.dispatch(rerun_plan())
    assert list(stage.repo().get_workflow_runs(event="workflow_dispatch")) == []


# GitHub Enterprise Server


@pytest.fixture
def enterprise(tmp_path, seeded, pem, receiver):  # noqa: F811
    """The stand-in with its REST API below /api/v3, and nothing of it at the root."""
    git_dir = tmp_path / "ghes.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(seeded), str(git_dir)], check=True)
    violations: list[str] = []
    settings: DemoConfig = config(pem[1], receiver, api_prefix="/api/v3")
    hand = Hand()
    with Server(settings, git_dir, hand, prepare=lambda app: violations.append(watch(app))) as server:
        app = Installations(AppCredentials(1, pem[0], f"{server.url}/api/v3"), seconds_between_writes=None)
        yield server, hand, app
    assert violations == [[]]


def test_the_whole_round_below_a_path(enterprise):
    server, hand, app = enterprise
    repo = app.repository(0, NAME)
    assert app.login() == "kl-triage[bot]"
    facts = reads.facts(repo)
    assert (facts.default_branch, facts.html_url) == ("main", f"{server.url}/{NAME}")
    found = repo.create_pull("main", "feature", title="t", body="b")
    written = writes.upsert_comment(repo, found.number, marker="m", author=app.login(), body="m")
    assert written.url == f"{server.url}/{NAME}/pull/1#issuecomment-{written.id}"
    assert not writes.upsert_comment(repo, found.number, marker="m", author=app.login(), body="m").changed
    check = writes.upsert_check(
        repo, found.head.sha, name="kl-triage", external_id="kl-1", details_url=None, title="t", summary="s"
    )
    assert check.url == f"{server.url}/{NAME}/runs/{check.id}"
    assert writes.commit_evidence(repo, "kl-triage/evidence", "a", {"b": "c"}, "m")
    assert reads.file_at(repo, "README.md", "main")
    actions = Actions(repo)
    run_id = actions.dispatch("kl-rerun.yml", "main", {"request_id": "kl-1", "runner": "kl-cpu"})
    hand.events.on_artifact(hand.specs[-1].job_id, "kl-readings-kl-1", b"PK zip")
    hand.events.on_log(hand.specs[-1].job_id, b"measured\n")
    assert actions.artifact(run_id, "kl-readings-kl-1") == b"PK zip"
    assert actions.find_run("kl-rerun.yml", "kl-1").url.startswith(f"{server.url}/{NAME}/")


def test_lists_of_several_pages_below_a_path(enterprise):
    _, _, app = enterprise
    repo = app.repository(0, NAME)
    number = repo.create_pull("main", "feature", title="t", body="b").number
    for place in range(3):
        repo.get_issue(number).create_comment(f"comment {place}")
    repo.requester.per_page = 1
    assert len(list(repo.get_issue(number).get_comments())) == 3


# A token instead of an App


@pytest.fixture
def token(stage):  # noqa: F811
    return connect(TokenCredentials("token-of-dev-a", stage.url), seconds_between_writes=None)


def test_a_token_speaks_as_its_owner(token, stage, asked):  # noqa: F811
    assert (token.login(), token.login(), token.can_check) == ("dev-a", "dev-a", False)
    assert asked["GET /user"] == 1
    stage.open_pull()
    written = writes.upsert_comment(token.repository(0, NAME), 1, marker="m", author=token.login(), body="m")
    assert written.changed


def status(repo, sha: str, **changed: str | None):
    told = {"context": "kl-triage", "state": "pending", "description": "3 of 12", "target_url": None}
    return upsert_status(repo, sha, **(told | changed))


def test_a_status_is_written_when_it_says_something_else(token, stage):  # noqa: F811
    sha = stage.open_pull().head.sha
    repo = token.repository(0, NAME)
    url = f"{stage.url}/{NAME}/pull/1"
    assert status(repo, sha).changed
    assert not status(repo, sha).changed
    assert status(repo, sha, context="kl-triage: other").changed
    assert status(repo, sha, state="failure", description="Regression", target_url=url).changed
    assert not status(repo, sha, state="failure", description="Regression", target_url=url).changed
    listed = repo.requester.requestJsonAndCheck("GET", f"/repos/{NAME}/commits/{sha}/statuses")[1]
    assert [(one["context"], one["state"], one["target_url"]) for one in listed] == [
        ("kl-triage", "failure", url),
        ("kl-triage: other", "pending", None),
        ("kl-triage", "pending", None),
    ]


def test_an_old_status_that_is_wanted_again_is_written_again(token, stage):  # noqa: F811
    sha = stage.open_pull().head.sha
    repo = token.repository(0, NAME)
    assert [status(repo, sha, state=state).changed for state in ("pending", "error", "pending")] == [True] * 3


def test_a_description_is_cut_to_what_github_takes(token, stage):  # noqa: F811
    sha = stage.open_pull().head.sha
    repo = token.repository(0, NAME)
    assert status(repo, sha, description="x" * 200).changed
    assert not status(repo, sha, description="x" * 200).changed


@pytest.mark.parametrize(
    ("conclusion", "state"),
    [(None, "pending"), ("success", "success"), ("failure", "failure"), ("neutral", "error"), ("x", "error")],
)
def test_no_answer_is_never_green(conclusion, state):
    assert state_of(conclusion) == state


def test_secrets_are_not_in_the_representation():
    assert "token-of-dev-a" not in repr(TokenCredentials("token-of-dev-a"))
