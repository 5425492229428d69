"""Which printed check a crossing speaks of: all checks and all tries of a section are matched together.

The surest pairs first: equal value, the banner's test, the label; then what leaves more open. Within a test
both sides are taken in the order of time. Few candidates are tried for each try, so that the work grows with
the number of prints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import islice
from typing import Final

from bot.logs.section import Block
from bot.logs.story import Attempt, Story

CANDIDATES: Final = 64
FEWER_DIGITS: Final = 3
_Key = tuple[object, ...]
_LEVELS: Final = ((True, True), (True, False), (False, True), (False, False))
"""Whether the test and the label must agree."""


def pair(blocks: Iterable[Block], stories: Iterable[Story]) -> dict[int, tuple[Story, Attempt]]:
    """Sets `block` of the tries that were printed; the result tells them by the order of the block."""
    free = {block.order: block for block in blocks}
    tries = [(story, attempt) for story in stories for attempt in story.attempts]
    pairs: dict[int, tuple[Story, Attempt]] = {}
    for test, label in _LEVELS:
        _match(free, tries, pairs, _by_value(test=test, label=label), _equal)
    _match(free, tries, pairs, _by_test, _rounded)
    return pairs


def _by_value(*, test: bool, label: bool) -> Callable[[Story | None, float, str | None, Block | None], _Key]:
    """The key on which both sides of a pair agree; empty where a side lacks a part of it."""

    def key(story: Story | None, value: float, printed: str | None, block: Block | None) -> _Key:
        name = _test_of(story, block)
        # Equal zeros or nans prove nothing alone.
        telling = math.isfinite(value) and value != 0
        if (test and name is None) or (label and printed is None) or not (test or label or telling):
            return ()
        return repr(value), name if test else None, printed if label else None

    return key


def _by_test(story: Story | None, _value: float, _printed: str | None, block: Block | None) -> _Key:
    name = _test_of(story, block)
    return () if name is None else (name,)


def _test_of(story: Story | None, block: Block | None) -> _Key | None:
    if block is not None:
        return block.banner.key if block.banner.known else None
    return story.name.key if story is not None and story.name.known else None


def _match(
    free: dict[int, Block],
    tries: list[tuple[Story, Attempt]],
    pairs: dict[int, tuple[Story, Attempt]],
    key: Callable[[Story | None, float, str | None, Block | None], _Key],
    agree: Callable[[Block, Attempt], bool],
) -> None:
    groups: dict[_Key, dict[int, Block]] = {}
    for order, block in free.items():
        groups.setdefault(key(None, block.value, block.label, block), {})[order] = block
    groups.pop((), None)
    for story, attempt in tries:
        crossing = attempt.crossing
        if attempt.block is not None or crossing.value is None:
            continue
        group = groups.get(key(story, crossing.value, crossing.label, None), {})
        for order, block in islice(group.items(), CANDIDATES):
            if agree(block, attempt) and not _barred(block, story, attempt):
                attempt.block, pairs[order] = block, (story, attempt)
                del group[order], free[order]
                break


def _equal(block: Block, attempt: Attempt) -> bool:
    return repr(block.value) == repr(attempt.crossing.value)


def _rounded(block: Block, attempt: Attempt) -> bool:
    """The message states the printed value with fewer digits, and the printed value crosses too."""
    crossing, labels = attempt.crossing, {block.label, attempt.crossing.label} - {None}
    if crossing.value is None or not (math.isfinite(crossing.value) and math.isfinite(block.value)):
        return False
    told, printed = Decimal(repr(crossing.value)), Decimal(repr(block.value))
    if len(labels) > 1 or len(printed.as_tuple().digits) < len(told.as_tuple().digits) + FEWER_DIGITS:
        return False
    if crossing.threshold is not None:
        passes = block.value <= crossing.threshold
        if passes if crossing.fails_when == "above" else block.value >= crossing.threshold:
            return False
    return abs(printed - told) <= Decimal(5).scaleb(int(told.as_tuple().exponent) - 1)


def _barred(block: Block, story: Story, attempt: Attempt) -> bool:
    """Another test was running, another run of the test, or the printed bound is not the message's."""
    bounds = block.threshold, attempt.crossing.threshold
    if None not in bounds and bounds[0] != bounds[1]:
        return True
    if block.trusted and story.name.known and not block.banner.agrees(story.name):
        return True
    return block.try_number not in (None, 1 + story.earlier)
