"""What a launch took of the machine, and whether it gave it back: listening ports and GPU memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from runners.harness.fingerprint import compute_processes
from runners.harness.marks import marked

FREE_WITHIN_S: Final = 60.0
_LISTEN: Final = "0A"


class Leftovers:
    """Looks at a launch while it runs; waits, after it was ended, until what was seen is free again."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._pids: set[int] = set()
        self._ports: set[int] = set()
        self.taken: frozenset[int] = frozenset()
        """Ports that `wait` saw taken to its end."""

    def look(self, started: Iterable[int] = ()) -> None:
        """`started`: processes of the launch, also without its mark."""
        pids = {*marked(self._mark), *started}
        inodes = {inode for pid in pids for inode in _sockets(pid)}
        self._pids.update(pids)
        if inodes:
            self._ports.update(port for port, inode in _listening() if inode in inodes)

    def wait(self, *, gpu: bool, within_s: float = FREE_WITHIN_S) -> list[str]:
        """Sentences on what is still taken when the time is up; `gpu`: whether GPU memory is asked for."""
        deadline = time.monotonic() + within_s
        while True:
            ports = still_taken(self._ports)
            pids = sorted(self._pids & compute_processes()) if gpu and self._pids else []
            if (not ports and not pids) or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.taken = frozenset(ports)
        taken = f"still {{}} {within_s:g} s after the launch was ended"
        notes = [f"port {port} was " + taken.format("taken") for port in ports]
        return notes + [f"GPU memory of process {pid} was " + taken.format("held") for pid in pids]


def still_taken(ports: Iterable[int]) -> list[int]:
    """Those of `ports` that somebody listens on."""
    asked = set(ports)  # the kernel's table costs 10 ms to read: not for nothing
    return sorted(asked & {port for port, _ in _listening()}) if asked else []


def _listening() -> list[tuple[int, str]]:
    """Port and socket inode of everything that listens; nothing where there is no /proc/net."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for row in Path(table).read_text().splitlines()[1:]:
                words = row.split()
                if len(words) > 9 and words[3] == _LISTEN:
                    found.append((int(words[1].rpartition(":")[2], 16), words[9]))
    return found


def _sockets(pid: int) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(entry.readlink())
                if target.startswith("socket:["):
                    found.append(target[len("socket:[") : -1])
    return found
