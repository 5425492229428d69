"""The prints of a running test: the banner of its method, and the block of values that a check prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bot.logs.budget import Budget
from bot.logs.form import MAX_LABEL, Print
from bot.logs.lines import Line
from bot.logs.names import UNKNOWN, TestName
from bot.logs.numbers import number, number_list, printed_threshold
from bot.logs.section import Block

MAX_BANNERS: Final = 1_000

_BANNER: Final = re.compile(r"\[CI Test Method\] (\w{1,200})\.(\w{1,200})$")
_MARKS: Final = re.compile(r"[.EFsx]+")


class PrintReader:
    """Follows one file's output; `read` gives a block when its value was printed, its bound follows later."""

    def __init__(self, prints: Sequence[Print], budget: Budget) -> None:
        self._prints, self._budget = prints, budget
        self.banner: TestName = UNKNOWN
        self.banner_done = False
        self.banners: set[TestName] = set()
        self.flushing = False
        """The harness writes its banners through, and with them what was printed before."""
        self.fixed = False
        """The test is known from elsewhere, or cannot be known (several workers print at once): printed
        banners do not count."""
        self.lags = False
        self.try_number: int | None = None
        self.forget()

    def forget(self) -> None:
        """What was printed so far belongs to nothing that follows."""
        self._label: str | None = None
        self._per_prompt: tuple[float, ...] = ()
        self._block: Block | None = None

    def enter(self, test: TestName, *, lags: bool = False, try_number: int | None = None) -> None:
        """The prints that follow stand under this test's name. `lags`: they may be late ones of another."""
        self.banner, self.banner_done, self.lags, self.try_number = test, False, lags, try_number
        self.forget()
        if not test.known:
            return
        if len(self.banners) < MAX_BANNERS:
            self.banners.add(test)
        elif test not in self.banners:
            self._budget.overflow = True

    def read(self, line: Line, order: int) -> Block | None:
        if banner := _BANNER.search(line.text):
            if not self.fixed:
                self.flushing = True
                self.enter(TestName(banner[1], banner[2]))
            return None
        marks = _MARKS.match(line.text)
        if marks and marks.end() == len(line.text):
            self.banner_done = True
            return None
        unmarked = line.text[marks.end() :] if marks else None
        for printed in self._prints:
            if printed.hint in line.text:
                match = printed.pattern.match(line.text)
                if match is None and unmarked is not None:
                    match = printed.pattern.match(unmarked)
                if match is not None:
                    return self._take(match.groupdict(), line.at, order)
        return None

    def _take(self, groups: dict[str, str | None], at: str | None, order: int) -> Block | None:
        block, made = self._block, None
        if groups.get("label"):
            self._label = str(groups["label"])[:MAX_LABEL]
        if (listed := groups.get("per_prompt")) is not None:
            self._per_prompt, self._block = number_list(listed.strip()), None
        if (text := groups.get("value")) is not None:
            value = number(text)
            if value is not None:
                made = Block(
                    order=order,
                    value=value,
                    per_prompt=self._per_prompt,
                    label=self._label,
                    at=at,
                    banner=self.banner,
                    banner_done=self.banner_done,
                    try_number=self.try_number,
                    lags=self.lags,
                )
            self._label, self._per_prompt, self._block = None, (), made
            block = made
        if (bound := groups.get("threshold")) is not None:
            if block is not None:
                block.threshold = printed_threshold(bound.strip())
            self._block = None
        if self.fixed and not self.banner.known:
            self.forget()
        return made
