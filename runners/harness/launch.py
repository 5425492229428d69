"""One launch: a process of its own group that runs the probe, followed until it ends or must be ended."""

from __future__ import annotations

import hmac
import json
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.verdict.reading import Status
from runners.harness.leftovers import Leftovers
from runners.harness.process import Process, Stop

POLL_S: Final = 0.05
TEAR_DOWN_S: Final = 120.0
MAX_EVENT_BYTES: Final = 8 << 20

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why repeats that were not measured are missing: the status they get and one short line."""

    status: Status
    why: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A moment of time.monotonic(), and what ran too long if it comes."""

    at: float
    why: str


CANCELLED: Final = Outcome(Status.CANCELLED, "the rerun was cancelled")


class Launch:
    """What is told of one launch: `outcome` in the end, and the `foreign` lines of the probe's file."""

    def __init__(self, leftovers: Leftovers, limit: Limit, stop: Stop) -> None:
        self._leftovers, self._limit, self._stop = leftovers, limit, stop
        self.packages: Mapping[str, object] = {}
        self.foreign = 0

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        mark: str,
        events: Path,
        log: Path,
        on_event: Callable[[Event], None],
    ) -> Outcome:
        """Runs the probe and hands on each repeat as it is measured. On return nothing it started is left."""
        key = secrets.token_hex(16)
        events.touch()
        with events.open("rb") as stream:
            reader = EventReader(stream.read, on_event, key)
            with Process(command, cwd=cwd, environment=environment, mark=mark, log=log) as process:
                process.tell(f"{key}\n".encode())
                outcome = self._follow(process, reader)
                self._leftovers.look(process.started())
            reader.poll()  # what was measured while it was being ended
        packages = reader.packages
        self.packages = packages if isinstance(packages, dict) else {}
        self.foreign = reader.foreign
        return outcome

    def _follow(self, process: Process, reader: EventReader) -> Outcome:
        limit = self._limit
        while True:
            code = process.ended(POLL_S)
            repeats, measured = reader.repeats, reader.measured
            reader.poll()
            if code is not None:
                return Outcome(Status.ERROR, reader.fatal or _ended(code))
            if (reader.repeats and not repeats) or (reader.measured and not measured):
                self._leftovers.look(process.started())  # servers are up now; the tear-down takes them away
            if reader.measured and not measured:
                tear_down = Limit(time.monotonic() + TEAR_DOWN_S, f"the tear-down took {TEAR_DOWN_S:g} s")
                limit = min(limit, tear_down, key=lambda each: each.at)
            if self._stop.requested:
                return CANCELLED
            if time.monotonic() > limit.at:
                return Outcome(Status.TIMEOUT, limit.why)


class EventReader:
    """Whole lines of the probe's file, as they appear. The measured code could write there too: bounded.

    Lines that are not signed with the key, or tell of a repeat out of turn, are counted as `foreign`.
    """

    def __init__(self, read: Callable[[int], bytes], on_event: Callable[[Event], None], key: str) -> None:
        self._read, self._on_event, self._key = read, on_event, key.encode()
        self._part = b""
        self.fatal: str | None = None
        self.packages: object = None
        self.measured = False
        self.repeats = self.foreign = 0

    def poll(self) -> None:
        while chunk := self._read(MAX_EVENT_BYTES):
            *lines, self._part = (self._part + chunk).split(b"\n")
            if len(self._part) > MAX_EVENT_BYTES:
                self._part, self.foreign = b"", self.foreign + 1
            for line in lines:
                self._line(line)

    def _line(self, line: bytes) -> None:
        event = self._event(line)
        kind = event.get("event")
        if kind == "repeat" and event.get("repeat") == self.repeats + 1:
            self.repeats += 1
            self._on_event(event)
        elif kind == "fatal":
            self.fatal = str(event.get("failure"))
        elif kind == "packages":
            self.packages = event.get("versions")
        elif kind == "measured":
            self.measured = True
        else:
            self.foreign += 1

    def _event(self, line: bytes) -> Event:
        """Empty for a line that the probe did not write."""
        digest, _, text = line.partition(b" ")
        if not hmac.compare_digest(digest, hmac.new(self._key, text, "sha256").hexdigest().encode()):
            return {}
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return event if isinstance(event, dict) else {}


def _ended(code: int) -> str:
    if code >= 0:
        return f"the test process ended with exit code {code} before this repeat was measured"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the test process was ended by {name} before this repeat was measured"
