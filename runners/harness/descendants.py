"""The processes below this one, also those with a session and an environment of their own.

Orphans come back to this process (a Linux subreaper), so that nothing gets away by leaving its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Final

ROUNDS: Final = 50
_PR_SET_CHILD_SUBREAPER: Final = 36

Known = frozenset[tuple[int, int]]
"""Process id and start in clock ticks: the number alone may be another process's later."""


def adopt_orphans() -> None:
    """From here on; where the system has no such thing, orphans are found by their mark alone."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> Known:
    """Living ones, at any depth; none where there is no /proc."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            words = entry.read_text(errors="replace").rpartition(")")[2].split()
            if words[0] not in "ZX":
                children.setdefault(int(words[1]), []).append((int(entry.parent.name), int(words[19])))
    found: set[tuple[int, int]] = set()
    ahead = [os.getpid()]
    while ahead:
        new = set(children.get(ahead.pop(), ())) - found
        found |= new
        ahead += [pid for pid, _ in new]
    return frozenset(found)


def end_descendants(known: Known) -> None:
    """Kills those that are not `known`, and what they start in the meantime."""
    for _ in range(ROUNDS):
        left = descendants() - known
        for pid, _ in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap(known)
        if not left:
            return
        time.sleep(0.02)


def reap(known: Known, own: int = 0) -> None:
    """Takes the exit codes of dead orphans: a test that waits for its server to be gone would wait on.

    `own`: a child that somebody else waits for.
    """
    kept = {own, *(pid for pid, _ in known)}
    with contextlib.suppress(ChildProcessError):
        while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if dead.si_pid in kept:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)
