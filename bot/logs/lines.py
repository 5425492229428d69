"""Bytes of a job log in, the lines worth reading out, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from bot.logs.linear import BytesPattern

CHUNK: Final = 1 << 20
MAX_LINE: Final = 1 << 20
"""A longer line is passed over whole: what is cut is not read."""
MAX_PREFIX: Final = 512
FIRST_LINES: Final = 1_000
"""A job log bears its times from the start."""

_PREFIX: Final = re.compile(
    r"\ufeff?(?:[^\t]*\t[^\t]*\t)?\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)(?: |$)"
)
_ANSI: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_MARKER: Final = re.compile(r"##\[(?:group\](?!Run )|(?:endgroup|command|section|debug|notice|warning)\])")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its time stamp, colours and markers. `whole` is False where the log was cut in it."""

    text: str
    at: str | None
    whole: bool = True


class LineReader:
    """Iterates over the lines that `interest` matches, and over the next ones while `attention` is set."""

    def __init__(self, stream: BinaryIO | Iterable[bytes], interest: BytesPattern) -> None:
        self._stream, self._interest = stream, interest
        self.attention = 0
        """This many of the following lines come whatever they hold; the consumer sets it."""
        self.first_at: str | None = None
        self.last_at: str | None = None
        self._unstamped = 0

    def __iter__(self) -> Iterator[Line]:
        for block, whole in _line_blocks(_chunks(self._stream)):
            self._read_first_stamp(block)
            yield from self._interesting(block, whole)
            if self.first_at is not None:
                self.last_at = _last_stamp(block) or self.last_at

    def _read_first_stamp(self, block: bytes) -> None:
        """A log whose first lines bear no time has none: chatter may hold times of its own."""
        start = 0
        while self.first_at is None and self._unstamped < FIRST_LINES and start < len(block):
            end = _line_end(block, start)
            self.first_at = _stamp(block[start:end])
            self._unstamped += 1
            start = end + 1

    def _interesting(self, block: bytes, whole: bool) -> Iterator[Line]:
        position = 0
        while position < len(block):
            start = position
            if self.attention > 0:
                self.attention -= 1
            else:
                match = self._interest.search(block, position)
                if match is None:
                    return
                start = block.rfind(b"\n", position, match.start()) + 1 or position
            position = _line_end(block, start) + 1
            if position - start <= MAX_LINE:
                yield from _pieces(block[start : position - 1], whole)


def _stamp(line: bytes) -> str | None:
    return clean(line[:MAX_PREFIX]).at


def _last_stamp(block: bytes) -> str | None:
    end = len(block)
    while end > 0:
        start = block.rfind(b"\n", 0, end - 1) + 1
        at = _stamp(block[start : min(end, start + MAX_PREFIX)])
        if at is not None:
            return at
        end = start
    return None


def _line_end(block: bytes, start: int) -> int:
    end = block.find(b"\n", start)
    return len(block) if end < 0 else end


def _pieces(raw: bytes, whole: bool) -> Iterator[Line]:
    """A progress bar redraws its line with carriage returns: what follows one is a line of its own."""
    line = clean(raw, whole)
    for piece in line.text.split("\r"):
        yield Line(piece, line.at, whole)


def clean(raw: bytes, whole: bool = True) -> Line:
    """Strips BOM, time stamp, ANSI sequences, CR at the end and markers, but for those of errors and steps.
    Bytes that are not UTF-8 become U+FFFD."""
    text = raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
    prefix = _PREFIX.match(text)
    at = prefix[1] if prefix else None
    text = text[prefix.end() :] if prefix else text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    marker = _MARKER.match(text)
    return Line(text[marker.end() :] if marker else text, at, whole)


def _chunks(stream: BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    if not hasattr(stream, "read"):
        yield from stream
        return
    while chunk := stream.read(CHUNK):
        yield chunk


def _line_blocks(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Blocks that start and end at a line's bounds, but for the last where the log ends within a line."""
    tail = bytearray()
    skipping = False
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            skipping = skipping or len(tail) + len(chunk) > MAX_LINE
            if skipping:
                tail.clear()
            else:
                tail += chunk
            continue
        start = chunk.find(b"\n") + 1 if skipping else 0
        block = bytes(tail) + chunk[start:cut]
        if block:
            yield block, True
        tail, skipping = bytearray(chunk[cut:]), False
    if tail:
        yield bytes(tail), False
