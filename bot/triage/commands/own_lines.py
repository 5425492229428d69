"""Which lines of a comment are its author's own words, as GitHub renders them. Pure, time about linear.

Not theirs: fenced and indented code, inline code (also over several lines), HTML comments, and what stands in
<details>, <pre>, <code> or <blockquote>. Where Markdown leaves a doubt, a line counts as not theirs. Quoted
lines begin with `>`, so no command begins there; a line without it was typed by the author, also where
Markdown draws it into the quote above.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

_LINE_END: Final = re.compile(r"\r\n?|\n")
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_INDENTED: Final = re.compile(r" {4}| {0,3}\t")
# Lines that end the paragraph above them without a blank line, and inline code with it.
_INTERRUPTS: Final = re.compile(
    r" {0,3}(?:<!--|</?(?:details|summary|pre|blockquote|div|p|table|ul|ol)(?![\w-])|>|#{1,6}(?:[ \t]|$)"
    r"|[-+*][ \t]+\S|1[.)][ \t]+\S|(?:[-_*][ \t]*){3,}$)",
    re.IGNORECASE,
)
_TICKS: Final = re.compile("`+")
_TOKEN: Final = re.compile(
    r"\\.|`+|<!--|<(?P<end>/?)(?:details|pre|code|blockquote)(?![\w-])", re.DOTALL | re.IGNORECASE
)
_HIDDEN: Final = "\0"


def own_lines(body: str) -> list[str]:
    """The lines that begin outside all of it, in order, without their line ends."""
    reader = _Reader()
    for line in _LINE_END.split(body.replace(_HIDDEN, "")):
        reader.read(line)
    reader.end_paragraph()
    return reader.found


class _Reader:
    """Blocks line by line; what is inline, when its paragraph has ended."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._paragraph: list[str] = []
        self._fence = ""
        self._in_comment = False
        self._depth = 0
        """Open elements that hide what is in them."""

    def read(self, line: str) -> None:
        if self._fence:
            if _closes(line, self._fence):
                self._fence = ""
            return
        fence, blank = _FENCE.match(line), not line.strip()
        if fence or blank or _INTERRUPTS.match(line):
            self.end_paragraph()
        if self._in_comment:
            self._in_comment = "-->" not in line
        elif fence:
            self._fence = fence.group(1)
        elif not blank and (self._paragraph or not _INDENTED.match(line)):
            self._paragraph.append(line)

    def end_paragraph(self) -> None:
        text = "\n".join(self._paragraph)
        self._paragraph = []
        shown = "".join(
            piece.replace("\n", f"\n{_HIDDEN}") if hidden else piece for piece, hidden in self._pieces(text)
        )
        self.found += [line for line in shown.split("\n") if line and not line.startswith(_HIDDEN)]

    def _pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """A paragraph in pieces, and whether each is hidden."""
        ticks: dict[int, list[int]] = defaultdict(list)
        for run in _TICKS.finditer(text):
            ticks[len(run.group())].append(run.start())
        # A hidden piece marks the lines that begin after its line breaks; the first line has none before it.
        position = 0
        yield (_HIDDEN if self._depth else ""), False
        while (token := _TOKEN.search(text, position)) is not None:
            yield text[position : token.start()], self._depth > 0
            mark, position = token.group(), token.end()
            if mark.startswith("`"):
                position = _after_closing(ticks[len(mark)], position, len(mark))
            elif mark == "<!--":
                end = text.find("-->", position)
                self._in_comment = end < 0
                position = len(text) if end < 0 else end + 3
            elif mark.startswith("<"):
                self._depth = max(self._depth - 1, 0) if token["end"] else self._depth + 1
            yield text[token.start() : position], not mark.startswith("\\") or self._depth > 0
        yield text[position:], self._depth > 0


def _closes(line: str, fence: str) -> bool:
    """Markdown: at least as long as the opening fence, of the same kind, and nothing behind it."""
    match = _FENCE.match(line)
    return match is not None and match.group(1).startswith(fence) and not line.strip().strip(fence[0])


def _after_closing(runs: list[int], position: int, length: int) -> int:
    """The end of inline code that began before `position`; `position` where no run of its length ends it."""
    place = bisect_left(runs, position)
    return runs[place] + length if place < len(runs) else position
