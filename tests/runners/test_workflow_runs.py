"""kl-rerun.yml run step by step on this machine: a plan goes in, the readings of both commits come out."""

from __future__ import annotations

import threading

import pytest

from bot.demo.actions import LocalExecutor
from bot.demo.executor import JobResult, JobSpec, Runner
from bot.verdict.answer import Refusal
from runners.fleets import read_artifact
from runners.progress import repeats_seen
from runners.workflow import kl_rerun_yml


class Record:
    """What a server would keep of one job."""

    def __init__(self) -> None:
        self.log = b""
        self.artifacts: dict[str, bytes] = {}
        self.result: JobResult | None = None
        self.ended = threading.Event()

    def on_started(self, job_id, runner) -> None: ...

    def on_steps(self, job_id, steps) -> None: ...

    def on_log(self, job_id: int, data: bytes) -> None:
        self.log += data

    def on_artifact(self, job_id: int, name: str, zip_bytes: bytes, *, overwrite: bool = False) -> int:
        self.artifacts[name] = zip_bytes
        return 1

    def on_finished(self, job_id: int, result: JobResult) -> None:
        self.result = result
        self.ended.set()


@pytest.fixture
def job(project, tmp_path):
    """Starts the workflow with a plan on a runner of its own: (record, executor)."""
    executor = LocalExecutor(tmp_path / "work", [Runner(1, "cpu-local-0", ("self-hosted", "kl-cpu"))])
    record = Record()
    executor.start(record)

    def start(plan) -> tuple[Record, LocalExecutor]:
        bare = tmp_path / "engine.git"
        project.git("clone", "--quiet", "--bare", str(project.path), str(bare))
        executor.submit(
            JobSpec(
                run_id=1,
                run_number=1,
                run_attempt=1,
                job_id=1,
                repository="acme/engine",
                git_dir=bare,
                sha=project.git("rev-parse", "main"),
                ref="refs/heads/main",
                event_name="workflow_dispatch",
                event={},
                workflow_path=".github/workflows/kl-rerun.yml",
                workflow_text=kl_rerun_yml(["kl-cpu"]),
                inputs={"request_id": plan.request, "plan": plan.to_json(), "runner": "kl-cpu"},
                run_name=f"KL rerun {plan.request}",
                actor="kl-triage[bot]",
            )
        )
        return record, executor

    yield start
    executor.close()


def test_the_readings_of_a_dispatched_plan_come_back(project, job, helpers):
    base = project.commit("def test_hit(self): check(0.002)")
    head = project.commit("def test_hit(self): check(0.004)")
    plan = helpers.plan({"head": head, "base": base}, "head base base head", repeats=2)
    record, _ = job(plan)
    assert record.ended.wait(60)
    log = record.log.decode()
    assert record.result is not None and record.result.conclusion == "success", log
    assert repeats_seen(log) == 8
    readings = read_artifact(record.artifacts["kl-readings-req-1"], plan)
    assert not isinstance(readings, Refusal)
    assert [(r.arm, r.value, r.host) for r in readings] == [
        *[("head", 0.004, "cpu-local-0")] * 4,
        *[("base", 0.002, "cpu-local-0")] * 4,
    ]


def test_a_cancelled_job_still_uploads_what_it_has(project, job, helpers):
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        if self.calls == 2: time.sleep(60)
        check(0.002)
    """)
    plan = helpers.plan({"head": head}, repeats=2)
    record, executor = job(plan)
    helpers.until(lambda: repeats_seen(record.log.decode()) == 1, 30)
    executor.cancel(1)
    assert record.ended.wait(30)
    assert record.result is not None and record.result.conclusion == "cancelled"
    readings = read_artifact(record.artifacts["kl-readings-req-1"], plan)
    assert not isinstance(readings, Refusal)
    assert [r.status for r in readings] == ["ok", "cancelled"]


def test_a_plan_that_must_not_run_fails_the_job_and_says_why(project, job, helpers):
    head = project.commit("def test_hit(self): check(0.002)")
    plan = helpers.plan({"head": head})

    class Tampered:
        request = plan.request

        def to_json(self) -> str:
            return plan.to_json().replace(head, "main")

    record, _ = job(Tampered())
    assert record.ended.wait(30)
    assert record.result is not None and record.result.conclusion == "failure"
    assert "commits.head: must be a full 40-digit SHA" in record.log.decode()
