"""Runners of this machine: a queue, and one thread for each runner that takes from it."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from bot.demo.actions.expressions import ExpressionError, interpolate
from bot.demo.actions.inputs import typed_inputs
from bot.demo.actions.job import JobRun, Limits, Stop
from bot.demo.actions.joblog import JobLog
from bot.demo.actions.model import Workflow
from bot.demo.actions.values import Value
from bot.demo.actions.workflow import UnsupportedWorkflow, parse_workflow
from bot.demo.executor import JobEvents, JobResult, JobSpec, Runner

_log = logging.getLogger(__name__)

DEFAULT_RUNNER: Final = Runner(1, "cpu-local-0", ("self-hosted", "kl-cpu"))


@dataclass(frozen=True, slots=True)
class _Queued:
    spec: JobSpec
    workflow: Workflow | None
    labels: frozenset[str] = frozenset()
    """Lower case; a runner must have all of them."""
    problem: str | None = None
    """Why it can run nowhere."""
    stop: Stop = field(default_factory=Stop)

    def needs_no_runner(self) -> bool:
        return self.problem is not None or self.stop.cancelled.is_set()


class LocalExecutor:
    """A JobExecutor. First in, first out; a job whose labels no runner has waits, as on GitHub.

    Each job works in a new folder below `workdir`, which is removed when the job ends.
    """

    def __init__(
        self, workdir: Path, runners: Sequence[Runner] = (DEFAULT_RUNNER,), limits: Limits | None = None
    ) -> None:
        self._workdir, self._runners, self._limits = workdir, tuple(runners), limits or Limits()
        self._changed = threading.Condition()
        self._queue: list[_Queued] = []
        self._running: list[_Queued] = []
        self._closed = False
        self._threads: list[threading.Thread] = []

    def start(self, events: JobEvents) -> None:
        self._workdir.mkdir(parents=True, exist_ok=True)
        for runner in self._runners:
            run = partial(self._run, events, runner)
            self._thread(runner.name, partial(self._work, partial(_fits, runner), run))
        # Jobs that no runner may take are ended by a thread of their own: runners can be busy for hours.
        self._thread("clerk", partial(self._work, _Queued.needs_no_runner, partial(_dismiss, events)))

    def submit(self, spec: JobSpec) -> None:
        job = _prepare(spec)
        with self._changed:
            if self._closed:
                job.stop.cancelled.set()
            self._queue.append(job)
            self._changed.notify_all()

    def cancel(self, job_id: int) -> None:
        with self._changed:
            for job in [*self._queue, *self._running]:
                if job.spec.job_id == job_id:
                    job.stop.cancelled.set()
            self._changed.notify_all()

    def close(self) -> None:
        """Ends what runs and what waits, as cancelled; nothing a job started is left."""
        with self._changed:
            self._closed = True
            for job in [*self._queue, *self._running]:
                job.stop.at_once.set()
                job.stop.cancelled.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _thread(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"executor {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, accepts: Callable[[_Queued], bool], do: Callable[[_Queued], None]) -> None:
        while (job := self._next(accepts)) is not None:
            try:
                do(job)
            except Exception:  # a thread that dies would stop its runner for good
                _log.exception("job %d of run %d", job.spec.job_id, job.spec.run_id)
            finally:
                with self._changed:
                    self._running.remove(job)

    def _next(self, accepts: Callable[[_Queued], bool]) -> _Queued | None:
        """The first job in the queue that is accepted; waits for one. None when closed."""
        with self._changed:
            while True:
                job = next(filter(accepts, self._queue), None)
                if job is not None:
                    self._queue.remove(job)
                    self._running.append(job)
                    return job
                if self._closed:
                    return None
                self._changed.wait()

    def _run(self, events: JobEvents, runner: Runner, job: _Queued) -> None:
        assert job.workflow is not None  # noqa: S101 (needs_no_runner)
        result = JobResult("failure")
        try:
            events.on_started(job.spec.job_id, runner)
            folder = Path(tempfile.mkdtemp(prefix=f"{job.spec.job_id}-", dir=self._workdir))
            result = JobRun(job.spec, job.workflow, runner, events, folder, job.stop, self._limits).run()
        finally:
            events.on_finished(job.spec.job_id, result)


def _fits(runner: Runner, job: _Queued) -> bool:
    return not job.needs_no_runner() and job.labels <= {label.lower() for label in runner.labels}


def _dismiss(events: JobEvents, job: _Queued) -> None:
    """Ends a job without a runner: cancelled while it waited, or one that cannot run at all."""
    if job.problem is not None:
        JobLog(partial(events.on_log, job.spec.job_id)).error(job.problem)
    events.on_finished(job.spec.job_id, JobResult("failure" if job.problem is not None else "cancelled"))


def _prepare(spec: JobSpec) -> _Queued:
    try:
        workflow = parse_workflow(spec.workflow_text)
        known: dict[str, Value] = {
            "inputs": typed_inputs(workflow, spec.inputs),
            "github": {"event_name": spec.event_name, "ref": spec.ref, "repository": spec.repository},
        }
        labels = frozenset(interpolate(label, known).lower() for label in workflow.job.runs_on)
    except (UnsupportedWorkflow, ExpressionError) as error:
        return _Queued(spec, None, problem=f"{spec.workflow_path}: {error}")
    return _Queued(spec, workflow, labels)
