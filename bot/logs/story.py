"""The tries of one test as a section prints them, and the listed failure that they end in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.logs.form import Crossing
from bot.logs.names import UNKNOWN, TestName
from bot.logs.section import Block, Report, Section, Sighting


@dataclass(slots=True)
class Attempt:
    """One try that crossed its bound. `try_index` (from 0) is known once its retry line was seen."""

    crossing: Crossing
    order: int
    at: str | None
    try_index: int | None = None
    traced: bool = False
    retry_first: bool = False
    measured: bool = False


@dataclass(slots=True)
class Story:
    """The tries of one run of one test. `red`: the runner listed it. `earlier`: tries that pytest reran."""

    banner: TestName
    attempts: list[Attempt] = field(default_factory=list)
    test: TestName | None = None
    red: bool = False
    earlier: int = 0
    next_try: int | None = None
    """The try that may follow the last failed one, while its values have not been met."""

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def name(self) -> TestName:
        return self.test or self.banner

    def label_with(self, label: str | None) -> None:
        """A subtest's label, where the message has none."""
        for attempt in self.attempts:
            if attempt.crossing.label is None:
                attempt.crossing = replace(attempt.crossing, label=label)


def stories_of(section: Section) -> list[Story]:
    """The tries seen while the tests ran, each with its test's name where a banner or a print tells it."""
    stories = _stories([seen for seen in section.sightings if seen.crossing.value is not None])
    _name_by_prints(section, stories)
    return stories


def _stories(sightings: list[Sighting]) -> list[Story]:
    stories: list[Story] = []
    for seen in sightings:
        last = stories[-1].last if stories and stories[-1].banner == seen.banner else None
        same = last is not None and last.crossing.key == seen.crossing.key
        if last is not None and same and _belongs(last, seen):
            last.traced = True
            last.try_index = last.try_index if seen.try_index is None else seen.try_index
            if last.try_index == 0 and len(stories[-1].attempts) > 1:
                stories.append(Story(seen.banner, [stories[-1].attempts.pop()]))
            continue
        attempt = Attempt(seen.crossing, seen.order, seen.at, seen.try_index)
        attempt.traced = attempt.try_index is None
        attempt.retry_first = not attempt.traced
        if last is not None and last.try_index is not None and seen.try_index != 0:
            stories[-1].attempts.append(attempt)
        else:
            stories.append(Story(seen.banner, [attempt]))
    return stories


def _belongs(last: Attempt, seen: Sighting) -> bool:
    """Whether a sighting of equal value is another print of the same try. Frozen code prints equal values on
    every try, so a traceback after 'traceback, retry line' is the next try; after 'retry line' it is not."""
    if seen.try_index is not None:
        return last.try_index is None
    return last.try_index is None or (last.retry_first and not last.traced)


def recap(section: Section, stories: list[Story], report: Report) -> bool:
    """Joins a listed failure to the tries seen before; False if it is not about a bound."""
    waiting = [story for story in stories if not story.red and compatible(story.banner, report.test)]
    if report.crossing is None or report.crossing.value is None:
        same = [story for story in waiting if story.banner.agrees(report.test)]
        for story in same:
            story.red, story.test = True, report.test
        return report.crossing is not None and any(story.last.try_index is None for story in same)
    attempt = Attempt(report.crossing, report.order, report.at)
    final = [s for s in waiting if s.last.try_index is None and s.last.crossing.key == report.crossing.key]
    retried = [s for s in waiting if s.last.try_index is not None]
    retried = [s for s in retried if s.last.crossing.label == report.crossing.label] or retried
    if final:
        story = final[0]
    elif retried:
        story = retried[0]
        story.attempts.append(attempt)
    else:
        story = Story(report.test, [attempt])
        stories.append(story)
    story.red, story.test, story.earlier = True, report.test, section.reruns_of(report.test)
    story.label_with(report.label)
    return True


def compatible(banner: TestName, test: TestName) -> bool:
    return not (banner.known and test.known) or banner.agrees(test)


def _name_by_prints(section: Section, stories: Sequence[Story]) -> None:
    """A banner may come later than the traceback; the block of equal value and label stands under it."""
    nameless = [story for story in stories if not story.banner.known]
    wanted = {attempt.crossing.key for story in nameless for attempt in story.attempts}
    names: dict[tuple[str, str | None], set[TestName]] = {}
    for block in section.blocks:
        key = repr(block.value), block.label
        if key in wanted and not block.banner_done:
            names.setdefault(key, set()).add(by_banner(section, block))
    for story in nameless:
        told = {name for attempt in story.attempts for name in names.get(attempt.crossing.key, ())}
        if len(told) == 1:
            story.banner = told.pop()


def by_banner(section: Section, block: Block) -> TestName:
    """Banners flush what was printed before them, so a block belongs to the last one, unless its label names
    another method of the file, or the method was over and no label ties the block to it. Where stdout lags,
    the last banner proves only the class, and only if there is one."""
    banner = block.banner
    if not banner.known or _tied(block.label, banner.method):
        return banner
    named = {test for test in section.banners if _tied(block.label, test.method)}
    if len(named) == 1:
        return named.pop()
    if block.lags and len({test.cls for test in section.banners}) > 1:
        return UNKNOWN
    return replace(banner, method=None) if named or block.banner_done or block.lags else banner


def _tied(label: str | None, method: str | None) -> bool:
    return bool(label and method) and (str(label) in str(method) or str(method) in str(label))
