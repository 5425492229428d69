from __future__ import annotations

import hashlib
import hmac
import io
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
import requests
from github import GithubException

from bot.demo.executor import ArtifactRefused, JobResult, JobStep, Runner
from tests.demo_github.github_stage import SECRET, commit, git

RUNNER = Runner(1, "cpu-local-0", ("self-hosted", "kl-cpu"))
URL = "/repos/acme/tinyserve/actions"


def dispatched(stage, request_id="r-1"):
    workflow = stage.repo().get_workflow("kl-rerun.yml")
    return workflow.create_dispatch("main", {"request_id": request_id}, throw=True, return_run_details=True)


def run_to_the_end(stage, conclusion="success"):
    """Plays the executor for the last job: starts it, logs, leaves an artifact, ends it."""
    job_id, events = stage.hand.specs[-1].job_id, stage.hand.events
    events.on_started(job_id, RUNNER)
    events.on_log(job_id, "\ufeff2026-12-01T08:00:00.0000000Z measured\n".encode())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readings-head.jsonl", '{"value": 0.002}\n')
    artifact_id = events.on_artifact(job_id, "kl-readings-r-1", buffer.getvalue())
    step = JobStep(1, "Run echo measured", "completed", conclusion, datetime.now(UTC), datetime.now(UTC))
    events.on_finished(job_id, JobResult(conclusion, (step,)))
    return job_id, artifact_id


def refusal(call, *arguments, **options) -> tuple[int, str]:
    with pytest.raises(GithubException) as caught:
        call(*arguments, **options)
    return caught.value.status, caught.value.data["message"]


def test_a_dispatch_makes_a_queued_run_and_hands_the_job_over(stage):
    run = dispatched(stage)
    (spec,) = stage.hand.specs
    assert (spec.run_id, spec.event_name, spec.ref) == (run.id, "workflow_dispatch", "refs/heads/main")
    assert spec.sha == git(stage.git_dir, "rev-parse", "main")
    assert spec.inputs == {"request_id": "r-1", "runner": "kl-cpu"}
    assert (spec.run_name, spec.actor) == ("KL rerun r-1", "kl-triage[bot]")
    found = stage.repo().get_workflow_run(run.id)
    assert (found.status, found.display_title, found.event) == ("queued", "KL rerun r-1", "workflow_dispatch")
    (job,) = found.jobs()
    assert (job.status, job.raw_data["labels"], job.runner_name) == (
        "queued",
        ["self-hosted", "kl-cpu"],
        None,
    )
    assert stage.hooks() == ["workflow_run.requested", "workflow_job.queued", "check_run.created"]


def test_a_run_goes_its_way_and_says_so(stage):
    run_id = dispatched(stage).id
    job_id, _ = run_to_the_end(stage)
    run = stage.repo().get_workflow_run(run_id)
    assert (run.status, run.conclusion) == ("completed", "success")
    job = stage.repo().get_workflow_job(job_id)
    assert (job.conclusion, job.runner_name, [step.name for step in job.steps]) == (
        "success", "cpu-local-0", ["Run echo measured"],
    )  # fmt: skip
    attempts = requests.get(f"{stage.url}{URL}/runs/{run_id}/attempts/1/jobs", timeout=5)
    assert [item["id"] for item in attempts.json()["jobs"]] == [job_id]
    assert stage.hooks() == [
        "workflow_run.requested", "workflow_job.queued", "check_run.created",
        "workflow_job.in_progress", "workflow_run.in_progress",
        "workflow_job.completed", "check_run.completed", "workflow_run.completed",
    ]  # fmt: skip
    done = stage.receiver.received[5].payload["workflow_job"]
    assert (done["id"], done["run_id"], done["conclusion"]) == (job_id, run_id, "success")


def test_without_run_details_a_dispatch_is_204(stage):
    answer = requests.post(
        f"{stage.url}{URL}/workflows/kl-rerun.yml/dispatches",
        json={"ref": "main", "inputs": {"request_id": "r-1"}},
        headers={"Authorization": "token token-of-dev-a"},
        timeout=5,
    )
    assert (answer.status_code, answer.content) == (204, b"")
    assert stage.hand.specs[0].actor == "dev-a"


@pytest.mark.parametrize(
    ("workflow", "ref", "inputs", "expected"),
    [
        ("kl-rerun.yml", "main", {}, (422, "Required input 'request_id' not provided")),
        ("kl-rerun.yml", "main", {"request_id": "r", "x": "1"}, (422, 'Unexpected inputs provided: ["x"]')),
        ("kl-rerun.yml", "no-such", {"request_id": "r"}, (422, "No ref found for: no-such")),
        ("ci.yml", "main", {}, (422, "Workflow does not have 'workflow_dispatch' trigger")),
        (
            "kl-rerun.yml",
            "main",
            {"request_id": "r", "runner": "mine"},
            (422, "Provided value 'mine' for input 'runner' not in the list of allowed values"),
        ),
    ],
)
def test_a_dispatch_that_is_not_right_makes_no_run(stage, workflow, ref, inputs, expected):
    found = stage.repo().get_workflow(workflow)
    assert refusal(found.create_dispatch, ref, inputs, throw=True) == expected
    assert stage.hand.specs == []


