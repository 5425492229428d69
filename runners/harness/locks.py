"""One rerun at a time on a clone and on a machine: two of them would share GPUs and answer on one port."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runners.harness.environment import PARALLEL
from runners.harness.worktrees import common_folder

_NAME: Final = "kl-triage"


class Busy(Exception):
    """Another rerun holds the lock, or the lock cannot be made; one plain sentence."""


@contextlib.contextmanager
def alone(repo: Path) -> Iterator[None]:
    """Holds both locks; none where KL_TRIAGE_PARALLEL is 1. Raises Busy, GitError."""
    files = [
        common_folder(repo) / f"{_NAME}.lock",
        Path(tempfile.gettempdir()) / f"{_NAME}-{os.getuid()}.lock",
    ]
    with contextlib.ExitStack() as held:
        for file in [] if os.environ.get(PARALLEL) == "1" else files:
            held.callback(os.close, _locked(file))
        yield


def _locked(file: Path) -> int:
    """The file stays: to remove it would let two processes lock two files of one name."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Busy(f"the lock {file} cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Busy(
            "another rerun is measuring on this machine; wait for it, or set "
            f"{PARALLEL}=1 where each has GPUs and ports of its own"
        ) from None
    return descriptor
