"""GitHub's JSON for workflows, runs, jobs and artifacts."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from bot.demo.github.shapes_pulls import pulls_at
from bot.demo.github.shapes_repo import REPOSITORY_ID, minimal_repository, stamp, user, when
from bot.demo.github.state import Artifact, Job, Json, Run, Workflow
from bot.demo.github.world import World, node_id, quoted

ARTIFACT_LIFE = timedelta(days=90)


def workflow(w: World, found: Workflow) -> Json:
    file = found.path.rpartition("/")[2]
    return {
        "id": found.id,
        "node_id": node_id("Workflow", found.id),
        "name": found.name,
        "path": found.path,
        "state": "active",
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "url": f"{w.repo_url}/actions/workflows/{found.id}",
        "html_url": f"{w.repo_html}/blob/{quoted(w.config.default_branch)}/{quoted(found.path)}",
        "badge_url": f"{w.repo_html}/workflows/{quoted(file)}/badge.svg",
    }


def run(w: World, found: Run) -> Json:
    url = f"{w.repo_url}/actions/runs/{found.id}"
    return {
        "id": found.id,
        "name": found.workflow.name,
        "node_id": node_id("WorkflowRun", found.id),
        "head_branch": found.head_branch,
        "head_sha": found.head_sha,
        "path": found.workflow.path,
        "display_title": found.display_title,
        "run_number": found.number,
        "run_attempt": found.attempt,
        "event": found.event,
        "status": found.status,
        "conclusion": found.conclusion,
        "workflow_id": found.workflow.id,
        "check_suite_id": found.suite_id,
        "check_suite_node_id": node_id("CheckSuite", found.suite_id),
        "url": url,
        "html_url": f"{w.repo_html}/actions/runs/{found.id}",
        "pull_requests": pulls_at(w, found.head_sha) if found.event != "workflow_dispatch" else [],
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "run_started_at": stamp(found.created_at),
        "actor": user(w, found.actor),
        "triggering_actor": user(w, found.actor),
        "referenced_workflows": [],
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": f"{w.repo_url}/check-suites/{found.suite_id}",
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": None,
        "workflow_url": f"{w.repo_url}/actions/workflows/{found.workflow.id}",
        "head_commit": simple_commit(w, found.head_sha),
        "repository": minimal_repository(w),
        "head_repository": _head_repository(w, found.head_repository),
    }


def _head_repository(w: World, fork: str | None) -> Json:
    if fork is None:
        return {**minimal_repository(w), "fork": False}
    owner = user(w, w.state.user(fork.partition("/")[0]))
    return {**minimal_repository(w), "full_name": fork, "owner": owner, "fork": True}


def simple_commit(w: World, sha: str) -> Json:
    """The form inside runs and pushes."""
    commit = w.git.commit(sha)
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": stamp(commit.committer.date),
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
    }


def job(w: World, found: Job, attempt: int | None = None) -> Json:
    """As GitHub does, a job that was carried over shows the attempt it is listed in."""
    runner = found.runner
    return {
        "id": found.id,
        "run_id": found.run.id,
        "workflow_name": found.run.workflow.name,
        "head_branch": found.run.head_branch,
        "head_sha": found.run.head_sha,
        "run_url": f"{w.repo_url}/actions/runs/{found.run.id}",
        "run_attempt": attempt or max(found.attempts),
        "node_id": node_id("CheckRun", found.id),
        "url": f"{w.repo_url}/actions/jobs/{found.id}",
        "html_url": f"{w.repo_html}/actions/runs/{found.run.id}/job/{found.id}",
        "status": found.status,
        "conclusion": found.conclusion,
        "created_at": stamp(found.created_at),
        "started_at": stamp(found.started_at or found.created_at),
        "completed_at": when(found.completed_at),
        "name": found.name,
        "steps": [
            {
                "name": step.name,
                "status": step.status,
                "conclusion": step.conclusion,
                "number": step.number,
                "started_at": when(step.started_at),
                "completed_at": when(step.completed_at),
            }
            for step in found.steps
        ],
        "check_run_url": f"{w.repo_url}/check-runs/{found.id}",
        "labels": list(found.labels),
        "runner_id": runner.id if runner else None,
        "runner_name": runner.name if runner else None,
        "runner_group_id": 1 if runner else None,
        "runner_group_name": "Default" if runner else None,
    }


def artifact(w: World, found: Artifact) -> Json:
    url = f"{w.repo_url}/actions/artifacts/{found.id}"
    return {
        "id": found.id,
        "node_id": node_id("Artifact", found.id),
        "name": found.name,
        "size_in_bytes": len(found.data),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": False,
        "digest": f"sha256:{hashlib.sha256(found.data).hexdigest()}",
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "expires_at": stamp(found.created_at + ARTIFACT_LIFE),
        "workflow_run": {
            "id": found.run.id,
            "repository_id": REPOSITORY_ID,
            "head_repository_id": REPOSITORY_ID,
            "head_branch": found.run.head_branch,
            "head_sha": found.run.head_sha,
        },
    }
