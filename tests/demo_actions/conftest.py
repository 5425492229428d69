"""A bare repository, an executor over it, and a record of what the executor says."""

from __future__ import annotations

import io
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.demo.actions import Limits, LocalExecutor
from bot.demo.executor import ArtifactRefused, JobResult, JobSpec, JobStep, Runner

WORKFLOW = ".github/workflows/rerun.yml"


@dataclass
class Record:
    """The server's side: keeps everything, in order."""

    logs: dict[int, bytes] = field(default_factory=dict)
    steps: dict[int, Sequence[JobStep]] = field(default_factory=dict)
    started: list[tuple[int, str]] = field(default_factory=list)
    finished: list[tuple[int, JobResult]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    threads: set[int] = field(default_factory=set)

    def on_started(self, job_id: int, runner: Runner) -> None:
        self.started.append((job_id, runner.name))
        self.threads.add(threading.get_ident())

    def on_steps(self, job_id: int, steps: Sequence[JobStep]) -> None:
        self.steps[job_id] = steps

    def on_log(self, job_id: int, data: bytes) -> None:
        self.logs[job_id] = self.logs.get(job_id, b"") + data

    def on_artifact(self, job_id: int, name: str, zip_bytes: bytes, *, overwrite: bool = False) -> int:
        if name in self.artifacts and not overwrite:
            raise ArtifactRefused(f"an artifact named '{name}' exists already")
        self.artifacts[name] = zip_bytes
        return 4000 + len(self.artifacts)

    def on_finished(self, job_id: int, result: JobResult) -> None:
        self.finished.append((job_id, result))
        self.threads.add(threading.get_ident())

    def lines(self, job_id: int) -> list[str]:
        """The log without time stamps and BOM."""
        text = self.logs[job_id].decode("utf-8-sig")
        return [line[29:] for line in text.splitlines()]

    def conclusions(self, job_id: int) -> dict[str, str | None]:
        return {step.name: step.conclusion for step in self.steps[job_id]}

    def unpacked(self, name: str) -> dict[str, str]:
        with zipfile.ZipFile(io.BytesIO(self.artifacts[name])) as archive:
            return {entry: archive.read(entry).decode() for entry in archive.namelist()}


@dataclass
class World:
    git_dir: Path
    first: str
    """SHA of the commit before the tip of main."""
    tip: str
    workdir: Path
    record: Record
    executor: LocalExecutor

    def submit(self, steps: str, *, job: str = "", top: str = "", id: int = 1, **spec: object) -> int:
        """A job of these steps (YAML list items), started by workflow_dispatch on main."""
        text = f"on: {{workflow_dispatch: {{inputs: {{word: {{}}, loud: {{type: boolean}}}}}}}}\n{top}\n"
        text += f"jobs:\n  kl:\n    runs-on: kl-cpu\n    {job}\n    steps:\n{indent(steps)}\n"
        return self.submit_text(text, id=id, **spec)

    def submit_text(self, text: str, *, id: int = 1, **spec: object) -> int:
        known: dict[str, object] = {
            "run_id": 100 + id,
            "run_number": id,
            "run_attempt": 1,
            "job_id": id,
            "repository": "acme/engine",
            "git_dir": self.git_dir,
            "sha": self.tip,
            "ref": "refs/heads/main",
            "event_name": "workflow_dispatch",
            "event": {},
            "workflow_path": WORKFLOW,
            "workflow_text": text,
            "inputs": {},
            "run_name": "rerun",
            "actor": "dev-a",
        }
        self.executor.submit(JobSpec(**{**known, **spec}))
        return id

    def result(self, job_id: int = 1, *, within: float = 15) -> JobResult:
        wait_until(lambda: any(job == job_id for job, _ in self.record.finished), within)
        return next(result for job, result in self.record.finished if job == job_id)

    def run(self, steps: str, **spec: object) -> JobResult:
        return self.result(self.submit(steps, **spec))

    def wait_for_line(self, text: str, job_id: int = 1) -> None:
        wait_until(lambda: text in self.record.lines(job_id) if job_id in self.record.logs else False)


def indent(steps: str) -> str:
    return "\n".join(f"      {line}" for line in steps.strip("\n").splitlines())


def wait_until(true: Callable[[], bool], within: float = 10) -> None:
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def git(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    who = {"GIT_AUTHOR_NAME": "dev-a", "GIT_AUTHOR_EMAIL": "dev-a@example.invalid"}
    who |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in who.items()}
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(["git", *arguments], cwd=cwd, env={**path, **who}, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Bare. main: two commits, value.txt `one`, then `two`; branch `topic` and tag `v1` are the first."""
    tree = tmp_path_factory.mktemp("source")
    git("init", "--quiet", "--initial-branch=main", cwd=tree)
    commits = []
    for word in ("one", "two"):
        (tree / "value.txt").write_text(word)
        git("add", "value.txt", cwd=tree)
        git("commit", "--quiet", "-m", word, cwd=tree)
        commits.append(git("rev-parse", "HEAD", cwd=tree))
    git("branch", "topic", commits[0], cwd=tree)
    git("tag", "v1", commits[0], cwd=tree)
    bare = tmp_path_factory.mktemp("bare dir") / "engine.git"
    git("clone", "--quiet", "--bare", str(tree), str(bare), cwd=tree)
    return bare, commits[0], commits[1]


@pytest.fixture
def world(repository: tuple[Path, str, str], tmp_path: Path) -> Iterator[World]:
    executor = LocalExecutor(tmp_path / "work", limits=Limits(grace_s=2, cleanup_s=10))
    record = Record()
    executor.start(record)
    yield World(*repository, tmp_path / "work", record, executor)
    executor.close()
    assert list((tmp_path / "work").iterdir()) == [], "a workspace was left"
    assert threading.get_ident() not in record.threads, "called back from inside submit, cancel or close"
