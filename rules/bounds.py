"""Bounds that stand in shell and YAML files: where in a text they are."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, cast

from bot.logs.linear import Pattern
from bot.logs.numbers import number

_RUNS_ON: Final = re.compile(r"[\w.%$`/+-]| *\*")
"""What follows a number that is not the whole of the bound."""


@dataclass(frozen=True, slots=True, order=True)
class BoundSpan:
    """One bound in a text: `text[start:end] == spelling`; `line` and `column` count from 1, in characters."""

    start: int
    end: int
    line: int
    column: int
    spelling: str
    value: float


class _Match(Protocol):
    def span(self, group: int, /) -> tuple[int, int]: ...


class _Spanning(Protocol):
    """What the compiled patterns can do beyond `Pattern`."""

    def finditer(self, text: str, /) -> Iterator[_Match]: ...


def find_bounds(text: str, patterns: Iterable[Pattern]) -> tuple[BoundSpan, ...]:
    """Every number that a pattern's group `bound` matches, in the order of the text, each once.

    What is no finite number, or only a part of a word or of a product, is passed over.
    """
    starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]
    found: set[BoundSpan] = set()
    for pattern in patterns:
        for match in cast(_Spanning, pattern).finditer(text):
            start, end = match.span(pattern.groupindex["bound"])
            spelling = text[start:end] if start >= 0 else ""
            value = number(spelling)
            if spelling != spelling.strip() or value is None or not math.isfinite(value):
                continue
            if _RUNS_ON.match(text, end):
                continue
            line = bisect.bisect_right(starts, start)
            found.add(BoundSpan(start, end, line, start - starts[line - 1] + 1, spelling, value))
    return tuple(sorted(found))
