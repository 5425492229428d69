"""Starting workflow runs: by dispatch, by a pull request, by a push."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.demo.actions import (
    ExpressionError,
    UnsupportedWorkflow,
    interpolate,
    parse_workflow,
    resolve_inputs,
    typed_inputs,
    validate_inputs,
)
from bot.demo.executor import JobSpec
from bot.demo.github import events
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.shapes_repo import ACTIONS_APP
from bot.demo.github.state import CheckRun, Job, Json, Pull, Run, User, Workflow, now
from bot.demo.github.workflows import WorkflowFile, known, register, started_by
from bot.demo.github.world import World

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why a run starts. `sha` is what is checked out; `head_sha` what the run is filed under."""

    event: str
    payload: Mapping[str, object]
    actor: User
    ref: str
    sha: str
    head_branch: str
    head_sha: str
    title: str
    inputs: Mapping[str, str] = field(default_factory=dict)


def find_workflow(w: World, name: str) -> Workflow:
    """By id or by file name. Raises 404."""
    for workflow in known(w).values():
        if name in (str(workflow.id), workflow.path.rpartition("/")[2]):
            return workflow
    raise not_found()


def dispatch(w: World, workflow: Workflow, ref: str, inputs: Json, actor: User) -> Run:
    """Raises ApiError 404 or 422 as GitHub does."""
    if w.git.read(w.default_sha, workflow.path) is None:
        raise not_found()
    branch = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    names = {f"refs/heads/{branch}", f"refs/tags/{branch}"} & w.git.refs("refs/").keys()
    if not names:
        raise ApiError(422, f"No ref found for: {ref}")
    full = min(names)  # a branch before a tag
    sha = w.git.peel(w.git.refs(full)[full])
    data = w.git.read(sha, workflow.path) if sha else None
    if sha is None or data is None:
        raise ApiError(422, f"Workflow does not exist or does not have a workflow_dispatch trigger on {ref}")
    text = data.decode("utf-8", "replace")
    try:
        parsed = parse_workflow(text)
    except UnsupportedWorkflow as error:
        raise ApiError(422, f"failed to parse workflow: {error}") from None
    problem = validate_inputs(parsed, inputs)
    if problem is not None:
        raise ApiError(422, problem)
    given = resolve_inputs(parsed, inputs)
    payload = {"inputs": given, "ref": full, "workflow": workflow.path}
    occasion = Occasion(
        "workflow_dispatch", payload, actor, full, sha, branch, sha, parsed.name or workflow.path, given
    )
    try:
        return start(w, WorkflowFile(workflow.path, text, parsed), occasion)
    except ExpressionError as error:
        raise ApiError(422, f"failed to parse workflow: {error}") from None


def start_for_pull(w: World, action: str, pull: Pull, payload: Json, actor: User) -> None:
    """As on GitHub the trial merge is checked out, and a conflict means no run."""
    if not pull.mergeable or pull.merge_sha is None:
        log.info("pull request %d has no trial merge: its workflows are not run", pull.number)
        return
    ref = f"refs/pull/{pull.number}/merge"
    occasion = Occasion(
        "pull_request", payload, actor, ref, pull.merge_sha, pull.head_ref, pull.head_sha, pull.title
    )
    _start_all(w, pull.merge_sha, action, pull.base_ref, occasion)


def start_for_push(w: World, branch: str, sha: str, payload: Json, actor: User) -> None:
    title = w.git.commit(sha).message.partition("\n")[0]
    occasion = Occasion("push", payload, actor, f"refs/heads/{branch}", sha, branch, sha, title)
    _start_all(w, sha, None, branch, occasion)


def _start_all(w: World, commit: str, action: str | None, branch: str, occasion: Occasion) -> None:
    for file in started_by(w, commit, occasion.event, action, branch):
        try:
            start(w, file, occasion)
        except ExpressionError as error:
            log.warning("%s is not run: %s", file.path, error)


def start(w: World, file: WorkflowFile, why: Occasion) -> Run:
    """Makes the run and its job, tells the world, hands the job to the executor. Raises ExpressionError."""
    workflow = register(w, file.path, file.text)
    run_id = w.state.next_id("run")
    number = 1 + sum(run.workflow is workflow for run in w.state.runs.values())
    contexts = _contexts(w, file, why, run_id, number)
    title = interpolate(file.parsed.run_name, contexts).strip() if file.parsed.run_name else ""
    name = interpolate(file.parsed.job.name, contexts)
    labels = tuple(interpolate(label, contexts) for label in file.parsed.job.runs_on)
    run, job = add_run(w, workflow, why, title or why.title, name, labels, run_id=run_id, number=number)
    events.workflow_run(w, "requested", run)
    events.workflow_job(w, "queued", job)
    events.check(w, "created", w.state.checks[job.id], why.actor)
    w.executor.submit(
        JobSpec(
            run_id=run.id,
            run_number=run.number,
            run_attempt=run.attempt,
            job_id=job.id,
            repository=w.config.full_name,
            git_dir=w.git.dir,
            sha=why.sha,
            ref=why.ref,
            event_name=why.event,
            event=why.payload,
            workflow_path=file.path,
            workflow_text=file.text,
            inputs=why.inputs,
            run_name=run.display_title,
            actor=why.actor.login,
            server_url=w.base_url,
        )
    )
    return run


def add_run(
    w: World,
    workflow: Workflow,
    why: Occasion,
    title: str,
    job_name: str,
    labels: tuple[str, ...],
    *,
    run_id: int,
    number: int,
) -> tuple[Run, Job]:
    """Records only: a queued run with one job and that job's check run."""
    suite = w.state.suite(f"{ACTIONS_APP}/{run_id}", why.head_sha)
    moment = now()
    run = Run(
        run_id,
        number,
        workflow,
        why.event,
        title,
        why.head_branch,
        why.head_sha,
        why.actor,
        suite,
        moment,
        moment,
    )
    job = Job(w.state.next_id("check"), run, job_name, labels, moment)
    w.state.runs[run.id] = run
    w.state.jobs[job.id] = job
    w.state.checks[job.id] = CheckRun(job.id, suite, ACTIONS_APP, why.head_sha, job_name, started_at=moment)
    return run, job


def _contexts(w: World, file: WorkflowFile, why: Occasion, run_id: int, number: int) -> dict[str, Any]:
    github = {
        "event_name": why.event,
        "event": why.payload,
        "sha": why.sha,
        "ref": why.ref,
        "ref_name": why.ref.split("/", 2)[2],
        "repository": w.config.full_name,
        "actor": why.actor.login,
        "run_id": str(run_id),
        "run_number": str(number),
        "run_attempt": "1",
    }
    return {"github": github, "inputs": typed_inputs(file.parsed, why.inputs)}
