"""One plan measured on this machine by the harness, a process of its own, followed as it goes."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

import runners
from bot.local.clone import LocalError
from bot.verdict import Reading, Refusal, Status
from runners.fleets import read_folder
from runners.fleets.artifact import MAX_FILE_BYTES
from runners.fleets.fleet import with_lost
from runners.plan import PlanError, RerunPlan

MAX_LINE: Final = 4_096
_PR_SET_PDEATHSIG: Final = 1
_PACKAGES: Final = Path(runners.__file__).resolve().parent.parent
_LINE: Final = re.compile(
    r"kl-triage: (head|base) launch (\d{1,4})/(\d{1,4}) repeat (\d{1,4})/\d{1,4} "
    r"(?:check=(?:(?! (?:error|timeout|cancelled|lost): ).)* )?"
    r"(?:value=(\S+)(?: bound=(\S+))?|(error|timeout|cancelled|lost): .*)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A planned repeat is over. `value` is None where it has none, `why` says why."""

    arm: str
    launch: int
    launches: int
    value: float | None
    bound: float | None
    done: int
    """Repeats of the plan that are over."""
    planned: int
    line: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a plan gave. `complete`: every planned repeat has a value."""

    plan: RerunPlan
    readings: tuple[Reading, ...]
    complete: bool
    interrupted: bool
    said: str = ""
    """Why the harness did not come to its end: what it wrote down, else its last words."""


def measure(
    plan: RerunPlan,
    repo: Path,
    out: Path,
    *,
    python: str,
    resume: bool,
    report: Callable[[Step], None],
) -> Measured:
    """Runs the plan into `out`. Ctrl-C ends the running launch and keeps what there is.

    Raises LocalError where the harness cannot start it.
    """
    interpreter = shutil.which(python)
    if interpreter is None:
        raise LocalError(f"--python {python}: no such interpreter on this machine")
    if resume:
        (out / "summary.json").unlink(missing_ok=True)  # that of the run before
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(plan.to_json())
        file.flush()
        command = [sys.executable, "-m", "runners.harness", f"--plan={file.name}", f"--repo={repo}"]
        command += [f"--out={out}", f"--python={Path(interpreter).absolute()}"]
        command += ["--resume"] if resume else []
        process = subprocess.Popen(
            command,
            cwd=_PACKAGES,  # where `-m` finds us, installed or not
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C is ours: the harness is told once, in order
            preexec_fn=partial(_end_with, os.getpid()),
            encoding="utf-8",
            errors="replace",
        )
        said, interrupted = _follow(process, Counter(plan, finished_before(plan, out)), report)
    if process.returncode == 1:
        pid = _writer(out)
        holder = f" (its harness is process {pid})" if pid is not None else ""
        raise LocalError((said.removeprefix("kl-triage: ") or "the harness could not start") + holder)
    readings = collect(plan, out)
    told = summary_of(out)
    why = stopped(told) if told else said or "no word"
    return Measured(plan, readings, process.returncode == 0, interrupted, "" if interrupted else why)


def stopped(summary: dict[str, object]) -> str:
    """Why the harness broke off, say a full disk; empty where it came to the plan's end."""
    return " ".join(str(summary.get("stopped") or "").split())[:300]


def _end_with(parent: int) -> None:
    """In the child, before the harness: it is told to end when we are gone, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # gone before we asked
            os._exit(1)


def _writer(out: Path) -> int | None:
    """The process of another harness that measures into `out`."""
    wanted = {b"runners.harness", f"--out={out}".encode("utf-8", "surrogateescape")}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if wanted <= set(words):
            return int(folder.name)
    return None


def collect(plan: RerunPlan, out: Path) -> tuple[Reading, ...]:
    """The plan's readings in a folder; planned repeats without a record are lost."""
    files = {}
    for arm in plan.commits:
        path = out / f"readings-{arm}.jsonl"
        if path.is_file():
            with path.open("rb") as file:
                files[arm] = file.read(MAX_FILE_BYTES + 1)
    readings = read_folder(files, plan)
    if isinstance(readings, Refusal):
        raise LocalError(f"{out}: {readings.sentence}")
    return with_lost(plan, readings, "the harness left no record of this repeat")


def plan_in(out: Path) -> RerunPlan | None:
    """The plan that `out` was made for; None where it holds none."""
    try:
        return RerunPlan.from_json((out / "plan.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (PlanError, UnicodeDecodeError) as error:
        raise LocalError(f"{out / 'plan.json'}: {error}") from None


def finished_before(plan: RerunPlan, out: Path) -> set[tuple[int, int]]:
    """(launch, repeat) of the launches that a resumed run need not measure again."""
    if not (out / "plan.json").is_file():
        return set()
    have: dict[int, set[int]] = {}
    for reading in collect(plan, out):
        place = plan.place_of(reading.launch)
        if place is not None and reading.repeat is not None and reading.value is not None:
            have.setdefault(place[0], set()).add(reading.repeat)
    return {
        (number, repeat)
        for number, launch in enumerate(plan.launches, 1)
        if len(have.get(number, ())) == launch.repeats
        for repeat in range(1, launch.repeats + 1)
    }


class Counter:
    """Repeats that are over, each counted once however many checks it makes."""

    def __init__(self, plan: RerunPlan, seen: set[tuple[int, int]]) -> None:
        self._plan, self._seen = plan, seen

    def step(self, line: str) -> Step | None:
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        arm, launch, launches, repeat, value, bound, status = found.groups()
        if status == Status.CANCELLED:  # it was not begun
            return None
        self._seen.add((int(launch), int(repeat)))
        return Step(
            arm,
            int(launch),
            int(launches),
            _number(value),
            _number(bound),
            len(self._seen),
            self._plan.planned,
            line,
        )


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _follow(
    process: subprocess.Popen[str], counter: Counter, report: Callable[[Step], None]
) -> tuple[str, bool]:
    """Until the harness ends: its last line that tells no value, and whether we were interrupted."""
    said, interrupted = "", False
    stream: IO[str] | None = process.stdout
    while stream is not None:
        try:
            line = stream.readline(MAX_LINE)
            if not line:
                break
            step = counter.step(line.rstrip("\n"))
            if step is not None:
                report(step)
            elif line.strip() and not _LINE.fullmatch(line.rstrip("\n")):
                said = line.strip()
        except KeyboardInterrupt:
            # The first asks the harness to keep what it has and to clean up, the second ends it at once.
            process.send_signal(signal.SIGKILL if interrupted else signal.SIGTERM)
            interrupted = True
    while True:
        try:
            process.wait()
            return said, interrupted
        except KeyboardInterrupt:
            process.kill()


def summary_of(out: Path) -> dict[str, object]:
    """The harness's summary.json; empty where there is none."""
    try:
        found = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
