"""What a bound was in each version of the file that holds it: pure, the versions are the caller's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bot.source.lineage import ReadFile
from bot.source.locate import ATTRIBUTES, EXACT_GATE, locate
from bot.source.site import Site
from bot.verdict.answer import Refusal

MAX_SUBJECT: Final = 200

# What names people in a subject.
_TRAILER: Final = re.compile(r"\s*\b(?:co-authored-by|signed-off-by):.*", re.IGNORECASE)
_MAIL: Final = re.compile(r"\s*<?[^\s<>@]+@[^\s<>@]*[^\s<>@:,;.)]>?")
_MERGE: Final = re.compile(r"(Merge pull request #\d+) from .*")


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
    """`first` is the value in the oldest version that could be read, of the commit `since`.

    `reaches_back`: no version before it can have had another bound.
    """

    first: float | None = None
    since: Commit | None = None
    changes: tuple[BoundChange, ...] = ()
    gaps: tuple[Gap, ...] = ()
    versions: int = 0
    reaches_back: bool = False

    @property
    def last(self) -> float | None:
        return self.changes[-1].new if self.changes else self.first


def factor_over(first: float | None, bound: float) -> float | None:
    """`bound` as a multiple of the first one; None where that is 0 or unknown, or the result not finite."""
    factor = bound / first if first else math.nan
    return factor if math.isfinite(factor) else None


ReadAt = Callable[[Commit, str], bytes | None]
"""Another file of the tree as it was at a commit."""


def subject_line(message: str) -> str:
    """The first line of a commit's message without what names people: trailers, addresses, branches."""
    line = _MAIL.sub("", _TRAILER.sub("", message.partition("\n")[0][: 2 * MAX_SUBJECT]))
    return _MERGE.sub(r"\1", line).strip()[:MAX_SUBJECT]


def history(
    versions: Iterable[tuple[Commit, bytes | Refusal | None]],
    path: str,
    test: str,
    read_file: ReadFile,
    attributes: Sequence[str] = ATTRIBUTES,
    exact_gate: float = EXACT_GATE,
    read_at: ReadAt | None = None,
) -> BoundHistory:
    """The bound of `test` ('file.py::Class.method') through the versions of the file `path`, oldest first.

    `path` is the file's name today: versions under older names are handed over as if they had it. Each is
    read by `locate`, all other files as they were then by `read_at`; without it as `read_file` gives them
    today, and a bound that another file holds is a gap. A Refusal in place of the bytes says why a version
    was not read, None that it has no such file.
    """
    versions_of = _Versions(path, test, read_file, attributes, exact_gate, read_at)
    first, since = None, None
    changes: list[BoundChange] = []
    gaps: list[Gap] = []
    certain, last, count, reaches_back = True, None, 0, False
    for commit, data in versions:
        count += 1
        value = versions_of.value(commit, data)
        if isinstance(value, Refusal):
            if last is not None or not _has_none_yet(data, value):
                gaps.append(Gap(commit, value))
                certain = False
            continue
        if last is None:
            first, since, reaches_back = value, commit, not gaps
            certain = True
        elif value != last:
            changes.append(BoundChange(commit, last, value, factor_over(first, value), certain))
        last, certain = value, True
    return BoundHistory(first, since, tuple(changes), tuple(gaps), count, reaches_back)


def _has_none_yet(data: bytes | Refusal | None, why: Refusal) -> bool:
    """Whether the test is not in the file, nor anything called KL, which could be the bound of the test under
    another name."""
    absent = why.code in ("class_not_found", "bound_not_found", "bad_test")
    return absent and isinstance(data, bytes) and b"kl" not in data.lower()


@dataclass(slots=True)
class _Versions:
    path: str
    test: str
    read_file: ReadFile
    attributes: Sequence[str]
    exact_gate: float
    read_at: ReadAt | None
    known: dict[bytes, float | Refusal] = field(default_factory=dict)

    def value(self, commit: Commit, data: bytes | Refusal | None) -> float | Refusal:
        """Versions with the same bytes, as after a revert, are read once where no other file has a say."""
        if isinstance(data, Refusal):
            return data
        if data is None:
            return Refusal("file_not_found", f"This commit has no file '{self.path}'.")
        if data in self.known:
            return self.known[data]
        file, _, name = self.test.rpartition("::")
        others = False

        def read(wanted: str) -> bytes | None:
            nonlocal others
            if wanted == self.path:
                return data
            found = self.read_at(commit, wanted) if self.read_at is not None else self.read_file(wanted)
            others = others or self.read_at is not None
            return found

        site = locate(file or self.path, name, read, self.attributes, self.exact_gate)
        value = site.value if isinstance(site, Site) else site
        if self.read_at is None and isinstance(site, Site) and site.path != self.path:
            value = Refusal("other_file", f"The bound stood in '{site.path}' then, which was not read.")
        if not others:
            self.known[data] = value
        return value
