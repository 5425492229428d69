"""The log of a job as a runner sends it: a time stamp before every line, a BOM before the first.

A step's output is untrusted: lines and total are bounded, and its workflow commands (`::error::…`,
`::group::…`, `::add-mask::…`) only change how a line looks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

BOM: Final = "\ufeff".encode()
MAX_LOG_BYTES: Final = 64 * 1024 * 1024
MAX_LINE_BYTES: Final = 1024 * 1024
MAX_MASKS: Final = 100
_COMMAND: Final = re.compile(
    r"::(error|warning|notice|debug|group|endgroup|add-mask)(?: [^\n]*?)?::(.*)", re.DOTALL
)
_SHOWN: Final = {"group", "endgroup", "error", "warning", "notice"}


class JobLog:
    """Lines go out through `emit` as they come; `limit` bounds what the steps may print in all."""

    def __init__(self, emit: Callable[[bytes], None], limit: int = MAX_LOG_BYTES) -> None:
        self._emit = emit
        self._left = limit
        self._partial = b""
        self._masks: list[str] = []
        self._started = False
        self._cut = False

    def line(self, *texts: str) -> None:
        """The runner's own lines. They are few, and are written even when the limit is reached."""
        self._send([piece for text in texts for piece in self._masked(text).split("\n")])

    def group(self, title: str, *texts: str) -> None:
        self.line(f"##[group]{title}", *texts, "##[endgroup]")

    def error(self, text: str) -> None:
        self.line(f"##[error]{text}")

    def feed(self, data: bytes) -> None:
        """Output of a step, cut anywhere."""
        if self._cut:
            return
        *whole, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > MAX_LINE_BYTES:
            whole.append(self._partial)
            self._partial = b""
        self._print(whole)

    def flush(self) -> None:
        """A last line without a line end, when its step is over."""
        if self._partial and not self._cut:
            self._print([self._partial])
        self._partial = b""

    def _print(self, lines: list[bytes]) -> None:
        shown: list[str] = []
        for line in lines:
            self._left -= len(line) + 1
            if self._left < 0:
                shown.append(
                    "##[warning]The log is longer than this runner keeps; the rest of the output is cut."
                )
                self._cut = True
                break
            text = self._command(line.decode("utf-8", "replace"))
            if text is not None:
                shown.append(text)
        self._send(shown)

    def _command(self, text: str) -> str | None:
        """The line as it is shown; None for one that is not."""
        match = _COMMAND.fullmatch(text.rstrip("\r")) if text.startswith("::") else None
        if match is None:
            return self._masked(text)
        command, message = match.groups()
        if command == "add-mask" and message.strip() and len(self._masks) < MAX_MASKS:
            self._masks.append(message.strip())
        return f"##[{command}]{self._masked(message)}" if command in _SHOWN else None

    def _masked(self, text: str) -> str:
        for mask in self._masks:
            text = text.replace(mask, "***")
        return text

    def _send(self, lines: list[str]) -> None:
        if not lines:
            return
        stamp = _stamp()
        data = "".join(f"{stamp} {line}\n" for line in lines).encode("utf-8", "replace")
        self._emit(data if self._started else BOM + data)
        self._started = True


def _stamp() -> str:
    """UTC with seven decimals, as runners write it."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds // 100:07d}Z"
