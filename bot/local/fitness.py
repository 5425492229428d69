"""Whether this machine is fit as a runner: its tools, its disk, and the reference KL test measured on it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from bot.local.clone import LocalError
from bot.local.measure import Measured, Step, measure
from bot.triage.measure.plans import plan_of
from bot.verdict import ArmPlan, Refusal, Status
from rules import Pack, load_named
from runners.plan import RerunPlan
from runners.reference.distribution import RECORDED, Distribution, deviations, faults_seen
from runners.reference.measure import DEMO_METHOD, PROJECT, TEST_FILE

LAUNCHES: Final = 2
REPEATS: Final = 12
MIN_FREE: Final = 5 << 30
"""Two worktrees of an engine, their builds and the logs."""
_SECONDS: Final = 60
_TORCH: Final = (
    "import json, torch; "
    "print(json.dumps([torch.__version__, torch.version.cuda, torch.cuda.is_available()]))"
)


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Worth knowing; the machine is fit all the same."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `do` is what a person can do about it, empty where there is nothing to do."""

    name: str
    state: State
    text: str
    do: str = ""


def tools(python: str) -> Iterator[Finding]:
    """git, disk, GPU and torch, without measuring anything."""
    yield _git()
    yield _disk(Path(os.environ.get("RUNNER_TEMP") or tempfile.gettempdir()))
    gpu = _gpu()
    yield gpu
    yield _torch(python, expects_gpu=shutil.which("nvidia-smi") is not None and gpu.state is State.OK)


def reference_plan(commit: str) -> RerunPlan:
    """The reference test's method of the demo, enough runs to see its level and spread."""
    pack = load_named("reference")
    if not isinstance(pack, Pack):
        raise LocalError(str(pack))
    plan = plan_of(
        pack,
        request="selftest",
        test=f"{TEST_FILE}::TestHybridCacheKL.{DEMO_METHOD}",
        commits={"head": commit},
        wanted={"head": ArmPlan(LAUNCHES, REPEATS)},
    )
    if isinstance(plan, Refusal):
        raise LocalError(plan.sentence)
    return plan


def measure_reference(
    folder: Path, python: str, watch: Callable[[RerunPlan], Callable[[Step], None]]
) -> Measured:
    """The reference test through the harness, as a rerun job does it; `folder` is empty."""
    repo = folder / "reference"
    shutil.copytree(PROJECT, repo, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "reference"]):
        _git_in(repo, *arguments)
    plan = reference_plan(_git_in(repo, "rev-parse", "HEAD"))
    return measure(plan, repo, folder / "out", python=python, resume=False, report=watch(plan))


def judged(measured: Measured) -> Iterator[Finding]:
    """What the runs of the reference test say of the machine."""
    lost = [reading for reading in measured.readings if reading.status is not Status.OK]
    if lost or measured.said:
        why = lost[0].error if lost else measured.said
        yield Finding(
            "reference",
            State.BAD,
            f"{len(lost)} of {measured.plan.planned} runs of the reference test gave no value: {why}",
            "mend what the line says and run kl-triage selftest again",
        )
        return
    runs = Distribution.of(measured.readings)
    level, gpu = f"{len(runs.values)} runs, {runs.seconds:.2f} s each", measured.readings[0].gpu
    wrong, differs = faults_seen(runs), []
    if {reading.threshold for reading in measured.readings} != {RECORDED.bound}:
        wrong.append(f"the bound is not {RECORDED.bound:g}")
    if not wrong:
        differs = deviations(runs)
    if wrong or (differs and gpu is None):
        yield Finding(
            "reference",
            State.BAD,
            f"{level}; {'; '.join([*wrong, *differs])}",
            "compare torch and numpy with runners/reference/DISTRIBUTION.md: this machine computes otherwise",
        )
    elif gpu is not None:
        told = "; ".join(differs) or "level and spread are the same"
        yield Finding("reference", State.NOTE, f"{level} on {gpu}; the record is of a CPU: {told}")
    else:
        yield Finding("reference", State.OK, f"{level}; level, spread and bound as recorded on a CPU")


def is_fit(findings: Sequence[Finding]) -> bool:
    return all(finding.state is not State.BAD for finding in findings)


def _git() -> Finding:
    told = _said("git", "--version")
    if told is None:
        return Finding("git", State.BAD, "git is not there or does not run", "install git 2.17 or newer")
    return Finding("git", State.OK, told.strip()[:100])


def _disk(folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("disk", State.BAD, f"{folder}: {error.strerror}", "set TMPDIR to a folder")
    text = f"{free / 2**30:.0f} GiB free for worktrees in {folder}"
    if free < MIN_FREE:
        return Finding("disk", State.BAD, text, f"free {MIN_FREE >> 30} GiB, or set TMPDIR to another disk")
    return Finding("disk", State.OK, text)


def _gpu() -> Finding:
    if shutil.which("nvidia-smi") is None:
        return Finding("gpu", State.NOTE, f"no nvidia-smi: tests run on the CPU ({platform.machine()})")
    told = _said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    rows = [line.strip() for line in (told or "").splitlines() if "," in line]
    if not rows:
        return Finding("gpu", State.BAD, "nvidia-smi lists no GPU", "mend the driver or the container")
    kinds = {row: rows.count(row) for row in rows}
    return Finding("gpu", State.OK, "; ".join(f"{count} × {row[:120]}" for row, count in kinds.items()))


def _torch(python: str, *, expects_gpu: bool) -> Finding:
    try:
        version, cuda, sees = json.loads(_said(python, "-c", _TORCH) or "")
    except (ValueError, TypeError):
        return Finding(
            "torch",
            State.BAD,
            f"{python} cannot import torch, which the reference test needs",
            "pip install 'kl-triage[torch]', or name an interpreter that has it by --python",
        )
    if expects_gpu and not sees:
        return Finding(
            "torch",
            State.BAD,
            f"torch {version} sees no GPU beside one that is there",
            "install a build of torch for this driver's CUDA",
        )
    return Finding("torch", State.OK, f"torch {version}, {f'CUDA {cuda}' if sees else 'CPU'}")


def _said(*command: str) -> str | None:
    """What a program prints; None where it is not there, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def _git_in(repo: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = ["-c", "user.name=kl-triage", "-c", "user.email=selftest@kl-triage.invalid"]
    plain = ["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"]
    done = subprocess.run(
        ["git", *identity, *plain, "-C", str(repo), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise LocalError(f"git {arguments[0]} failed: {done.stderr.strip()[:300]}")
    return done.stdout.strip()
