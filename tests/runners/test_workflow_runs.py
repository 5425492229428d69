"""kl-rerun.yml run step by step on this machine: a plan goes in, the readings of both commits come out."""

from __future__ import annotations

import sys
import threading
import zipfile
from pathlib import Path

import pytest

import bot
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

    def start(plan, package: str = sys.executable) -> tuple[Record, LocalExecutor]:
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
                workflow_text=kl_rerun_yml(["kl-cpu"], package),
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


def wheel_of_ours(folder: Path) -> Path:
    """What the harness imports, as a wheel; no build tool is needed for that."""
    root = Path(bot.__file__).parents[1]
    path = folder / f"kl_triage-{bot.__version__}-py3-none-any.whl"
    info = f"kl_triage-{bot.__version__}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in [
            root / "bot/__init__.py",
            *(root / "bot/verdict").glob("*.py"),
            *(root / "runners").rglob("*"),
        ]:
            if file.is_file() and "reference" not in file.parts:
                wheel.write(file, file.relative_to(root).as_posix())
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: kl-triage\nVersion: {bot.__version__}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def test_a_wheel_is_installed_beside_the_project_and_measures_without_its_dependencies(
    project, job, helpers, tmp_path
):
    head = project.commit("""
    def test_hit(self):
        check(0.002)
        assert "/kl-triage/bin" not in sys.executable, "the tests run with our interpreter"
    """)
    plan = helpers.plan({"head": head})
    record, _ = job(plan, str(wheel_of_ours(tmp_path)))
    assert record.ended.wait(90)
    log = record.log.decode()
    assert record.result is not None and record.result.conclusion == "success", log
    readings = read_artifact(record.artifacts["kl-readings-req-1"], plan)
    assert not isinstance(readings, Refusal)
    assert [r.status for r in readings] == ["ok"]


def test_an_interpreter_without_kl_triage_is_said(project, job, helpers, tmp_path):
    plan = helpers.plan({"head": project.commit("def test_hit(self): check(0.002)")})
    record, _ = job(plan, str(tmp_path / "bin" / "python3"))
    assert record.ended.wait(30)
    assert record.result is not None and record.result.conclusion == "failure"
    assert "does not give kl-triage: write the file anew" in record.log.decode()


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
