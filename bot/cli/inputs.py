"""What commands read: files of readings and policies. Whatever is wrong with one is an `InputError`."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

import click

if TYPE_CHECKING:
    from bot.verdict import Context, Evidence, Policy

MAX_RECORDS: Final = 200_000
MAX_LINE: Final = 4 * 1024 * 1024


class InputError(click.ClickException):
    """One clear line for the person at the terminal."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"kl-triage: {self.message}", err=True)


@contextlib.contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """`-` is standard input."""
    if path == "-":
        yield sys.stdin.buffer
        return
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", path)
    with Path(path).open("rb") as stream:
        yield stream


def evidence(path: str, threshold: float | None, context: Context | None = None) -> Evidence:
    """Readings, one JSON object a line."""
    from bot.verdict import Evidence

    try:
        return Evidence.from_records(_records(path), threshold=threshold, context=context)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def policy(path: str | None) -> Policy:
    """The policy in a file; without one the judge's own."""
    from bot.verdict import Policy
    from rules import PackErrors, load_policy

    loaded = Policy() if path is None else load_policy(path)
    if isinstance(loaded, PackErrors):
        raise InputError("\n".join(loaded.errors))
    return loaded


def numbers(text: str) -> tuple[float, ...]:
    """`0.005,0.01`"""
    try:
        found = tuple(float(item) for item in text.split(",") if item.strip())
    except ValueError:
        found = (math.nan,)
    if not all(0 < number < math.inf for number in found):
        raise InputError(f"'{text}' is not a list of bounds such as 0.005,0.01")
    return found


def _records(path: str) -> Iterator[dict[str, object]]:
    with opened(path) as stream:
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise InputError(f"{path}:{number}: a line of over {MAX_LINE} bytes is no reading")
            if number > MAX_RECORDS:
                raise InputError(f"{path}: more than {MAX_RECORDS} records")
            if not line.strip():
                continue
            try:
                yield cast(dict[str, object], json.loads(line))
            except (ValueError, RecursionError):
                raise InputError(f"{path}:{number}: not a JSON object") from None
