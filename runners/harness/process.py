"""Processes: ended as a group, what escaped the group found by a mark, output kept within bounds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

GRACE_S: Final = 2.0
MARK: Final = "KL_TRIAGE_LAUNCH"
HEAD_BYTES: Final = 2 << 20
TAIL_BYTES: Final = 2 << 20
_CHUNK: Final = 1 << 16


@dataclass(slots=True)
class Stop:
    """Set by a signal handler, looked at between and during launches."""

    requested: bool = False


def end_group(process: subprocess.Popen[bytes], mark: str) -> None:
    """Ends the process, its group, and what left the group but carries the mark in its environment."""
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()
    for pid in _marked(mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _marked(mark: str) -> list[int]:
    """Processes of this user that were started with MARK=mark; none where there is no /proc."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


class BoundedLog(threading.Thread):
    """Copies a process's output to a file: its first and last 2 MiB, however much it prints."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        super().__init__(daemon=True)
        self._stream, self._path = stream, path
        self._tail: deque[bytes] = deque()
        self._tail_bytes = self._left_out = 0
        self.start()

    def run(self) -> None:
        # A full disk must not block the process on its pipe: reading goes on, only writing stops.
        with contextlib.suppress(OSError, ValueError), self._path.open("wb") as file:
            written = 0
            while chunk := os.read(self._stream.fileno(), _CHUNK):
                if written < HEAD_BYTES:
                    written += len(chunk)
                    with contextlib.suppress(OSError):
                        file.write(chunk)
                        file.flush()
                else:
                    self._keep(chunk)
            if self._left_out:
                file.write(b"\n[kl-triage: %d bytes left out]\n" % self._left_out)
            file.writelines(self._tail)

    def _keep(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes > TAIL_BYTES:
            dropped = len(self._tail.popleft())
            self._tail_bytes -= dropped
            self._left_out += dropped
