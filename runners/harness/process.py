"""Processes: ended as a group, what escaped the group found by a mark, output kept within bounds."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, cast

from runners.harness.descendants import descendants, end_descendants, reap
from runners.harness.marks import MARK, end_marked

GRACE_S: Final = 2.0
OUTPUT_S: Final = 2.0
UNTOLD_S: Final = 0.05
HEAD_BYTES: Final = 2 << 20
TAIL_BYTES: Final = 2 << 20
_CHUNK: Final = 1 << 16


@dataclass(slots=True)
class Stop:
    """Set by a signal handler, looked at between and during launches."""

    requested: bool = False


class Process:
    """Context manager: a process of its own group with its output in a bounded log.

    On exit nothing that it started is left: neither its group, nor what carries `mark`, nor any other
    process below this one that was not there before.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], mark: str, log: Path
    ) -> None:
        self.mark = mark
        self._before = descendants()
        self._popen = subprocess.Popen(
            command,
            cwd=cwd,
            env={**environment, MARK: mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._log = BoundedLog(cast("IO[bytes]", self._popen.stdout), log)

    def __enter__(self) -> Process:
        return self

    def started(self) -> set[int]:
        """Process ids of itself and of all below this process that were not there before it."""
        return {pid for pid, _ in descendants() - self._before}

    def tell(self, line: bytes = b"") -> None:
        """Writes to its stdin, once, and closes that."""
        stdin = cast("IO[bytes]", self._popen.stdin)
        with contextlib.suppress(OSError):
            if not stdin.closed:
                stdin.write(line)
            stdin.close()

    def ended(self, within_s: float) -> int | None:
        """Its exit code (negative: a signal) as soon as it has one; None when the time is up first."""
        reap(self._before, self._popen.pid)
        if self._popen.poll() is None:
            _wait_for(self._popen.pid, within_s)
        return self._popen.poll()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tell()
        if self._popen.returncode is None:
            self._signal_group(signal.SIGTERM)
            self.ended(GRACE_S)
        self._signal_group(signal.SIGKILL)
        self._popen.wait()
        end_marked(self.mark)
        end_descendants(self._before)
        self._log.finish(OUTPUT_S)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


def _wait_for(child: int, within_s: float) -> None:
    """Until a child, not waited for yet, has ended or the time is up. On Linux the kernel wakes us."""
    try:
        handle = os.pidfd_open(child)
    except (AttributeError, OSError):
        time.sleep(min(within_s, UNTOLD_S))
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(within_s * 1000)
    finally:
        os.close(handle)


class Watcher:
    """Context manager: a process that ends whatever carries our mark should this one be killed."""

    def __init__(self, mark: str) -> None:
        script = Path(__file__).with_name("marks.py")
        self._popen = subprocess.Popen(
            [sys.executable, "-IS", str(script), mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self._popen.stdin).write(b"done")
            cast("IO[bytes]", self._popen.stdin).close()
        self._popen.wait()


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
        try:
            with self._path.open("wb", buffering=0) as file:
                self._copy(file)
        except OSError:
            with contextlib.suppress(OSError):
                while os.read(self._stream.fileno(), _CHUNK):
                    pass

    def finish(self, within_s: float) -> None:
        """Waits for the end of the output; a process that kept the pipe open does not hold us up."""
        self.join(within_s)
        if not self.is_alive():
            self._stream.close()

    def _copy(self, file: IO[bytes]) -> None:
        written = 0
        while chunk := os.read(self._stream.fileno(), _CHUNK):
            if written < HEAD_BYTES:
                written += len(chunk)
                file.write(chunk)
            else:
                self._keep(chunk)
        if self._left_out:
            file.write(b"\n[kl-triage: %d bytes left out]\n" % self._left_out)
        for chunk in self._tail:
            file.write(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes > TAIL_BYTES:
            dropped = len(self._tail.popleft())
            self._tail_bytes -= dropped
            self._left_out += dropped
