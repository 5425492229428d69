"""What a section's prints add up to: each measured attempt once, each failed test once.

One failed attempt is printed up to four times: its block of values, its traceback, the line of the retry, the
entry in the runner's list. Values, labels and banners tell which prints belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from bot.logs.form import Crossing
from bot.logs.names import NO_NAME, TestName
from bot.logs.result import Failure
from bot.logs.section import Block, Report, Section
from bot.logs.story import Story, by_banner, compatible, recap, stories_of
from bot.verdict.reading import Arm, Reading, Status


def fold(section: Section, arm: Arm, host: str | None) -> tuple[list[Reading], list[Failure]]:
    """The readings of a section in the order they were printed, and its failures."""
    section.index_names()
    stories = stories_of(section)
    others = [report for report in section.reports if not recap(section, stories, report)]
    readings = _readings(section, stories, arm, host)
    failures = [_bound_failure(section, story) for story in stories]
    failures += [_other_failure(section, report) for report in others if report.finished]
    failures += _unlisted(section)
    failures += _rerun_and_passed(section, stories)
    return readings, failures


def _test_id(section: Section, test: TestName) -> str | None:
    return test.under(section.path_of(test))


def _bound_failure(section: Section, story: Story) -> Failure:
    """The last failed try speaks. Recovered only if the runner finished and did not list the test."""
    crossing, recovered = story.last.crossing, section.ran and not story.red
    passed = recovered and story.last.try_index is not None
    return Failure(
        kind="bound",
        test=_test_id(section, story.name),
        file=section.path_of(story.name),
        label=crossing.label,
        value=crossing.value,
        threshold=crossing.threshold,
        fails_when=crossing.fails_when,
        attempts=story.earlier + len(story.attempts) + passed,
        recovered=recovered,
        message=crossing.message,
        rule=crossing.rule,
    )


def _other_failure(section: Section, report: Report) -> Failure:
    return Failure(
        kind="other",
        test=_test_id(section, report.test),
        file=section.path_of(report.test),
        label=report.label,
        attempts=1 + section.reruns_of(report.test) + section.retries_of(report),
        message=report.crossing.message if report.crossing else report.message,
        rule=report.crossing.rule if report.crossing else None,
    )


def _unlisted(section: Section) -> list[Failure]:
    """Forms without a number, from a script that no test runner ran: they count where it exited red."""
    if not section.exited_red or section.ran or section.reports:
        return []
    said = {s.crossing.message: s for s in section.sightings if s.crossing.value is None}
    return [
        Failure(
            kind="other",
            test=_test_id(section, seen.banner),
            file=section.path_of(seen.banner),
            label=seen.crossing.label,
            message=message,
            rule=seen.crossing.rule,
        )
        for message, seen in said.items()
    ]


def _rerun_and_passed(section: Section, stories: list[Story]) -> list[Failure]:
    """pytest says of a test RERUN, then PASSED: its first try failed, with no word on why."""
    told = {story.name.key for story in stories}
    return [
        Failure(
            kind="other",
            test=_test_id(section, test),
            file=section.path_of(test),
            attempts=count + 1,
            recovered=True,
            message="RERUN",
        )
        for test, count in section.reruns.items()
        if test in section.passed and test.key not in told
    ]


def _readings(section: Section, stories: list[Story], arm: Arm, host: str | None) -> list[Reading]:
    """Blocks first; then the tries whose block never came, from their message alone."""
    measured = [(block.order, _block_reading(section, stories, block)) for block in section.blocks]
    for story in stories:
        for number, attempt in enumerate(story.attempts, 1):
            if not attempt.measured:
                crossing = attempt.crossing
                reading = Reading(
                    arm=arm,
                    test=_test_id(section, story.name) or NO_NAME,
                    status=Status.OK,
                    value=crossing.value,
                    threshold=crossing.threshold,
                    label=crossing.label,
                    at=attempt.at,
                    attempt=story.earlier + number,
                )
                measured.append((attempt.order, reading))
    measured.sort(key=lambda item: item[0])
    return [replace(reading, arm=arm, host=host) for _, reading in measured]


def _block_reading(section: Section, stories: list[Story], block: Block) -> Reading:
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
    section: Section, stories: list[Story], block: Block
) -> tuple[str | None, int, Crossing | None]:
    """Test, attempt and the crossing that states the same value, if one does."""
    paired = max(_pairs(stories, block), key=lambda pair: pair[0], default=None)
    if paired is not None:
        _, story, number = paired
        attempt = story.attempts[number - 1]
        attempt.measured = True
        if attempt is story.last and attempt.try_index is not None:
            story.next_try = story.earlier + number + 1
        return _test_id(section, story.name), story.earlier + number, attempt.crossing
    for story in stories:
        if story.next_try is not None and not section.parallel and _follows(story, block):
            number, story.next_try = story.next_try, None
            return _test_id(section, story.name), number, None
    number = block.try_number or 1 + section.reruns_of(block.banner)
    return _test_id(section, by_banner(section, block)), number, None


def _pairs(stories: list[Story], block: Block) -> Iterator[tuple[tuple[bool, bool], Story, int]]:
    """Tries with the block's value, rated by agreement of banner and label. Equal zeros or nans prove nothing
    alone."""
    telling = math.isfinite(block.value) and block.value != 0
    for story in stories:
        for number, attempt in enumerate(story.attempts, 1):
            if attempt.measured or repr(attempt.crossing.value) != repr(block.value):
                continue
            if block.try_number not in (None, story.earlier + number):
                continue
            banner = block.banner.known and block.banner.agrees(story.name)
            label = block.label is not None and block.label == attempt.crossing.label
            if telling or banner or label:
                yield (banner, label), story, number


def _follows(story: Story, block: Block) -> bool:
    label = story.last.crossing.label
    return compatible(block.banner, story.banner) and (block.label is None or block.label == label)
