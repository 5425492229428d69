"""Patterns with linear-time matching (RE2), typed. The only module that imports re2, which ships no stubs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, cast

import re2  # type: ignore[import-untyped]


class Match(Protocol):
    """The part of a match object that is used here."""

    @property
    def string(self) -> str: ...
    def group(self, group: int | str = 0, /) -> str | None: ...
    def start(self, group: int = 0, /) -> int: ...
    def end(self, group: int = 0, /) -> int: ...
    def groupdict(self) -> dict[str, str | None]: ...


class BytesMatch(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    """A compiled text pattern; what RE2 and `re` have in common."""

    @property
    def groupindex(self) -> Mapping[str, int]: ...
    def search(self, text: str, /) -> Match | None: ...
    def match(self, text: str, /) -> Match | None: ...


class BytesPattern(Protocol):
    def search(self, text: bytes, pos: int, /) -> BytesMatch | None: ...
    def finditer(self, text: bytes, /) -> Iterator[BytesMatch]: ...


class PatternError(ValueError):
    """Text that is not an RE2 pattern; the message is RE2's own."""


def compile_pattern(text: str) -> Pattern:
    """Matching takes time linear in the line, whatever the pattern. Raises PatternError."""
    try:
        return cast(Pattern, re2.compile(text, _options()))
    except re2.error as error:
        reason = error.args[0] if error.args else "not a pattern"
        raise PatternError(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


def compile_bytes(text: bytes) -> BytesPattern:
    """The same over raw bytes, which need not be UTF-8. `text` is ours, never a user's."""
    options = _options()
    options.encoding = re2.Options.Encoding.LATIN1
    return cast(BytesPattern, re2.compile(text, options))


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    return options
