"""Which test a printed check belongs to, by its banner and its label."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.logs.names import UNKNOWN, TestName
from bot.logs.section import Block, Section

MAX_TIED: Final = 64
"""A label that so many tests share names none of them."""


class Namer:
    """Banners flush what was printed before them, so a block under the banner of a running test is its own. A
    label decides only where the method was over, or stdout lags."""

    def __init__(self, section: Section) -> None:
        self._banners = section.banners
        self._classes = {test.cls for test in section.banners}
        self._bounds: dict[TestName, set[float]] = {}
        for block in section.blocks:
            if block.trusted and block.threshold is not None:
                self._bounds.setdefault(block.banner, set()).add(block.threshold)
        self._tied: dict[str, list[TestName]] = {}

    def name(self, block: Block) -> TestName:
        """Where stdout lags, the last banner proves only the class, and only if there is one."""
        banner = block.banner
        if not banner.known or block.trusted or _tied(block.label, banner.method):
            return banner
        named = self._named(block)
        if len(named) == 1:
            return named[0]
        if block.lags and len(self._classes) > 1:
            return UNKNOWN
        return replace(banner, method=None)

    def _named(self, block: Block) -> list[TestName]:
        """Tests that the label names, whose other prints do not state another bound."""
        label = block.label
        if label is None:
            return []
        if label not in self._tied:
            self._tied[label] = [test for test in self._banners if _tied(label, test.method)]
        tied = self._tied[label] if len(self._tied[label]) <= MAX_TIED else []
        return [
            test
            for test in tied
            if block.threshold is None or block.threshold in self._bounds.get(test, {block.threshold})
        ]


def _tied(label: str | None, method: str | None) -> bool:
    return bool(label and method) and (str(label) in str(method) or str(method) in str(label))
