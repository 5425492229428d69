"""What a bound was in each version of the file that holds it: pure, the versions are the caller's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.source.lineage import ReadFile
from bot.source.locate import ATTRIBUTES, EXACT_GATE, locate
from bot.source.site import Site
from bot.verdict.answer import Refusal


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that touched the file; `at` is when it was committed. Whose it is stays out of it."""

    sha: str
    at: datetime
    subject: str = ""


@dataclass(frozen=True, slots=True)
class BoundChange:
    """The bound moved from `old` to `new`, which is `factor` times the first bound (see factor_over).

    `certain`: the version just before was read too; else it may have moved in one of those between.
    """

    commit: Commit
    old: float
    new: float
    factor: float | None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Gap:
    """A version in which the bound could not be read."""

    commit: Commit
    why: Refusal


@dataclass(frozen=True, slots=True)
class BoundHistory:
    """`first` is the value in the oldest version that could be read, of the commit `since`."""

    first: float | None = None
    since: Commit | None = None
    changes: tuple[BoundChange, ...] = ()
    gaps: tuple[Gap, ...] = ()
    versions: int = 0

    @property
    def last(self) -> float | None:
        return self.changes[-1].new if self.changes else self.first


def factor_over(first: float | None, bound: float) -> float | None:
    """`bound` as a multiple of the first one; None where that is 0 or unknown, or the result not finite."""
    factor = bound / first if first else math.nan
    return factor if math.isfinite(factor) else None


def history(
    versions: Iterable[tuple[Commit, bytes | Refusal | None]],
    path: str,
    test: str,
    read_file: ReadFile,
    attributes: Sequence[str] = ATTRIBUTES,
    exact_gate: float = EXACT_GATE,
) -> BoundHistory:
    """The bound of `test` ('file.py::Class.method') through the versions of the file `path`, oldest first.

    `path` is the file's name today: versions under older names are handed over as if they had it. Each is
    read by `locate`, all other files as `read_file` gives them; a Refusal in place of the bytes says why a
    version was not read, None that it has no such file.
    """
    first, since = None, None
    changes: list[BoundChange] = []
    gaps: list[Gap] = []
    known: dict[bytes, float | Refusal] = {}
    certain, last, count = True, None, 0
    for commit, data in versions:
        count += 1
        value = _value(data, path, test, read_file, attributes, exact_gate, known)
        if isinstance(value, Refusal):
            gaps.append(Gap(commit, value))
            certain = False
            continue
        if last is None:
            first, since = value, commit
        elif value != last:
            changes.append(BoundChange(commit, last, value, factor_over(first, value), certain))
        last, certain = value, True
    return BoundHistory(first, since, tuple(changes), tuple(gaps), count)


def _value(
    data: bytes | Refusal | None,
    path: str,
    test: str,
    read_file: ReadFile,
    attributes: Sequence[str],
    exact_gate: float,
    known: dict[bytes, float | Refusal],
) -> float | Refusal:
    """Versions with the same bytes, as after a revert, are read once."""
    if isinstance(data, Refusal):
        return data
    if data is None:
        return Refusal("file_not_found", f"This commit has no file '{path}'.")
    if data not in known:
        file, _, name = test.rpartition("::")

        def read(wanted: str) -> bytes | None:
            return data if wanted == path else read_file(wanted)

        site = locate(file or path, name, read, attributes, exact_gate)
        known[data] = site.value if isinstance(site, Site) else site
    return known[data]
