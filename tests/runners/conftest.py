"""Small target projects in real git repositories, and the harness run on them as a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runners.plan import PlannedLaunch, RerunPlan

ROOT = Path(__file__).resolve().parents[2]

# As target projects have it: the compare function prints, asserts, and every method is tried twice.
KIT = """
import unittest

def compare(values, bounds, model_name, label):
    kl_divs = list(values)
    print(f"kl_divs={kl_divs}")
    avg_kl_div = sum(kl_divs) / len(kl_divs)
    print(f"avg_kl_div={avg_kl_div}")
    print(f"ACC_THRESHOLDS={bounds[model_name]}")
    threshold = bounds[model_name]["kl_div"]
    assert avg_kl_div < threshold, f"avg_kl_div={avg_kl_div} > threshold={threshold} for {model_name} {label}"

class Case(unittest.TestCase):
    def _callTestMethod(self, method):
        try:
            method()
        except Exception as error:
            print("SECOND TRY", error)
            try:
                method()
            except Exception:
                raise Exception("retry() exceed maximum number of retries.")
"""

HEADER = """
import os, subprocess, sys, time, unittest
from kit import Case, compare

def check(*values, label="hit"):
    compare(values, {"m": {"kl_div": 0.003}}, "m", label)

class TestKL(Case):
    kl_threshold = 0.003
"""


@dataclass
class Project:
    """A repository; each commit is one version of test_kl.py."""

    path: Path

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=dev-a", "-c", "user.email=dev-a@example.invalid"]
        done = subprocess.run(
            ["git", "-C", str(self.path), *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, body: str, header: str = HEADER) -> str:
        """Commits a test class with this body and returns the SHA."""
        return self.commit_file(header + textwrap.indent(textwrap.dedent(body), "    "))

    def commit_file(self, text: str, name: str = "test_kl.py") -> str:
        """Commits a whole file and returns the SHA."""
        (self.path / name).write_text(textwrap.dedent(text))
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", "version")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "repo"
    path.mkdir()
    (path / "kit.py").write_text(KIT)
    made = Project(path)
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("add", "-A")
    made.git("commit", "--quiet", "-m", "kit")
    return made


def make_plan(commits: dict[str, str], order: str = "head", repeats: int = 1, **changes: object) -> RerunPlan:
    """`order`: arms of the launches, 'head base base head'."""
    fields: dict[str, object] = {
        "request": "req-1",
        "test": "test_kl.py::TestKL.test_hit",
        "commits": commits,
        "launches": tuple(PlannedLaunch(arm, repeats) for arm in order.split()),
        "compare": "kit:compare",
        "python_path": (".",),
        "launch_timeout_s": 30.0,
    }
    return RerunPlan(**{**fields, **changes})  # type: ignore[arg-type]


@dataclass
class Harness:
    """One run of `python -m runners.harness`."""

    process: subprocess.Popen[str]
    out: Path
    stdout: str = ""
    stderr: str = ""

    def wait(self, timeout: float = 30) -> int:
        self.stdout, self.stderr = self.process.communicate(timeout=timeout)
        return self.process.returncode

    def launches(self) -> list[dict]:
        return [json.loads(line) for line in (self.out / "launches.jsonl").read_text().splitlines()]

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def readings(self, arm: str = "head") -> list[dict]:
        text = (self.out / f"readings-{arm}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def values(self, arm: str = "head") -> list[object]:
        return [reading.get("value") for reading in self.readings(arm)]

    def statuses(self, arm: str = "head") -> list[str]:
        return [reading["status"] for reading in self.readings(arm)]

    def summary(self) -> dict:
        return json.loads((self.out / "summary.json").read_text())

    def log(self, name: str) -> str:
        return (self.out / "logs" / name).read_text()


@pytest.fixture
def start(project: Project, tmp_path: Path):
    """Starts the harness on a plan; what a test leaves running is killed."""
    started: list[Harness] = []

    def _start(plan: RerunPlan | str, *options: str, out: Path | None = None, **environment: str) -> Harness:
        plan_file = tmp_path / f"plan-{len(started)}.json"
        plan_file.write_text(plan if isinstance(plan, str) else plan.to_json())
        out = out or tmp_path / f"out-{len(started)}"
        command = [sys.executable, "-m", "runners.harness", f"--plan={plan_file}", f"--out={out}"]
        temporary = tmp_path / "tmp"
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [*command, f"--repo={project.path}", *options],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary), "KL_TRIAGE_PARALLEL": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(Harness(process, out))
        return started[-1]

    yield _start
    for harness in started:
        if harness.process.poll() is None:
            harness.process.kill()
            harness.process.communicate()


@pytest.fixture
def run(start):
    """Runs the harness to its end."""

    def _run(plan: RerunPlan | str, *options: str, **given) -> Harness:
        harness = start(plan, *options, **given)
        harness.wait()
        return harness

    return _run


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def marked(text: str = "KL_TRIAGE_LAUNCH=req-1.") -> list[int]:
    """Processes that a launch of these tests started, by the mark in their environment. Tests that run beside
    these in another worker start launches of the same name."""
    worker = f"PYTEST_XDIST_WORKER={os.environ.get('PYTEST_XDIST_WORKER', '')}"
    wanted = {text.encode(), worker.encode() if "PYTEST_XDIST_WORKER" in os.environ else b""}
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            environment = entry.read_bytes()
            if all(part in environment for part in wanted):
                found.append(int(entry.parent.name))
    return found


def command_lines() -> str:
    """Those of every process on this machine, one a line."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(lines)


@pytest.fixture
def helpers():
    """What test modules use of this file (test folders are not packages)."""

    class Helpers:
        plan = staticmethod(make_plan)
        until = staticmethod(until)
        command_lines = staticmethod(command_lines)
        marked = staticmethod(marked)
        kit = KIT

    return Helpers
