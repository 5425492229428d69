"""What a section's prints add up to: each measured attempt once, each failed test once.

One failed attempt is printed up to four times: its block of values, its traceback, the line of the retry, the
entry in the runner's list. Values, labels and banners tell which prints belong together.
"""

from __future__ import annotations

from dataclasses import replace

from bot.logs.banners import Namer
from bot.logs.names import NO_NAME, TestName
from bot.logs.result import Failure
from bot.logs.section import Report, Section
from bot.logs.story import Story, recap, stories_of
from bot.logs.tries import Told, told_blocks
from bot.verdict.reading import Arm, Reading, Status


def fold(section: Section, arm: Arm, host: str | None) -> tuple[list[Reading], list[Failure]]:
    """The readings of a section in the order they were printed, and its failures."""
    section.index_names()
    _drop_digest(section)
    namer = Namer(section)
    stories = stories_of(section, namer)
    others = [report for report in section.reports if not recap(section, stories, report)]
    readings = _readings(section, stories, namer, arm, host)
    failures = [_bound_failure(section, story) for story in stories if story.attempts]
    failures += [_other_failure(section, report) for report in others if report.finished]
    failures += _unlisted(section)
    failures += _rerun_and_passed(section, stories)
    return readings, failures


def _drop_digest(section: Section) -> None:
    """Once the tests have run, a line that repeats a crossing reports it; none crosses anything then."""
    end = section.ran_at
    if end is None:
        return
    told = {seen.crossing.statement for seen in section.sightings if seen.order < end}
    told |= {report.crossing.statement for report in section.reports if report.crossing is not None}
    section.sightings = [
        seen for seen in section.sightings if seen.order < end or seen.crossing.statement not in told
    ]


def _test_id(section: Section, test: TestName) -> str | None:
    return test.under(section.path_of(test))


def _bound_failure(section: Section, story: Story) -> Failure:
    """The last failed try speaks. Recovered only if the runner finished and did not list the test; a test
    without a name may be any of those listed that failed otherwise on their last try."""
    crossing, recovered = story.last.crossing, section.ran and not story.red
    if not story.name.known and any(report.retried and not report.crossing for report in section.reports):
        recovered = False
    another = story.awaits and (recovered or story.red)
    return Failure(
        kind="bound",
        test=_test_id(section, story.name),
        file=section.path_of(story.name),
        label=crossing.label,
        value=crossing.value,
        threshold=crossing.threshold,
        fails_when=crossing.fails_when,
        attempts=story.earlier + max(story.last.number, story.failed) + another,
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


def _readings(
    section: Section, stories: list[Story], namer: Namer, arm: Arm, host: str | None
) -> list[Reading]:
    """Blocks first; then the tries whose block never came, from their message alone."""
    measured = [
        (one.block.order, _block_reading(section, one)) for one in told_blocks(section, stories, namer)
    ]
    for story in stories:
        for attempt in story.attempts:
            if attempt.block is None:
                crossing = attempt.crossing
                reading = Reading(
                    arm=arm,
                    test=_test_id(section, story.name) or NO_NAME,
                    status=Status.OK,
                    value=crossing.value,
                    threshold=crossing.threshold,
                    label=crossing.label,
                    at=attempt.at,
                    attempt=story.earlier + attempt.number,
                )
                measured.append((attempt.order, reading))
    measured.sort(key=lambda item: item[0])
    return [replace(reading, arm=arm, host=host) for _, reading in measured]


def _block_reading(section: Section, told: Told) -> Reading:
    block = told.block
    threshold, label = block.threshold, block.label
    if told.attempt is not None:
        crossing = told.attempt.crossing
        threshold = crossing.threshold if threshold is None else threshold
        label = crossing.label if label is None else label
    return Reading(
        arm=Arm.TRIGGER,
        test=_test_id(section, told.test) or NO_NAME,
        status=Status.OK,
        value=block.value,
        per_prompt=block.per_prompt,
        threshold=threshold,
        label=label,
        at=block.at,
        attempt=told.number,
    )