def test_an_unknown_workflow_is_404_and_a_reader_may_not_dispatch(stage):
    assert refusal(lambda: stage.repo().get_workflow("none.yml").name)[0] == 404
    reader = stage.repo("stranger-c").get_workflow("kl-rerun.yml")
    assert refusal(reader.create_dispatch, "main", {"request_id": "r"}, throw=True)[0] == 403


def test_workflows_are_those_of_the_default_branch(stage):
    repo = stage.repo()
    names = {item.name: item.path for item in repo.get_workflows()}
    assert names == {"CI": ".github/workflows/ci.yml", "KL rerun": ".github/workflows/kl-rerun.yml"}
    by_name = repo.get_workflow("kl-rerun.yml")
    assert repo.get_workflow(by_name.id).path == by_name.path


def test_a_pull_request_starts_its_workflow_on_the_trial_merge(stage):
    pull = stage.open_pull()
    (spec,) = stage.hand.specs
    assert (spec.event_name, spec.ref) == ("pull_request", "refs/pull/1/merge")
    assert spec.sha == git(stage.git_dir, "rev-parse", "refs/pull/1/merge")
    assert spec.event["pull_request"]["head"]["sha"] == pull.head.sha
    run = stage.repo().get_workflow_run(spec.run_id)
    assert (run.head_sha, run.head_branch, run.display_title) == (pull.head.sha, "feature", "Faster")
    assert [p.number for p in run.pull_requests] == [1]
    commit(stage.git_dir, "feature", {"x": "x\n"}, "Without workflows", pull.head.sha)
    requests.post(f"{stage.url}/_demo/refresh", timeout=5)
    assert len(stage.hand.specs) == 1
    checks = stage.repo().get_commit(pull.head.sha).get_check_runs()
    assert [(check.name, check.app.slug) for check in checks] == [("kl", "github-actions")]


def test_runs_are_found_by_their_filters(stage):
    stage.open_pull()
    run = dispatched(stage)
    run_to_the_end(stage)
    repo = stage.repo()
    assert [found.id for found in repo.get_workflow_runs(event="workflow_dispatch")] == [run.id]
    assert [found.id for found in repo.get_workflow_runs(status="success")] == [run.id]
    assert [found.id for found in repo.get_workflow_runs(status="queued")] == [stage.hand.specs[0].run_id]
    assert [
        found.id for found in repo.get_workflow_runs(branch="main", head_sha=stage.hand.specs[1].sha)
    ] == [run.id]
    assert [found.id for found in repo.get_workflow("kl-rerun.yml").get_runs()] == [run.id]
    assert len(list(repo.get_workflow_runs())) == 2
    hour = timedelta(hours=1)
    now = datetime.now(UTC)
    day = now.strftime("%Y-%m-%d")
    for created, count in (
        (f">={(now - hour).isoformat(timespec='seconds')}", 2),
        (f">{(now + hour).strftime('%Y-%m-%dT%H:%M:%SZ')}", 0),
        (f"{day}..*", 2),
        ("2020-01-01..2020-01-02", 0),
    ):
        assert len(list(repo.get_workflow_runs(created=created))) == count
    assert refusal(lambda: list(repo.get_workflow_runs(created="yesterday")))[0] == 422


def test_a_log_is_fetched_from_a_signed_link_without_the_token(stage):
    dispatched(stage)
    job = stage.repo().get_workflow_job(stage.hand.specs[0].job_id)
    with pytest.raises(GithubException):
        job.logs_url()
    run_to_the_end(stage)
    link = job.logs_url()
    assert requests.get(link, timeout=5).content.endswith(b"Z measured\n")
    assert requests.get(link, headers={"Authorization": "token x"}, timeout=5).status_code == 400
    assert requests.get(link[:-2] + "zz", timeout=5).status_code == 404
    stage.server.world.tokens._config = stage.server.world.config.model_copy(update={"blob_ttl_s": -1})
    assert requests.get(link, timeout=5).status_code == 410


