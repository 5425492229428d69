"""Test and try of every printed check of a section.

A try that crossed its bound ends with the check that crossed. One that failed for another reason ends
anywhere: a check printed before the line of its retry is its own, one printed after it may be late. There a
label that comes again begins the next try, and a single check counts for the last try, so that a retry is
never read as a first try.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from bot.logs.banners import Namer
from bot.logs.names import TestName
from bot.logs.pairing import pair
from bot.logs.section import Block, Section
from bot.logs.story import Attempt, Story, compatible


@dataclass(slots=True)
class Told:
    """A block with the test and the try that it belongs to; `attempt` where a crossing speaks of it."""

    block: Block
    test: TestName
    number: int
    attempt: Attempt | None = None


def told_blocks(section: Section, stories: list[Story], namer: Namer) -> list[Told]:
    """All blocks of the section in the order they were printed; pairs blocks and tries on the way."""
    pairs = pair(section.blocks, stories)
    told: list[Told] = []
    runs: dict[object, list[Told]] = {}
    for block, story in _owners(section, pairs, namer):
        test = story.name if story is not None else namer.name(block)
        number = block.try_number or 1 + section.reruns_of(block.banner)
        one = Told(block, test, number, pairs[block.order][1] if block.order in pairs else None)
        told.append(one)
        runs.setdefault(_run_key(test, story), []).append(one)
    tries: dict[object, list[Story]] = {}
    for story in stories:
        tries.setdefault(_run_key(story.name, story), []).append(story)
    for key, of_test in tries.items():
        if key in runs:
            _Tries(of_test).count(runs[key], pairs)
    return told


def _run_key(test: TestName, story: Story | None) -> object:
    return test.key if test.known else id(story)


def _owners(
    section: Section, pairs: dict[int, tuple[Story, Attempt]], namer: Namer
) -> Iterator[tuple[Block, Story | None]]:
    """The story of each block that is paired, or that follows such a one without a banner to be trusted."""
    awaits: Story | None = None
    labels: set[str | None] = set()
    for block in section.blocks:
        if block.order in pairs:
            story, attempt = pairs[block.order]
            labels = {block.label, None, *(seen.crossing.label for seen in story.attempts)}
            awaits = story if attempt.number in story.retries else None
            yield block, story
        elif awaits is None or section.parallel:
            yield block, None
        elif not block.trusted and block.label in labels and compatible(block.banner, awaits.name):
            yield block, awaits
        else:
            if not namer.name(block).agrees(awaits.name):
                awaits = None
            else:
                labels.add(block.label)
            yield block, None


class _Tries:
    """The tries of one test in the order they were made, as far as they are known."""

    def __init__(self, stories: list[Story]) -> None:
        self._tries = [
            (story, number) for story in sorted(stories, key=lambda s: s.order) for number in _numbers(story)
        ]
        self._index = {(id(story), number): index for index, (story, number) in enumerate(self._tries)}
        ends = [
            (story.retries[number], index)
            for index, (story, number) in enumerate(self._tries)
            if number in story.retries
        ]
        self._ends = sorted(ends)

    def count(self, told: list[Told], pairs: dict[int, tuple[Story, Attempt]]) -> None:
        """Sets the number of every block of the test; `told` is in the order of time."""
        first, waiting = 0, list[Told]()
        for one in told:
            waiting.append(one)
            if one.attempt is None:
                continue
            index = self._index[id(pairs[one.block.order][0]), one.attempt.number]
            self._spread(waiting, first, max(first, index))
            self._set(one, index)
            first, waiting = self._after(index), []
        self._spread(waiting, first, len(self._tries) - 1)

    def _after(self, index: int) -> int:
        """The first try that a check after the one that crossed may belong to."""
        return min(index + 1, len(self._tries) - 1)

    def _spread(self, waiting: list[Told], first: int, last: int) -> None:
        """Blocks up to one whose try is known: by their labels, the last run of them in the last try."""
        runs = _runs(waiting)
        shift = max(0, last - first - (runs[-1] if runs else 0))
        for one, run in zip(waiting, runs, strict=True):
            self._set(one, min(first + shift + run, last, self._latest(one.block.order)))

    def _latest(self, order: int) -> int:
        """The last try that can have printed by then: the line of its retry comes later."""
        place = bisect_right(self._ends, (order, len(self._tries)))
        return self._ends[place][1] if place < len(self._ends) else len(self._tries) - 1

    def _set(self, one: Told, index: int) -> None:
        story, number = self._tries[index]
        earlier = story.earlier if one.block.try_number is None else one.block.try_number - 1
        one.number = earlier + number


def _numbers(story: Story) -> list[int]:
    return sorted({1, *story.retries, story.failed + 1, *(attempt.number for attempt in story.attempts)})


def _runs(told: list[Told]) -> list[int]:
    """Which run through the checks each block is of: a label that was seen before begins the next."""
    runs, seen, run = list[int](), set[str](), 0
    for one in told:
        label = one.block.label
        if label in seen:
            run, seen = run + 1, set()
        if label is not None:
            seen.add(label)
        runs.append(run)
    return runs
