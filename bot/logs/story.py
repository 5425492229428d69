"""The tries of one test as a section prints them, and the listed failure that they end in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.logs.banners import Namer
from bot.logs.form import Crossing
from bot.logs.names import TestName
from bot.logs.section import Block, Report, Retry, Section, Sighting


@dataclass(slots=True)
class Attempt:
    """One try that crossed its bound; `number` counts the tries from 1."""

    number: int
    crossing: Crossing
    order: int
    at: str | None
    retried: bool = False
    """The line of its retry was seen."""
    traced: bool = False
    retry_first: bool = False
    block: Block | None = None
    """What it printed before its bound was asserted."""


@dataclass(slots=True)
class Story:
    """The tries of one run of one test. `red`: the runner listed it. `earlier`: tries that pytest reran."""

    banner: TestName
    attempts: list[Attempt] = field(default_factory=list)
    """The tries that crossed; none where all that failed did so for other reasons."""
    retries: dict[int, int] = field(default_factory=dict)
    """Tries that were followed by another, and where in the log their retry lines stand."""
    test: TestName | None = None
    red: bool = False
    earlier: int = 0
    failed: int = 0
    """The last try known to have been followed by another."""

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def name(self) -> TestName:
        return self.test or self.banner

    @property
    def awaits(self) -> bool:
        """Another try followed all those seen to fail."""
        return self.failed > 0 and (not self.attempts or self.last.number <= self.failed)

    @property
    def order(self) -> int:
        return min([*self.retries.values(), *(attempt.order for attempt in self.attempts)])

    def add(self, seen: Sighting) -> None:
        number = self.failed + 1 if seen.try_index is None else seen.try_index + 1
        attempt = Attempt(number, seen.crossing, seen.order, seen.at)
        attempt.traced = seen.try_index is None
        attempt.retry_first = attempt.retried = not attempt.traced
        self.attempts.append(attempt)
        if attempt.retried:
            self.retry(number, seen.order)

    def retry(self, number: int, order: int) -> None:
        self.retries[number] = order
        self.failed = max(self.failed, number)

    def label_with(self, label: str | None) -> None:
        """A subtest's label, where the message has none."""
        for attempt in self.attempts:
            if attempt.crossing.label is None:
                attempt.crossing = replace(attempt.crossing, label=label)


def stories_of(section: Section, namer: Namer) -> list[Story]:
    """The tries seen while the tests ran, each with its test's name where a banner or a print tells it."""
    stories: list[Story] = []
    events: list[Sighting | Retry] = [s for s in section.sightings if s.crossing.value is not None]
    for event in sorted([*events, *section.retries], key=lambda event: event.order):
        story = stories[-1] if stories and stories[-1].banner == event.banner else None
        if isinstance(event, Retry):
            _retry(stories, story, event)
        else:
            _see(stories, story, event)
    _name_by_prints(section, stories, namer)
    return stories


def _retry(stories: list[Story], story: Story | None, event: Retry) -> None:
    if story is None or (story.attempts and event.number <= story.failed):
        story = Story(event.banner)
        stories.append(story)
    story.retry(event.number, event.order)
    if story.attempts and story.last.number == event.number:
        story.last.retried = True


def _see(stories: list[Story], story: Story | None, seen: Sighting) -> None:
    last = story.last if story is not None and story.attempts else None
    if story is not None and last is not None and _belongs(last, seen):
        last.traced = True
        if seen.try_index is not None:
            if seen.try_index == 0 and last.number > 1:
                story.attempts.pop()
                story = Story(seen.banner, [last])
                stories.append(story)
            last.number, last.retried = seen.try_index + 1, True
            story.retry(last.number, seen.order)
        return
    if story is None or not story.awaits or seen.try_index == 0:
        story = Story(seen.banner)
        stories.append(story)
    story.add(seen)


def _belongs(last: Attempt, seen: Sighting) -> bool:
    """Whether a sighting is another print of the same try. Frozen code prints equal values on every try, so a
    traceback after 'traceback, retry line' is the next try; after 'retry line' it is not."""
    if last.crossing.key != seen.crossing.key:
        return False
    if seen.try_index is not None:
        return not last.retried
    return not last.retried or (last.retry_first and not last.traced)


def recap(section: Section, stories: list[Story], report: Report) -> bool:
    """Joins a listed failure to the tries seen before; False if it is one of its own, not about a bound."""
    waiting = [story for story in stories if not story.red and compatible(story.banner, report.test)]
    if report.crossing is None or report.crossing.value is None:
        return _recap_other(section, waiting, report)
    crossed = [story for story in waiting if story.attempts]
    final = [s for s in crossed if not s.awaits and s.last.crossing.key == report.crossing.key]
    retried = [s for s in crossed if s.awaits]
    retried = [s for s in retried if s.last.crossing.label == report.crossing.label] or retried
    retried = retried or [s for s in waiting if not s.attempts and s.banner.agrees(report.test)]
    if final:
        story = final[0]
    else:
        story = retried[0] if retried else Story(report.test)
        if not retried:
            stories.append(story)
        story.attempts.append(Attempt(story.failed + 1, report.crossing, report.order, report.at))
    story.red, story.test, story.earlier = True, report.test, section.reruns_of(report.test)
    story.label_with(report.label)
    return True


def _recap_other(section: Section, waiting: list[Story], report: Report) -> bool:
    """A test that crossed its bound and then, on its last try, failed for another reason is one failure: the
    bound was crossed, and no try showed that it holds. Without banners the first try is known by the line of
    its retry: if no other one is left, it is the test's."""
    same = [story for story in waiting if story.banner.known and story.banner.agrees(report.test)]
    nameless = [story for story in waiting if not story.banner.known and story.awaits]
    if not same and report.retried and len(nameless) == 1 and not section.retries_of(report):
        same = nameless
    for story in same:
        story.red, story.test = True, report.test
    crossed = [story for story in same if story.attempts]
    traced = report.crossing is not None and any(not story.last.retried for story in crossed)
    return traced or any(story.awaits for story in crossed)


def compatible(banner: TestName, test: TestName) -> bool:
    return not (banner.known and test.known) or banner.agrees(test)


def _name_by_prints(section: Section, stories: Sequence[Story], namer: Namer) -> None:
    """A banner may come later than the traceback; the block of equal value and label stands under it."""
    nameless = [story for story in stories if not story.banner.known]
    wanted = {attempt.crossing.key for story in nameless for attempt in story.attempts}
    names: dict[tuple[str, str | None], set[TestName]] = {}
    for block in section.blocks:
        key = repr(block.value), block.label
        if key in wanted and not block.banner_done:
            names.setdefault(key, set()).add(namer.name(block))
    for story in nameless:
        told = {name for attempt in story.attempts for name in names.get(attempt.crossing.key, ())}
        if len(told) == 1:
            story.banner = told.pop()
