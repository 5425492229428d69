"""The two files that setup leaves: the App's private key and the settings, readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class SetupFiles:
    """`folder` is absolute, so that the settings name the key wherever they are read."""

    folder: Path

    @property
    def key(self) -> Path:
        return self.folder / "kl-triage.pem"

    @property
    def env(self) -> Path:
        return self.folder / "kl-triage.env"

    def taken(self) -> Path | None:
        """The first that is there already."""
        return next((path for path in (self.key, self.env) if os.path.lexists(path)), None)


@contextmanager
def reserved(files: SetupFiles) -> Iterator[Callable[[str, str], None]]:
    """Makes both files, empty, and gives what writes (key, settings) into them.

    So what GitHub tells once finds its place ready. Unless it was written both are removed again. Raises
    OSError, FileExistsError above all.
    """
    with ExitStack() as undo, ExitStack() as closing:
        key, env = (_made(path, undo, closing) for path in (files.key, files.env))

        def write(key_text: str, env_text: str) -> None:
            _write(key, key_text)
            _write(env, env_text)
            undo.pop_all()

        yield write


def _made(path: Path, undo: ExitStack, closing: ExitStack) -> int:
    """Private in the act of making it; nothing that exists is opened, no link followed."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
    undo.callback(path.unlink, missing_ok=True)
    closing.callback(os.close, handle)
    return handle


def _write(handle: int, text: str) -> None:
    with os.fdopen(handle, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    os.fsync(handle)
