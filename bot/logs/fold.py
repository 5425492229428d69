"""What a section's prints add up to: each measured attempt once, each failed test once.

One failed attempt is printed up to four times: its block of values, its traceback, the line of the retry, the
entry in the runner's list. Values, labels and banners tell which prints belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bot.logs.form import Crossing
from bot.logs.result import Failure
from bot.logs.section import NO_NAME, UNKNOWN, Block, Report, Section, Sighting, TestName
from bot.verdict.reading import Arm, Reading, Status


@dataclass(slots=True)
class _Attempt:
    """One try that crossed its bound. `try_index` (from 0) is known once its retry line was seen."""

    crossing: Crossing
    order: int
    at: str | None
    try_index: int | None = None
    traced: bool = False
    retry_first: bool = False
    measured: bool = False


@dataclass(slots=True)
class _Story:
    """The tries of one run of one test. `red`: the runner listed it."""

    banner: TestName
    attempts: list[_Attempt] = field(default_factory=list)
    test: TestName | None = None
    path: str | None = None
    red: bool = False
    next_try: int | None = None
    """The try that may follow the last failed one, while its values have not been met."""

    @property
    def last(self) -> _Attempt:
        return self.attempts[-1]

    @property
    def name(self) -> TestName:
        return self.test or self.banner

    def test_id(self, section: Section) -> str | None:
        return self.name.under(self.path or section.path)


def fold(section: Section, arm: Arm, host: str | None) -> tuple[list[Reading], list[Failure]]:
    """The readings of a section in the order they were printed, and its failures."""
    stories = _stories(section.sightings)
    others = [report for report in section.reports if not _recap(stories, report)]
    readings = _readings(section, stories, arm, host)
    failures = [_bound_failure(section, story) for story in stories]
    failures += [_other_failure(section, report) for report in others if report.finished]
    return readings, failures


def _stories(sightings: list[Sighting]) -> list[_Story]:
    stories: list[_Story] = []
    for seen in sightings:
        last = stories[-1].last if stories and stories[-1].banner == seen.banner else None
        same = last is not None and last.crossing.key == seen.crossing.key
        if last is not None and same and _belongs(last, seen):
            last.traced = True
            last.try_index = last.try_index if seen.try_index is None else seen.try_index
            if last.try_index == 0 and len(stories[-1].attempts) > 1:
                stories.append(_Story(seen.banner, [stories[-1].attempts.pop()]))
            continue
        attempt = _Attempt(seen.crossing, seen.order, seen.at, seen.try_index)
        attempt.traced = attempt.try_index is None
        attempt.retry_first = not attempt.traced
        if last is not None and last.try_index is not None and seen.try_index != 0:
            stories[-1].attempts.append(attempt)
        else:
            stories.append(_Story(seen.banner, [attempt]))
    return stories


def _belongs(last: _Attempt, seen: Sighting) -> bool:
    """Whether a sighting of equal value is another print of the same try. Frozen code prints equal values on
    every try, so a traceback after 'traceback, retry line' is the next try; after 'retry line' it is not."""
    if seen.try_index is not None:
        return last.try_index is None
    return last.try_index is None or (last.retry_first and not last.traced)


def _recap(stories: list[_Story], report: Report) -> bool:
    """Joins a listed failure to the tries seen before; False if it is not about a bound."""
    waiting = [story for story in stories if not story.red and _compatible(story.banner, report.test)]
    if report.crossing is None:
        for story in waiting:
            if story.banner == report.test:
                story.red, story.test = True, report.test
        return False
    attempt = _Attempt(report.crossing, report.order, report.at)
    final = [s for s in waiting if s.last.try_index is None and s.last.crossing.key == report.crossing.key]
    retried = [s for s in waiting if s.last.try_index is not None]
    retried = [s for s in retried if s.last.crossing.label == report.crossing.label] or retried
    if final:
        story = final[0]
    elif retried:
        story = retried[0]
        story.attempts.append(attempt)
    else:
        story = _Story(report.test, [attempt])
        stories.append(story)
    story.red, story.test, story.path = True, report.test, report.path
    return True


def _compatible(banner: TestName, test: TestName) -> bool:
    return UNKNOWN in (banner, test) or banner == test


def _bound_failure(section: Section, story: _Story) -> Failure:
    """The last failed try speaks. Recovered only if the runner finished and did not list the test."""
    crossing, recovered = story.last.crossing, section.ran and not story.red
    return Failure(
        kind="bound",
        test=story.test_id(section),
        file=story.path or section.path,
        label=crossing.label,
        value=crossing.value,
        threshold=crossing.threshold,
        fails_when=crossing.fails_when,
        attempts=len(story.attempts) + (recovered and story.last.try_index is not None),
        recovered=recovered,
        message=crossing.message,
        rule=crossing.rule,
    )


def _other_failure(section: Section, report: Report) -> Failure:
    attempts = 1 + (section.other_retries[report.test] if report.retried else 0)
    path = report.path or section.path
    return Failure("other", report.test.under(path), path, attempts=attempts, message=report.message)


def _readings(section: Section, stories: list[_Story], arm: Arm, host: str | None) -> list[Reading]:
    """Blocks first; then the tries whose block never came, from their message alone."""
    measured = [(block.order, _block_reading(section, stories, block)) for block in section.blocks]
    for story in stories:
        for number, attempt in enumerate(story.attempts, 1):
            if not attempt.measured:
                crossing = attempt.crossing
                reading = Reading(
                    arm=arm,
                    test=story.test_id(section) or NO_NAME,
                    status=Status.OK,
                    value=crossing.value,
                    threshold=crossing.threshold,
                    label=crossing.label,
                    at=attempt.at,
                    attempt=number,
                )
                measured.append((attempt.order, reading))
    measured.sort(key=lambda item: item[0])
    return [replace(reading, arm=arm, host=host) for _, reading in measured]


def _block_reading(section: Section, stories: list[_Story], block: Block) -> Reading:
    test, number, crossing = _attribute(section, stories, block)
    threshold, label = block.threshold, block.label
    if crossing is not None:
        threshold = crossing.threshold if threshold is None else threshold
        label = crossing.label if label is None else label
    return Reading(
        arm=Arm.TRIGGER,
        test=test or NO_NAME,
        status=Status.OK,
        value=block.value,
        per_prompt=block.per_prompt,
        threshold=threshold,
        label=label,
        at=block.at,
        attempt=number,
    )


def _attribute(
    section: Section, stories: list[_Story], block: Block
) -> tuple[str | None, int, Crossing | None]:
    """Test, attempt and the crossing that states the same value, if one does."""
    paired = max(_pairs(stories, block), key=lambda pair: pair[0], default=None)
    if paired is not None:
        _, story, number = paired
        attempt = story.attempts[number - 1]
        attempt.measured = True
        if attempt is story.last and attempt.try_index is not None:
            story.next_try = number + 1
        return story.test_id(section), number, attempt.crossing
    for story in stories:
        if story.next_try is not None and _follows(story, block):
            number, story.next_try = story.next_try, None
            return story.test_id(section), number, None
    return _by_banner(section, block).under(section.path), 1, None


def _pairs(stories: list[_Story], block: Block) -> Iterator[tuple[tuple[bool, bool], _Story, int]]:
    """Tries with the block's value, rated by agreement of banner and label. Equal zeros or nans prove nothing
    alone."""
    telling = math.isfinite(block.value) and block.value != 0
    for story in stories:
        for number, attempt in enumerate(story.attempts, 1):
            if attempt.measured or repr(attempt.crossing.value) != repr(block.value):
                continue
            banner = block.banner != UNKNOWN and block.banner in (story.banner, story.test)
            label = block.label is not None and block.label == attempt.crossing.label
            if telling or banner or label:
                yield (banner, label), story, number


def _follows(story: _Story, block: Block) -> bool:
    label = story.last.crossing.label
    return _compatible(block.banner, story.banner) and (block.label is None or block.label == label)


def _by_banner(section: Section, block: Block) -> TestName:
    """Banners flush what was printed before them, so a block belongs to the last one, unless its label names
    another method of the file, or the method was over and no label ties the block to it."""
    banner = block.banner
    if banner == UNKNOWN or _tied(block.label, banner.method):
        return banner
    named = {test for test in section.banners if _tied(block.label, test.method)}
    if len(named) == 1:
        return named.pop()
    return TestName(banner.cls, None) if named or block.banner_done else banner


def _tied(label: str | None, method: str | None) -> bool:
    return bool(label and method) and (str(label) in str(method) or str(method) in str(label))
