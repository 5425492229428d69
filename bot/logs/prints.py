"""The prints of a running test: the banner of its method, and the block of values that a check prints."""

from __future__ import annotations

import re
from typing import Final

from bot.logs.lines import Line
from bot.logs.numbers import number, number_list, printed_threshold
from bot.logs.section import UNKNOWN, Block, TestName

MAX_BANNERS: Final = 1_000

_BANNER: Final = re.compile(r"\[CI Test Method\] (\w{1,200})\.(\w{1,200})$")
_PRINT: Final = re.compile(r"[.EFsx]*(kl_divs|avg_kl_div|ACC_THRESHOLDS)=(.*)")
_LABEL: Final = re.compile(r"[.EFsx]*\[([A-Za-z]\w{0,199})\] \d+ samples\b")
_PROGRESS: Final = re.compile(r"[.EFsx]+$")


class PrintReader:
    """Follows one file's output; `read` gives a block when its value was printed, its bound follows later."""

    def __init__(self) -> None:
        self.banner: TestName = UNKNOWN
        self.banner_done = False
        self.banners: set[TestName] = set()
        self.overflow = False
        self._forget()

    def _forget(self) -> None:
        self._label: str | None = None
        self._per_prompt: tuple[float, ...] = ()
        self._block: Block | None = None

    def read(self, line: Line, order: int) -> Block | None:
        text = line.text
        if printed := _PRINT.match(text):
            return self._read_value(printed[1], printed[2].strip(), line.at, order)
        if banner := _BANNER.search(text):
            self.banner, self.banner_done = TestName(banner[1], banner[2]), False
            self._forget()
            if len(self.banners) < MAX_BANNERS:
                self.banners.add(self.banner)
            else:
                self.overflow = True
        elif label := _LABEL.match(text):
            self._label = label[1]
        elif _PROGRESS.match(text):
            self.banner_done = True
        return None

    def _read_value(self, name: str, text: str, at: str | None, order: int) -> Block | None:
        block, self._block = self._block, None
        if name == "ACC_THRESHOLDS":
            if block is not None:
                block.threshold = printed_threshold(text)
            return None
        if name == "kl_divs":
            self._per_prompt = number_list(text)
            return None
        value = number(text)
        if value is not None:
            self._block = Block(
                order, value, self._per_prompt, self._label, at, self.banner, self.banner_done
            )
        self._label, self._per_prompt = None, ()
        return self._block
