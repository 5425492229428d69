"""One job from its first step to its last, as a self-hosted runner does it."""

from __future__ import annotations

import json
import logging
import platform
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import bot
from bot.demo.actions import contexts
from bot.demo.actions.actions import StepFailed, StepInterrupted
from bot.demo.actions.contexts import FileCommandError, Place
from bot.demo.actions.expressions import Contexts, ExpressionError, Status, condition, interpolate
from bot.demo.actions.inputs import typed_inputs
from bot.demo.actions.joblog import MAX_LOG_BYTES, JobLog
from bot.demo.actions.model import Step, Workflow
from bot.demo.actions.processes import End, Processes
from bot.demo.actions.step import Interrupt, StepRunner
from bot.demo.actions.values import Value
from bot.demo.executor import JobEvents, JobResult, JobSpec, JobStep, Runner

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes. GitHub, too, gives a cancelled job five minutes for what must still run."""

    grace_s: float = 10.0
    """From SIGTERM to SIGKILL."""
    cleanup_s: float = 300.0
    """For `if: always()` steps after a cancel."""
    log_bytes: int = MAX_LOG_BYTES


@dataclass(frozen=True, slots=True)
class Stop:
    """How others end a job: `cancelled` lets `always()` steps run, `at_once` starts nothing more."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    at_once: threading.Event = field(default_factory=threading.Event)


