"""What the executor tells the stand-in: a job started, said something, left an artifact, ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bot.demo.executor import ArtifactRefused, JobResult, JobStep, Runner
from bot.demo.github import events
from bot.demo.github.state import Artifact, Job, Run, now
from bot.demo.github.world import World

log = logging.getLogger(__name__)
MAX_LOG = 128 << 20
MAX_ARTIFACT = 256 << 20


class Callbacks:
    """The `JobEvents` of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def on_started(self, job_id: int, runner: Runner) -> None:
        w = self._world
        with w.lock:
            job = self._running(job_id)
            if job is None:
                return
            job.status, job.started_at, job.runner = "in_progress", now(), runner
            check = w.state.checks[job.id]
            check.status, check.started_at = job.status, job.started_at
            events.workflow_job(w, "in_progress", job)
            if job.run.status == "queued":
                job.run.status, job.run.updated_at = "in_progress", now()
                events.workflow_run(w, "in_progress", job.run)

    def on_steps(self, job_id: int, steps: Sequence[JobStep]) -> None:
        with self._world.lock:
            job = self._running(job_id)
            if job is not None:
                job.steps = tuple(steps)

    def on_log(self, job_id: int, data: bytes) -> None:
        with self._world.lock:
            job = self._running(job_id)
            if job is not None and len(job.log) < MAX_LOG:
                job.log += data

    def on_artifact(self, job_id: int, name: str, zip_bytes: bytes, *, overwrite: bool = False) -> int:
        w = self._world
        if len(zip_bytes) > MAX_ARTIFACT:
            raise ArtifactRefused(f"The artifact is larger than {MAX_ARTIFACT >> 20} MiB")
        with w.lock:
            job = self._running(job_id)
            if job is None:
                raise ArtifactRefused("The job has ended")
            old = [a for a in w.state.artifacts.values() if a.run is job.run and a.name == name]
            if old and not overwrite:
                raise ArtifactRefused(
                    f"An artifact with the name '{name}' already exists on the workflow run"
                )
            for artifact in old:
                del w.state.artifacts[artifact.id]
            made = Artifact(w.state.next_id("artifact"), name, job.run, bytes(zip_bytes), now())
            w.state.artifacts[made.id] = made
            return made.id

    def on_finished(self, job_id: int, result: JobResult) -> None:
        with self._world.lock:
            job = self._running(job_id)
            if job is not None:
                job.steps = tuple(result.steps) or job.steps
                finish(self._world, job, result.conclusion)

    def _running(self, job_id: int) -> Job | None:
        job = self._world.state.jobs.get(job_id)
        if job is None or job.status == "completed":
            log.warning("the executor spoke of job %d, which is unknown or has ended", job_id)
            return None
        return job


def finish(w: World, job: Job, conclusion: str) -> None:
    """Ends a job, its check run and, with its last job, its run; sends the webhooks."""
    moment = now()
    job.status, job.conclusion, job.completed_at = "completed", conclusion, moment
    check = w.state.checks[job.id]
    check.status, check.conclusion, check.completed_at = "completed", conclusion, moment
    events.workflow_job(w, "completed", job)
    events.check(w, "completed", check, job.run.actor)
    jobs = w.state.jobs_of(job.run)
    if all(other.status == "completed" for other in jobs):
        _finish_run(w, job.run, [other.conclusion for other in jobs])


def _finish_run(w: World, run: Run, conclusions: list[str | None]) -> None:
    worst = next((c for c in ("failure", "timed_out", "cancelled") if c in conclusions), None)
    run.status, run.updated_at = "completed", now()
    run.conclusion = worst or ("skipped" if set(conclusions) == {"skipped"} else "success")
    events.workflow_run(w, "completed", run)