def test_an_artifact_is_fetched_from_a_signed_link(stage):
    run_id = dispatched(stage).id
    _, artifact_id = run_to_the_end(stage)
    run = stage.repo().get_workflow_run(run_id)
    (artifact,) = run.get_artifacts()
    assert (artifact.id, artifact.name, artifact.expired) == (artifact_id, "kl-readings-r-1", False)
    assert stage.repo().get_artifact(artifact_id).name == artifact.name
    assert [found.id for found in stage.repo().get_artifacts(name="kl-readings-r-1")] == [artifact_id]
    assert list(stage.repo().get_artifacts(name="other")) == []
    headers, _ = stage.bot.requester.requestBlobAndCheck("GET", artifact.archive_download_url)
    data = requests.get(headers["location"], timeout=5).content
    assert zipfile.ZipFile(io.BytesIO(data)).read("readings-head.jsonl") == b'{"value": 0.002}\n'
    assert artifact.raw_data["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_an_artifact_of_the_same_name_needs_overwrite(stage):
    dispatched(stage)
    job_id, events = stage.hand.specs[0].job_id, stage.hand.events
    events.on_started(job_id, RUNNER)
    first = events.on_artifact(job_id, "a", b"1")
    with pytest.raises(ArtifactRefused, match="already exists"):
        events.on_artifact(job_id, "a", b"2")
    assert events.on_artifact(job_id, "a", b"2", overwrite=True) != first


def test_cancel_asks_the_executor_and_the_run_ends_when_the_job_has(stage):
    run = stage.repo().get_workflow_run(dispatched(stage).id)
    assert run.cancel()
    job_id = stage.hand.specs[0].job_id
    assert stage.hand.cancelled == [job_id]
    stage.hand.events.on_finished(job_id, JobResult("cancelled"))
    run = stage.repo().get_workflow_run(run.id)
    assert (run.status, run.conclusion) == ("completed", "cancelled")
    assert not run.cancel()
    stage.hand.events.on_finished(job_id, JobResult("success"))
    assert stage.repo().get_workflow_run(run.id).conclusion == "cancelled"


def test_a_webhook_is_signed_over_its_bytes(stage):
    stage.repo("dev-a").get_issue(stage.open_pull().number).create_comment("naïve 🎉")
    stage.hooks()
    received = stage.receiver.received[-1]
    digest = hmac.new(SECRET.encode(), received.body, hashlib.sha256).hexdigest()
    assert received.headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert "🎉".encode() in received.body
    assert len(received.headers["X-GitHub-Delivery"]) == 36
    assert received.headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert received.payload["installation"]["id"] == stage.app.get_repo_installation("acme", "tinyserve").id


def test_deliveries_are_recorded_and_not_sent_again_by_themselves(stage):
    stage.receiver.status = 500
    stage.open_pull()
    stage.hooks()
    sent = requests.get(f"{stage.url}/_demo/deliveries", timeout=5).json()
    assert [item["status"] for item in sent] == [500] * len(sent)
    assert len(stage.receiver.received) == len(sent)
    stage.receiver.status = 202
    requests.post(f"{stage.url}/_demo/redeliver", json={"guid": sent[0]["guid"]}, timeout=5)
    stage.hooks()
    first, *_, last = stage.receiver.received
    assert last.headers["X-GitHub-Delivery"] == first.headers["X-GitHub-Delivery"]
    assert last.body == first.body
    assert requests.post(f"{stage.url}/_demo/redeliver", json={"guid": "x"}, timeout=5).status_code == 404


def test_a_receiver_that_is_gone_does_not_stop_anything(stage):
    hook = {"url": "http://127.0.0.1:9/webhook", "secret": "s"}
    assert requests.post(f"{stage.url}/_demo/hook", json=hook, timeout=5).status_code == 200
    stage.open_pull()
    assert stage.hooks() == []
    sent = requests.get(f"{stage.url}/_demo/deliveries", timeout=5).json()
    assert {item["error"] for item in sent} == {"ConnectionError"}
    assert requests.post(f"{stage.url}/_demo/hook", json={"url": "x"}, timeout=5).status_code == 422


def test_a_recorded_job_is_there_with_its_log_and_its_webhooks(stage):
    pull = stage.open_pull()
    before = len(stage.hooks())
    answer = requests.post(
        f"{stage.url}/_demo/recorded-job",
        json={
            "workflow": "ci.yml",
            "name": "kl (1)",
            "head_sha": pull.head.sha,
            "pull": pull.number,
            "log": "avg_kl_div=0.0034 > threshold=0.003\n",
            "conclusion": "failure",
        },
        timeout=5,
    )
    assert answer.status_code == 201
    job = stage.repo().get_workflow_job(answer.json()["job_id"])
    assert (job.name, job.conclusion, job.head_sha) == ("kl (1)", "failure", pull.head.sha)
    assert requests.get(job.logs_url(), timeout=5).text == "avg_kl_div=0.0034 > threshold=0.003\n"
    run = stage.repo().get_workflow_run(answer.json()["run_id"])
    assert (run.name, run.conclusion, run.event) == ("CI", "failure", "pull_request")
    assert [p.number for p in run.pull_requests] == [pull.number]
    assert stage.hooks()[before:] == [
        "check_run.created", "workflow_job.completed", "check_run.completed", "workflow_run.completed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"head_sha": "0" * 40}, "head_sha"),
        ({"workflow": "../x"}, "workflow"),
        ({"pull": 9}, "pull"),
        ({"log": 5}, "log"),
    ],
)
def test_a_recorded_job_that_cannot_be_is_refused(stage, change, problem):
    body = {"workflow": "ci.yml", "head_sha": git(stage.git_dir, "rev-parse", "main"), "log": "x"}
    answer = requests.post(f"{stage.url}/_demo/recorded-job", json={**body, **change}, timeout=5)
    assert answer.status_code == 422
    assert problem in answer.json()["message"]
