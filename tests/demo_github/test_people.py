"""What people do in the browser: pull requests of forks, re-runs, buttons of checks, installing the App."""

from __future__ import annotations

import requests

from tests.demo_github.github_stage import commit, git


def control(stage, name, **fields):
    answer = requests.post(f"{stage.url}/_demo/{name}", json=fields, timeout=5)
    assert answer.ok, answer.text
    return answer.json()


def forked(stage):
    main = git(stage.git_dir, "rev-parse", "main")
    sha = commit(stage.git_dir, "scratch", {"README.md": "theirs\n"}, "Theirs", main)
    git(stage.git_dir, "update-ref", "-d", "refs/heads/scratch")
    return sha, control(stage, "fork-pull", user="stranger-c", branch="main", sha=sha)["number"]


def test_a_forks_pull_request_is_found_by_its_owner_and_branch_alone(stage):
    sha, number = forked(stage)
    repo = stage.repo()
    found = repo.get_pull(number)
    assert (found.head.repo.full_name, found.head.repo.fork, found.head.sha) == (
        "stranger-c/tinyserve", True, sha,
    )  # fmt: skip
    assert list(repo.get_commit(sha).get_pulls()) == []
    assert [pull.number for pull in repo.get_pulls(head="stranger-c:main")] == [number]
    assert list(repo.get_pulls(head="acme:main")) == []


def test_a_forks_job_names_the_fork_and_no_pull_request(stage):
    sha, number = forked(stage)
    made = control(stage, "recorded-job", workflow="ci.yml", head_sha=sha, log="red", pull=number)
    run = stage.repo().get_workflow_run(made["run_id"])
    assert (run.head_repository.full_name, run.head_repository.owner.login, run.head_branch) == (
        "stranger-c/tinyserve", "stranger-c", "main",
    )  # fmt: skip
    assert run.pull_requests == []


def test_a_push_to_a_fork_moves_its_pull_request_and_no_branch_of_ours(stage):
    sha, number = forked(stage)
    main = git(stage.git_dir, "rev-parse", "main")
    newer = commit(stage.git_dir, "scratch", {"README.md": "theirs again\n"}, "More", sha)
    control(stage, "fork-push", number=number, sha=newer)
    assert stage.repo().get_pull(number).head.sha == newer
    assert git(stage.git_dir, "rev-parse", "main") == main
    assert "pull_request.synchronize" in stage.hooks()


def test_a_re_run_carries_over_what_passed(stage):
    sha = git(stage.git_dir, "rev-parse", "feature")
    stage.open_pull()
    made = control(stage, "recorded-job", workflow="ci.yml", head_sha=sha, log="red")
    again = control(stage, "rerun", run_id=made["run_id"], conclusion="success", log="green")
    run = stage.repo().get_workflow_run(made["run_id"])
    assert (again["attempt"], run.run_attempt, run.conclusion) == (2, 2, "success")
    assert [job.id for job in run.jobs()] == again["job_ids"]
    url = f"{stage.url}/repos/acme/tinyserve/actions/runs/{run.id}/attempts/1/jobs"
    assert [job["id"] for job in requests.get(url, timeout=5).json()["jobs"]] == [made["job_id"]]


def test_the_buttons_of_a_check_arrive_as_three_events(stage):
    sha = git(stage.git_dir, "rev-parse", "feature")
    check = stage.repo().create_check_run("kl-triage", sha, status="in_progress", external_id="kl-1")
    for more in ({}, {"action": "rerun-kl"}, {"suite": True}):
        control(stage, "rerequest", check_id=check.id, user="dev-a", **more)
    assert stage.hooks()[-3:] == [
        "check_run.rerequested", "check_run.requested_action", "check_suite.rerequested",
    ]  # fmt: skip
    button = stage.receiver.received[-2].payload
    assert (button["requested_action"], button["check_run"]["external_id"], button["sender"]["login"]) == (
        {"identifier": "rerun-kl"}, "kl-1", "dev-a",
    )  # fmt: skip


def test_installing_names_the_repository(stage):
    control(stage, "installation", action="created")
    control(stage, "installation", action="suspend")
    control(stage, "installation", action="removed", event="installation_repositories")
    assert stage.hooks()[-3:] == [
        "installation.created", "installation.suspend", "installation_repositories.removed",
    ]  # fmt: skip
    created, _, removed = (received.payload for received in stage.receiver.received[-3:])
    assert [item["full_name"] for item in created["repositories"]] == ["acme/tinyserve"]
    assert [item["full_name"] for item in removed["repositories_removed"]] == ["acme/tinyserve"]
