"""Errors of files are values: every one, as `file:line:column: message`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic_core import ErrorDetails

from rules.document import MAX_BYTES, Problem

MAX_ERRORS: Final = 100

_PLAIN: Final = {
    "missing": "is missing",
    "extra_forbidden": "is no key of this file",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "mapping_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_long": "may have at most {max_length} entries",
    "string_too_long": "may have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "value_error": "{error}",
}
"""What is wrong with a value, by the type of pydantic's error; the numbers are those of its context."""


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


def plain(detail: ErrorDetails) -> str:
    """One error of a value in plain words."""
    context = detail.get("ctx", {})
    if detail["type"] == "too_short":
        least = context["min_length"]
        return "needs at least one entry" if least == 1 else f"needs at least {least} entries"
    return _PLAIN.get(detail["type"], "{msg}").format(msg=detail["msg"], **context)


def listed(problems: Sequence[Problem], name: str) -> PackErrors:
    """Each problem once, by its place; `name` is the file's."""
    ordered = sorted(set(problems), key=lambda problem: (problem.position, problem.message))
    lines = [f"{name}:{p.position[0]}:{p.position[1]}: {p.message}" for p in ordered[:MAX_ERRORS]]
    return PackErrors(tuple(lines))
