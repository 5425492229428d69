"""Errors of files are values: every one, as `file:line:column: message`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rules.document import MAX_BYTES, Problem

MAX_ERRORS: Final = 100


@dataclass(frozen=True, slots=True)
class PackErrors:
    """What is wrong with a file, in the order of its lines."""

    errors: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.errors)


def read_file(path: str | Path) -> bytes | PackErrors:
    """The bytes of a file, or one more than a document may have."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        return PackErrors((f"{path}:1:1: cannot be read: {error.strerror or error}",))


def listed(problems: Sequence[Problem], name: str) -> PackErrors:
    """Each problem once, by its place; `name` is the file's."""
    ordered = sorted(set(problems), key=lambda problem: (problem.position, problem.message))
    lines = [f"{name}:{p.position[0]}:{p.position[1]}: {p.message}" for p in ordered[:MAX_ERRORS]]
    return PackErrors(tuple(lines))
