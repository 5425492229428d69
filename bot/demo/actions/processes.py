"""Processes of one job: started in a session of their own, read, ended, and none left behind.

As the runner does, every process of a job carries RUNNER_TRACKING_ID in its environment; where /proc shows
environments (Linux), one that left its process group is found by it. Elsewhere process groups must do.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

POLL_S: Final = 0.05
DRAIN_S: Final = 1.0
"""How long output is still read from children of a process that has ended."""
_CHUNK: Final = 65_536
_PROC: Final = Path("/proc")


class End(StrEnum):
    EXITED = "exited"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`code` is the exit status, negative for a signal, as subprocess has it."""

    end: End
    code: int


class Processes:
    """`grace_s`: time between SIGTERM and SIGKILL."""

    def __init__(self, tracking_id: str, grace_s: float) -> None:
        self._tracking_id = tracking_id
        self._grace_s = grace_s
        self._groups: set[int] = set()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        output: Callable[[bytes], None],
        interrupt: Callable[[], End | None],
    ) -> Outcome:
        """Runs to its end, or until `interrupt` gives a reason; raises OSError if it cannot start."""
        environment = {**env, "RUNNER_TRACKING_ID": self._tracking_id}
        with subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            self._groups.add(process.pid)
            try:
                end = self._attend(process, output, interrupt)
            except BaseException:
                _signal_group(process.pid, signal.SIGKILL)
                raise
            code = process.wait()
        if not _members(process.pid):
            self._groups.discard(process.pid)
        return Outcome(end, code)

    def _attend(
        self,
        process: subprocess.Popen[bytes],
        output: Callable[[bytes], None],
        interrupt: Callable[[], End | None],
    ) -> End:
        reason: End | None = None
        stop_at = float("inf")
        with _Reader(process) as reader:
            while True:
                reader.read(output)
                over = process.poll() is not None
                if reason is None:
                    if over and (reader.quiet or time.monotonic() > stop_at):
                        return End.EXITED
                    if over:
                        stop_at = min(stop_at, time.monotonic() + DRAIN_S)
                    elif reason := interrupt():
                        _signal_group(process.pid, signal.SIGTERM)
                        stop_at = time.monotonic() + self._grace_s
                elif over and reader.quiet and not _members(process.pid):
                    return reason
                elif time.monotonic() > stop_at:
                    _signal_group(process.pid, signal.SIGKILL)
                    return reason

    def end_all(self) -> list[str]:
        """Ends what steps left running and gives 'pid (name)' of each."""
        found = {pid: _name(pid) for pid in self._remaining()}
        if not found:
            return []
        for number, patience in ((signal.SIGTERM, min(self._grace_s, 2.0)), (signal.SIGKILL, 2.0)):
            deadline = time.monotonic() + patience
            for pid in self._remaining():
                _signal(pid, number)
            while self._remaining() and time.monotonic() < deadline:
                time.sleep(POLL_S)
        return [f"{pid} ({name})" for pid, name in sorted(found.items())]

    def _remaining(self) -> set[int]:
        mark = f"RUNNER_TRACKING_ID={self._tracking_id}".encode()
        tracked = {pid for pid in _living() if mark in _environment(pid).split(b"\0")}
        return tracked.union(*map(_members, self._groups)) - {os.getpid()}


class _Reader:
    """Reads the pipe of a process without ever blocking longer than POLL_S."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 (asked for as a pipe)
        self._fd = process.stdout.fileno()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._fd, selectors.EVENT_READ)
        self._open = True
        self.quiet = False
        """Nothing came in the last POLL_S, or the pipe is closed."""

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def read(self, output: Callable[[bytes], None]) -> None:
        if not self._open:
            time.sleep(POLL_S / 5)
            return
        self.quiet = not self._selector.select(POLL_S)
        if self.quiet:
            return
        data = os.read(self._fd, _CHUNK)
        if data:
            output(data)
        else:
            self._open, self.quiet = False, True


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _signal(pid: int, number: int) -> None:
    """Without /proc only groups are known, and `pid` is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.kill if _PROC.is_dir() else os.killpg)(pid, number)


def _living() -> Iterator[int]:
    """Ids of all processes but zombies; none where there is no /proc."""
    if _PROC.is_dir():
        for entry in os.listdir(_PROC):  # noqa: PTH208 (names only, many)
            if entry.isdigit() and _stat(int(entry))[:1] not in ([], ["Z"]):
                yield int(entry)


def _members(group: int) -> set[int]:
    """Living members of a process group. A zombie nobody reaps is no member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return set()
    except PermissionError:  # members that became another user's
        pass
    return {pid for pid in _living() if _stat(pid)[2:3] == [str(group)]} if _PROC.is_dir() else {group}


def _stat(pid: int) -> list[str]:
    """State, parent, group and what follows; empty for a process that is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _name(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
