"""Paths of test files as a log prints them, made relative to the repository where the text allows it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

MAX_PATH: Final = 512
_TEST_FOLDERS: Final = ("test", "tests")


def relative_path(printed: str) -> str | None:
    """A runner checks out into …/name/name/: what follows is relative to the repository. Failing that, an
    absolute path is cut at its first test folder. None for what is no clean path."""
    path = PurePosixPath(printed)
    parts = path.parts
    if not parts or len(printed) > MAX_PATH or ".." in parts or not printed.isprintable():
        return None
    if not path.is_absolute():
        return str(path)
    for index in range(1, len(parts) - 2):
        if parts[index] == parts[index + 1]:
            return "/".join(parts[index + 2 :])
    for index, part in enumerate(parts[:-1]):
        if part in _TEST_FOLDERS:
            return "/".join(parts[index:])
    return path.name
