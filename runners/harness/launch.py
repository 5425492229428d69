"""One launch: a process of its own group that runs the probe, followed until it ends or must be ended."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from bot.verdict.reading import Status
from runners.harness.process import MARK, BoundedLog, Stop, end_group

POLL_S: Final = 0.05
TEAR_DOWN_S: Final = 120.0
OUTPUT_S: Final = 2.0
MAX_EVENT_BYTES: Final = 8 << 20

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why repeats that were not measured are missing: the status they get and one short line."""

    status: Status
    why: str


def launch(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    name: str,
    events: Path,
    log: Path,
    timeout_s: float,
    stop: Stop,
    on_event: Callable[[Event], None],
) -> Outcome:
    """Runs the probe and hands on each repeat as it is measured. On return nothing it started is left."""
    mark = f"{name}.{time.time_ns()}"
    events.touch()
    with events.open("rb") as stream:
        reader = EventReader(stream.read, on_event)
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stdout = cast("IO[bytes]", process.stdout)
        output = BoundedLog(stdout, log)
        try:
            outcome = _follow(process, reader, timeout_s, stop)
        finally:
            end_group(process, mark)
        reader.poll()  # what was measured while it was being ended
    output.join(OUTPUT_S)
    if not output.is_alive():
        stdout.close()
    return outcome


class EventReader:
    """Whole lines of the probe's file, as they appear. The measured code could write there too: bounded."""

    def __init__(self, read: Callable[[int], bytes], on_event: Callable[[Event], None]) -> None:
        self._read, self._on_event = read, on_event
        self._part = b""
        self.fatal: str | None = None
        self.measured = False

    def poll(self) -> None:
        while chunk := self._read(MAX_EVENT_BYTES):
            *lines, self._part = (self._part + chunk).split(b"\n")
            if len(self._part) > MAX_EVENT_BYTES:
                self._part = b""
            for line in lines:
                self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        if event.get("event") == "repeat":
            self._on_event(event)
        elif event.get("event") == "fatal":
            self.fatal = str(event.get("failure"))
        elif event.get("event") == "measured":
            self.measured = True


def _follow(process: subprocess.Popen[bytes], reader: EventReader, timeout_s: float, stop: Stop) -> Outcome:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            reader.poll()
            return Outcome(Status.ERROR, reader.fatal or _ended(process.returncode))
        measured = reader.measured
        reader.poll()
        if reader.measured and not measured:
            deadline = min(deadline, time.monotonic() + TEAR_DOWN_S)
        if stop.requested:
            return Outcome(Status.CANCELLED, "the rerun was cancelled")
        if time.monotonic() > deadline:
            return Outcome(Status.TIMEOUT, f"the launch ran longer than its limit of {timeout_s:g} s")


def _ended(code: int) -> str:
    if code >= 0:
        return f"the test process ended with exit code {code} before this repeat was measured"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the test process was ended by {name} before this repeat was measured"
