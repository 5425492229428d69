"""Records the red job that the noise story begins with: `python -m bot.demo.record`.

Healthy code goes red only when two tries in a row exceed the bound. This runs the CI job of the demo's
project again and again on healthy code, exactly as the stand-in would, until one fails, and keeps its log.
"""

from __future__ import annotations

import platform
import queue
import re
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from bot.demo.actions import LocalExecutor
from bot.demo.executor import ArtifactRefused, JobResult, JobSpec, JobStep, Runner
from bot.demo.project import NAME, OWNER, RUNNER, Project
from bot.demo.scenario import SCENARIOS

MAX_JOBS: Final = 5000
LOG: Final = "files/red-job-of-healthy-code.log"


class Recorder:
    """The server's side of the executor: keeps the log of the job that runs."""

    def __init__(self) -> None:
        self.log = b""
        self.results: queue.Queue[JobResult] = queue.Queue()

    def on_started(self, job_id: int, runner: Runner) -> None:
        self.log = b""

    def on_steps(self, job_id: int, steps: Sequence[JobStep]) -> None:
        """Steps are in the log too."""

    def on_log(self, job_id: int, data: bytes) -> None:
        self.log += data

    def on_artifact(self, job_id: int, name: str, zip_bytes: bytes, *, overwrite: bool = False) -> int:
        raise ArtifactRefused("the recorded job keeps no artifacts")

    def on_finished(self, job_id: int, result: JobResult) -> None:
        self.results.put(result)


def record(root: Path) -> int:
    """Runs jobs until one is red; returns how many that took. Raises RuntimeError after MAX_JOBS."""
    project = Project.create(root)
    sha = project.push_change(SCENARIOS["noise"])
    recorder = Recorder()
    executor = LocalExecutor(root / "work", [Runner(1, "cpu-local-0", ("self-hosted", RUNNER))])
    executor.start(recorder)
    try:
        for number in range(1, MAX_JOBS + 1):
            executor.submit(_job(project, sha, number))
            if recorder.results.get().conclusion == "failure":
                target = Path(str(resources.files("bot.demo"))) / LOG
                target.write_bytes(anonymous(recorder.log, root))
                return number
            print(f"\rjob {number}: green", end="", file=sys.stderr, flush=True)
    finally:
        executor.close()
    raise RuntimeError(f"{MAX_JOBS} jobs in a row were green")


def anonymous(log: bytes, root: Path) -> bytes:
    """The log without names of this machine: its folders, its Python, its host."""
    workspace = re.compile(re.escape(str(root / "work").encode()) + rb"/[^/\s]+/_work")
    log = workspace.sub(b"/actions-runner/_work", log)
    log = log.replace(str(root).encode(), b"/actions-runner/demo")
    log = log.replace(sysconfig.get_path("stdlib").encode(), b"/usr/lib/python3")
    return log.replace(f"Machine name: '{platform.node()}'".encode(), b"Machine name: 'example-host'")


def _job(project: Project, sha: str, number: int) -> JobSpec:
    path = ".github/workflows/pr-test.yml"
    return JobSpec(
        run_id=number,
        run_number=number,
        run_attempt=1,
        job_id=number,
        repository=f"{OWNER}/{NAME}",
        git_dir=project.bare,
        sha=sha,
        ref="refs/pull/1/merge",
        event_name="pull_request",
        event={},
        workflow_path=path,
        workflow_text=(project.clone / path).read_text(),
        inputs={},
        run_name="PR test",
        actor="dev-a",
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="kl-triage-record-") as folder:
        print(f"\nred after {record(Path(folder))} jobs", file=sys.stderr)
