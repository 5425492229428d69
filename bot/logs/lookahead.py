"""Crossings line by line, where a form may need the lines that follow."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from bot.logs.form import Crossing, Form, find_crossing
from bot.logs.lines import Line

_MARGIN: Final = re.compile(r"(?:E(?: {2,}|$))?\s*(?:\| |\+[-+]+ )?\s*")
_BOUNDARY: Final = re.compile(
    r"[.EFsx]*(?:Begin|End) \(\d+/\d+\)(?: BUNDLE .*)?:|\[CI Test Method\] |Ran \d+ tests? in |={3,}"
    r"|-{20,}|-+ Captured |_+ .* _+$|(?:ERROR|FAIL): |Traceback \(most |retry\(\) failed|##\[error\]"
)


class Lookahead:
    """Hands each line on with its crossing. A line that may start a form of several lines waits for them; the
    lines of a match are handed on without a crossing of their own."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self._held: deque[Line] = deque()
        self.missing = 0
        """Lines needed before the first one held can be answered."""

    def read(self, line: Line) -> Iterator[tuple[Line, Crossing | None]]:
        self._held.append(line)
        return self._answer(final=not line.whole or self._ends_form(line))

    def flush(self) -> Iterator[tuple[Line, Crossing | None]]:
        return self._answer(final=True)

    def _answer(self, *, final: bool) -> Iterator[tuple[Line, Crossing | None]]:
        self.missing = 0
        while self._held:
            window = self._window()
            if not final and len(self._held) < window:
                self.missing = window - len(self._held)
                return
            crossing = self._crossing(window) if window else None
            yield self._held.popleft(), crossing
            for _ in range(min(crossing.lines - 1 if crossing else 0, len(self._held))):
                yield self._held.popleft(), None

    def _window(self) -> int:
        """Lines that the forms hinted at by the first one held may span; 0 where none is."""
        first = self._held[0]
        if not first.whole:
            return 0
        return max((form.lines for form in self._forms if form.hint in first.text), default=0)

    def _crossing(self, window: int) -> Crossing | None:
        texts = [_without_margin(self._held[0].text)]
        for line in list(self._held)[1:window]:
            if not line.whole or self._ends_form(line):
                break
            texts.append(_without_margin(line.text))
        return find_crossing("\n".join(texts), self._forms)

    @staticmethod
    def _ends_form(line: Line) -> bool:
        return _BOUNDARY.match(line.text) is not None


def _without_margin(text: str) -> str:
    margin = _MARGIN.match(text)
    return text[margin.end() :] if margin else text
