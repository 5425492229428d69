"""A fleet of canned runners: a dispatched rerun is answered at once with readings from a literal table."""

from __future__ import annotations

import io
import json
import queue
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.demo.executor import ArtifactRefused, JobEvents, JobResult, JobSpec, Runner
from runners.plan import RerunPlan
from tests.lab.values import Values, readings

RERUN = ".github/workflows/kl-rerun.yml"
RUNNER = Runner(1, "cpu-local-0", ("self-hosted", "kl-cpu"))


@dataclass(frozen=True, slots=True)
class Answer:
    """How a rerun job goes: what it measures, and how far it gets."""

    values: Values = field(default_factory=Values)
    conclusion: str = "success"
    takes: bool = True
    """False: no runner ever takes it, it stays queued until it is cancelled."""
    ends: bool = True
    """False: the runner is lost in the middle of it, it stays in progress until it is cancelled."""
    uploads: bool = True
    """False: the job leaves no artifact."""
    log: str = "measured\n"
    artifact: bytes | None = None
    """These bytes in place of the zip."""


class CannedRunner:
    """Answers reruns with `answers[round]`, the last one for every later round; other jobs pass at once.

    `specs`: every job that was handed over, in order. `on_rerun`: called with each rerun before its answer.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers or (Answer(),))
        self.specs: list[JobSpec] = []
        self.on_rerun: Callable[[JobSpec], object] = lambda _spec: None
        self._open: set[int] = set()
        self._work: queue.Queue[Callable[[], None] | None] = queue.Queue()

    def start(self, events: JobEvents) -> None:
        self._events = events
        self._thread = threading.Thread(target=self._run, name="canned-runner", daemon=True)
        self._thread.start()

    def submit(self, spec: JobSpec) -> None:
        self.specs.append(spec)
        self._work.put(lambda: self._play(spec))

    def cancel(self, job_id: int) -> None:
        self._work.put(lambda: self._cancel(job_id))

    def close(self) -> None:
        self._work.put(None)
        self._thread.join(timeout=10)

    def idle(self) -> bool:
        return not self._work.unfinished_tasks

    def plans(self) -> list[RerunPlan]:
        """The plans of all reruns that were handed over."""
        return [_plan(spec) for spec in self.specs if spec.workflow_path == RERUN]

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            finally:
                self._work.task_done()
        self._work.task_done()

    def _play(self, spec: JobSpec) -> None:
        if spec.workflow_path != RERUN:
            self._events.on_started(spec.job_id, RUNNER)
            self._events.on_finished(spec.job_id, JobResult("success"))
            return
        self.on_rerun(spec)
        plan = _plan(spec)
        number = int(plan.request.rpartition("-r")[2])
        answer = self.answers[min(number, len(self.answers) - 1)]
        self._open.add(spec.job_id)
        if not answer.takes:
            return
        self._events.on_started(spec.job_id, RUNNER)
        self._events.on_log(spec.job_id, answer.log.encode())
        if answer.uploads:
            data = answer.artifact if answer.artifact is not None else packed(plan, answer.values)
            try:
                self._events.on_artifact(spec.job_id, f"kl-readings-{plan.request}", data)
            except ArtifactRefused:
                return
        if answer.ends:
            self._finish(spec.job_id, answer.conclusion)

    def _cancel(self, job_id: int) -> None:
        self._finish(job_id, "cancelled")

    def _finish(self, job_id: int, conclusion: str) -> None:
        if job_id in self._open:
            self._open.discard(job_id)
            self._events.on_finished(job_id, JobResult(conclusion))


def packed(plan: RerunPlan, values: Values) -> bytes:
    """The zip that kl-rerun.yml uploads."""
    found = readings(plan, values)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for arm in plan.commits:
            lines = [json.dumps(reading.as_record()) for reading in found if reading.arm == arm]
            archive.writestr(f"readings-{arm}.jsonl", "".join(f"{line}\n" for line in lines))
    return buffer.getvalue()


def _plan(spec: JobSpec) -> RerunPlan:
    return RerunPlan.from_json(spec.inputs["plan"])