class JobRun:
    """`folder` is empty; it is removed with everything in it at the end."""

    def __init__(
        self,
        spec: JobSpec,
        workflow: Workflow,
        runner: Runner,
        events: JobEvents,
        folder: Path,
        stop: Stop,
        limits: Limits,
    ) -> None:
        self._spec, self._workflow, self._runner, self._events = spec, workflow, runner, events
        self._folder, self._stop, self._limits = folder, stop, limits
        self._log = JobLog(lambda data: events.on_log(spec.job_id, data), limits.log_bytes)
        self._processes = Processes(f"kl-triage-{uuid.uuid4()}", limits.grace_s)
        self._deadline = time.monotonic() + workflow.job.timeout_minutes * 60
        self._cancelled_at: float | None = None
        self._failed = False
        self._inputs: Value = typed_inputs(workflow, spec.inputs)
        self._steps_context: dict[str, Value] = {}
        titles = ["Set up job", *(step.title for step in workflow.job.steps), "Complete job"]
        self._steps = [JobStep(number, title, "queued") for number, title in enumerate(titles, 1)]

    def run(self) -> JobResult:
        try:
            self._begin(0)
            self._set_up()
            self._end(0, "success")
            for index, step in enumerate(self._workflow.job.steps, 1):
                self._take(index, step)
        except (ExpressionError, OSError) as error:
            _log.warning("job %d could not be set up", self._spec.job_id, exc_info=True)
            self._failed = True
            self._log.error(f"The job could not be set up: {error}")
            self._skip_rest()
        finally:
            conclusion = str(self._standing())  # what comes later is no part of it
            self._clean_up()
        return JobResult(conclusion, tuple(self._steps))

    def _set_up(self) -> None:
        spec, job = self._spec, self._workflow.job
        self._log.line(
            f"Current runner version: 'kl-triage-{bot.__version__}'",
            f"Runner name: '{self._runner.name}'",
            "Runner group name: 'Default'",
            f"Machine name: '{platform.node()}'",
            "Secret source: None",
            "Prepare workflow directory",
        )
        place = Place.make(self._folder, spec.repository)
        self._github = contexts.github_context(spec, self._workflow, place)
        self._about_runner = contexts.runner_context(self._runner, place)
        place.event_path.write_text(json.dumps(self._github["event"]), encoding="utf-8")
        self._step_runner = StepRunner(
            spec,
            place,
            self._log,
            self._processes,
            lambda name, data, over: self._events.on_artifact(spec.job_id, name, data, overwrite=over),
            base=contexts.base_environment(place),
            fixed=contexts.variables(self._github, self._about_runner),
        )
        for declared in (self._workflow.env, job.env):
            known = self._contexts(self._step_runner.env)
            self._step_runner.env |= {name: interpolate(text, known) for name, text in declared.items()}
        name = interpolate(job.name, self._contexts(self._step_runner.env))
        self._log.line("Prepare all required actions", f"Complete job name: {name}")

    def _take(self, index: int, step: Step) -> None:
        """Asks the step's `if`, runs it, and keeps what later steps may ask for."""
        outputs: dict[str, str] = {}
        outcome = self._attempt(index, step, outputs)
        conclusion = "success" if outcome == "failure" and step.continue_on_error else outcome
        self._failed |= conclusion == "failure"
        if step.id:
            told: dict[str, Value] = {"outputs": outputs, "outcome": outcome, "conclusion": conclusion}
            self._steps_context[step.id] = told
        self._end(index, conclusion)

    def _attempt(self, index: int, step: Step, outputs: dict[str, str]) -> str:
        """The outcome: success, failure, cancelled or skipped."""
        env = dict(self._step_runner.env)
        try:
            known, status = self._contexts(env), self._standing()
            if self._out_of_time() or not condition(step.condition, known, status):
                return "skipped"
            env |= {name: interpolate(text, known) for name, text in step.env.items()}
            known = self._contexts(env)
            self._begin(index, interpolate(step.title, known))
            interrupt = self._interrupt(step, after_cancel=status is Status.CANCELLED)
            self._step_runner.perform(step, known, env, interrupt, outputs)
        except StepInterrupted as interrupted:
            if interrupted.end is End.TIMED_OUT:
                minutes = step.timeout_minutes or 0.0
                self._log.error(f"The action '{step.title}' has timed out after {minutes:g} minutes.")
                return "failure"
            self._standing()
            self._log.error("The operation was canceled.")
            return "cancelled"
        except (StepFailed, ExpressionError, FileCommandError, OSError) as error:
            self._log.error(str(error))
            return "failure"
        return "success"

    def _contexts(self, env: Mapping[str, str]) -> Contexts:
        return {
            "github": self._github,
            "inputs": self._inputs,
            "env": env,
            "runner": self._about_runner,
            "steps": self._steps_context,
            "job": {"status": str(self._standing())},
        }

    def _standing(self) -> Status:
        """Once cancelled or over its time, a job stays so; as on GitHub both end as cancelled."""
        over_time = time.monotonic() > self._deadline
        if self._cancelled_at is None and (over_time or self._stop.cancelled.is_set()):
            self._cancelled_at = time.monotonic()
            if over_time:
                minutes = self._workflow.job.timeout_minutes
                self._log.error(
                    f"The job running on runner {self._runner.name} has exceeded the maximum execution time"
                    f" of {minutes:g} minutes."
                )
        if self._cancelled_at is not None:
            return Status.CANCELLED
        return Status.FAILURE if self._failed else Status.SUCCESS

    def _out_of_time(self) -> bool:
        """Nothing more may run: shut down, or the time for cleaning up is over."""
        late = self._cancelled_at is not None and (
            time.monotonic() > self._cancelled_at + self._limits.cleanup_s
        )
        return late or self._stop.at_once.is_set()

    def _interrupt(self, step: Step, *, after_cancel: bool) -> Interrupt:
        """Asked while the step runs. One that was let start after the cancel is not ended by it again."""
        step_deadline = time.monotonic() + 60 * (step.timeout_minutes or float("inf"))

        def asked() -> End | None:
            cancelled = self._stop.cancelled.is_set() or time.monotonic() > self._deadline
            if self._out_of_time() or (cancelled and not after_cancel):
                return End.CANCELLED
            return End.TIMED_OUT if time.monotonic() > step_deadline else None

        return asked

    def _clean_up(self) -> None:
        last = len(self._steps) - 1
        self._begin(last)
        self._log.line("Post job cleanup.", "Cleaning up orphan processes")
        for process in self._processes.end_all():
            self._log.line(f"Terminate orphan process: pid {process}")
        shutil.rmtree(self._folder, onerror=_make_writable)
        self._end(last, "success")

    def _skip_rest(self) -> None:
        for index, step in enumerate(self._steps[:-1]):
            if step.status != "completed":
                self._end(index, "failure" if step.status == "in_progress" else "skipped")

    def _begin(self, index: int, name: str | None = None) -> None:
        self._change(index, name=name, status="in_progress", started_at=datetime.now(UTC))

    def _end(self, index: int, conclusion: str) -> None:
        self._change(index, status="completed", conclusion=conclusion, completed_at=datetime.now(UTC))

    def _change(self, index: int, **changes: object) -> None:
        known = {name: value for name, value in changes.items() if value is not None}
        self._steps[index] = replace(self._steps[index], **known)  # type: ignore[arg-type]
        self._events.on_steps(self._spec.job_id, tuple(self._steps))


def _make_writable(remove: Callable[[str], object], path: str, _: object) -> None:
    """Steps may leave folders without write permission; what cannot be removed even so stays."""
    try:
        Path(path).parent.chmod(0o700)
        remove(path)
    except OSError as error:
        _log.warning("left behind: %s", error)
