"""Processes by the mark in their environment, and the watcher that ends them when the harness is killed.

    python -IS marks.py MARK     waits for the end of stdin: without "done" before it, the harness died

Standard library only and no import of ours: the watcher runs this file by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

MARK = "KL_TRIAGE_LAUNCH"
ROUNDS = 20


def marked(mark: str) -> list[int]:
    """Processes started with MARK=mark, or mark, a dot and more; none where there is no /proc."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if any(word == wanted or word.startswith(wanted + b".") for word in words):
                found.append(int(entry.parent.name))
    return found


def end_marked(mark: str) -> None:
    """Kills them, and those they started in the meantime. A zombie has no environment: it does not count."""
    for _ in range(ROUNDS):
        left = marked(mark)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != b"done":
        end_marked(sys.argv[1])


if __name__ == "__main__":
    main()
