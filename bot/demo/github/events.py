"""Webhook payloads in GitHub's shapes, and the one place that sends them."""

from __future__ import annotations

from bot.demo.github.diff import diff
from bot.demo.github.git import ZERO, Commit, GitError
from bot.demo.github.shapes_actions import job as job_shape
from bot.demo.github.shapes_actions import run as run_shape
from bot.demo.github.shapes_actions import simple_commit, workflow
from bot.demo.github.shapes_pulls import check_run, comment, issue, pull_full
from bot.demo.github.shapes_repo import BORN, INSTALLATION_ID, repository, user
from bot.demo.github.state import CheckRun, Comment, Job, Json, Pull, Run, User
from bot.demo.github.world import World, node_id, quoted

MAX_PUSH_COMMITS = 20


def emit(w: World, event: str, action: str | None, sender: User, parts: Json) -> Json:
    """Sends a webhook and returns its payload, which is also what a workflow sees as github.event."""
    payload = {
        **({"action": action} if action else {}),
        **parts,
        "repository": repository(w),
        "organization": _organization(w),
        "sender": user(w, sender),
        "installation": {"id": INSTALLATION_ID, "node_id": node_id("Integration", INSTALLATION_ID)},
    }
    w.hooks.emit(event, payload)
    return payload


def _organization(w: World) -> Json:
    login = w.owner.login
    url = f"{w.api_url}/orgs/{login}"
    return {
        "login": login,
        "id": w.owner.id,
        "node_id": node_id("Organization", w.owner.id),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": f"{w.base_url}/avatars/{w.owner.id}",
        "description": "",
    }


def workflow_job(w: World, action: str, job: Job) -> None:
    emit(w, "workflow_job", action, job.run.actor, {"workflow_job": job_shape(w, job)})


def workflow_run(w: World, action: str, run: Run) -> None:
    parts = {"workflow_run": run_shape(w, run), "workflow": workflow(w, run.workflow)}
    emit(w, "workflow_run", action, run.actor, parts)


def check(w: World, action: str, found: CheckRun, sender: User, more: Json | None = None) -> None:
    emit(w, "check_run", action, sender, {"check_run": _check_with_suite(w, found), **(more or {})})


def _check_with_suite(w: World, found: CheckRun) -> Json:
    return {**check_run(w, found), "check_suite": suite_shape(w, found)}


def suite_shape(w: World, found: CheckRun) -> Json:
    """The suite of a check run as webhooks show it."""
    shape = check_run(w, found)
    branch = next((p.head_ref for p in w.state.pulls.values() if p.head_sha == found.head_sha), None)
    return {
        "id": found.suite_id,
        "node_id": node_id("CheckSuite", found.suite_id),
        "head_branch": branch,
        "head_sha": found.head_sha,
        "status": found.status,
        "conclusion": found.conclusion,
        "url": f"{w.repo_url}/check-suites/{found.suite_id}",
        "before": None,
        "after": found.head_sha,
        "pull_requests": shape["pull_requests"],
        "app": shape["app"],
        "created_at": BORN.isoformat(),
        "updated_at": BORN.isoformat(),
    }


def issue_comment(w: World, action: str, found: Comment, sender: User, changes: Json | None = None) -> None:
    parts: Json = {"issue": issue(w, w.state.pulls[found.issue]), "comment": comment(w, found)}
    if changes is not None:
        parts["changes"] = changes
    emit(w, "issue_comment", action, sender, parts)


def pull_request(w: World, action: str, pull: Pull, sender: User, more: Json | None = None) -> Json:
    parts = {"number": pull.number, "pull_request": pull_full(w, pull), **(more or {})}
    return emit(w, "pull_request", action, sender, parts)


def push(w: World, ref: str, before: str, after: str, sender: User) -> Json:
    commits = _pushed(w, before, after)
    email = f"{sender.login}@users.noreply.github.com"
    parts: Json = {
        "ref": ref,
        "before": before,
        "after": after,
        "base_ref": None,
        "created": before == ZERO,
        "deleted": after == ZERO,
        "forced": ZERO not in (before, after) and not w.git.is_ancestor(before, after),
        "compare": f"{w.repo_html}/compare/{before[:12]}...{after[:12]}",
        "commits": [_push_commit(w, commit) for commit in commits],
        "head_commit": None if after == ZERO else _push_commit(w, w.git.commit(after)),
        "pusher": {"name": sender.login, "email": email},
    }
    return emit(w, "push", None, sender, parts)


def _pushed(w: World, before: str, after: str) -> list[Commit]:
    """Oldest first, as on GitHub; a new branch shows what the default branch does not have."""
    if after == ZERO:
        return []
    base = w.default_sha if before == ZERO else before
    try:
        found = w.git.log(f"--max-count={MAX_PUSH_COMMITS}", after, f"^{base}")
    except GitError:
        return []
    return found[::-1]


def _push_commit(w: World, commit: Commit) -> Json:
    files = diff(w.git, commit.parents[0] if commit.parents else None, commit.sha)
    names = {"added": [], "removed": [], "modified": []}  # type: dict[str, list[str]]
    for file in files:
        names[file.status if file.status in names else "modified"].append(file.path)
    return {
        **simple_commit(w, commit.sha),
        **names,
        "distinct": True,
        "url": f"{w.repo_html}/commit/{quoted(commit.sha)}",
    }
