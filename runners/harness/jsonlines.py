"""A file of JSON objects, one a line, in which there is never half a line."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MAX_LINE_BYTES: Final = 4 << 20


class JsonLines:
    """Appends; each line is with the operating system when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, record: Mapping[str, object]) -> None:
        """Raises OSError, a full disk for one; then the line is not in the file at all."""
        size = os.fstat(self._descriptor).st_size
        data = memoryview((json.dumps(record) + "\n").encode())
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def read_lines(path: Path) -> list[dict[str, object]]:
    """Its whole lines; what a killed writer left at the end is none. A file that is not there has none."""
    found = []
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        while (line := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
            with contextlib.suppress(ValueError, RecursionError):
                record = json.loads(line)
                if isinstance(record, dict):
                    found.append(record)
    return found


def replace_lines(path: Path, records: list[dict[str, object]]) -> None:
    """In one step: a reader sees the old file or the new one."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    unfinished.replace(path)
