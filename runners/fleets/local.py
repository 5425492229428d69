"""The fleet of one machine, this one: the harness as a process of its own, in a folder a request."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import runners
from bot.verdict.answer import Refusal
from bot.verdict.redaction import redacted
from runners.fleets.artifact import MAX_FILE_BYTES, read_folder
from runners.fleets.fleet import Collected, Progress, State, Ticket, with_lost
from runners.plan import RerunPlan
from runners.progress import repeats_seen

MAX_LOG_BYTES: Final = 8 << 20
_PACKAGES: Final = Path(runners.__file__).resolve().parent.parent


class LocalFleet:
    """`repo` is a clone on this machine, `work` a folder for results (`work/<request>/readings-*.jsonl`)."""

    def __init__(self, repo: Path, work: Path, *, python: str = sys.executable) -> None:
        self._repo, self._work, self._python = repo.resolve(), work.resolve(), python
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def dispatch(self, plan: RerunPlan, *, maybe_sent: bool = False) -> Ticket | Refusal:
        """The folder is the mark: a plan whose folder exists was dispatched before and is not run again."""
        folder = self._work / plan.request
        ticket = Ticket(plan, str(folder), folder.as_uri())
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            return ticket
        except OSError as error:
            return Refusal("folder_not_writable", f"Cannot write to {folder}: {error.strerror}.")
        plan_file = folder / "plan.json"
        plan_file.write_text(plan.to_json(), encoding="utf-8")
        command = [sys.executable, "-m", "runners.harness", f"--plan={plan_file}", f"--repo={self._repo}"]
        with (folder / "harness.log").open("wb") as log:
            child = subprocess.Popen(
                [*command, f"--out={folder}", f"--python={self._python}"],
                cwd=_PACKAGES,  # where `-m` finds us, installed or not; the measured code never gets it
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._children[plan.request] = child
        (folder / "harness.pid").write_text(str(child.pid), encoding="utf-8")
        return ticket

    def progress(self, ticket: Ticket) -> Progress:
        folder = self._folder(ticket)
        # Looked at before the summary: a harness that ends in between has written it by then.
        alive = self._pid(ticket.plan) is not None
        done = repeats_seen(_text(folder / "harness.log"))
        summary = _summary(folder)
        if summary is not None:
            return Progress(State.FINISHED, done, ticket.plan.planned, ticket.url, _conclusion(summary))
        state = State.RUNNING if alive else State.LOST
        return Progress(state, done, ticket.plan.planned, ticket.url)

    def collect(self, ticket: Ticket) -> Collected:
        plan, folder = ticket.plan, self._folder(ticket)
        files = {arm: _bytes(folder / f"readings-{arm}.jsonl", MAX_FILE_BYTES + 1) for arm in plan.commits}
        readings = read_folder(files, plan)
        if isinstance(readings, Refusal):
            return Collected(with_lost(plan, (), readings.sentence), readings.sentence)
        every = with_lost(plan, readings, "the harness left no record of this repeat")
        if len(every) == len(readings):
            return Collected(every)
        said = _text(folder / "harness.log").strip().splitlines()
        return Collected(
            every,
            f"The harness did not come to its end: {redacted(said[-1])[:300] if said else 'it said nothing'}",
        )

    def cancel(self, ticket: Ticket) -> None:
        pid = self._pid(ticket.plan)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def wait(self, ticket: Ticket, timeout_s: float | None = None) -> bool:
        """Waits for a harness this object started; False when the time is up first."""
        child = self._children.get(ticket.plan.request)
        if child is not None:
            try:
                child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                return False
        return True

    def _folder(self, ticket: Ticket) -> Path:
        return self._work / ticket.plan.request

    def _pid(self, plan: RerunPlan) -> int | None:
        """The harness of this plan if it runs; also one that an earlier process of ours started."""
        child = self._children.get(plan.request)
        if child is not None:
            return None if child.poll() is not None else child.pid
        folder = self._work / plan.request
        text = _text(folder / "harness.pid")
        if not text.isdecimal():
            return None
        # The number may be another process's by now: ours names its folder on its command line.
        command = _bytes(Path("/proc") / text / "cmdline", MAX_LOG_BYTES)
        return int(text) if f"--out={folder}".encode() in command.split(b"\0") else None


def _summary(folder: Path) -> Mapping[str, object] | None:
    try:
        document = json.loads(_text(folder / "summary.json"))
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _conclusion(summary: Mapping[str, object]) -> str:
    if summary.get("cancelled"):
        return "cancelled"
    return "success" if summary.get("complete") else "failure"


def _text(path: Path) -> str:
    return _bytes(path, MAX_LOG_BYTES).decode("utf-8", errors="replace")


def _bytes(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError:
        return b""
