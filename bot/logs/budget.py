"""Caps on what is kept of one log."""

from __future__ import annotations

from typing import Final

MAX_EVENTS: Final = 5_000
"""Blocks, crossings and listed failures; more than this is no test log."""
MAX_NUMBERS: Final = 1_000_000
"""Per-prompt values."""
MAX_FILES: Final = 2_000
"""Processes that ran test files."""


class Budget:
    """What may be kept of one log, over all its files. After an overflow nothing more is read."""

    def __init__(self) -> None:
        self._events = self._numbers = self._files = 0
        self.overflow = False

    def spend(self, numbers: int = 0) -> bool:
        self._events += 1
        self._numbers += numbers
        return self._check(self._events <= MAX_EVENTS and self._numbers <= MAX_NUMBERS)

    def open_file(self) -> bool:
        self._files += 1
        return self._check(self._files <= MAX_FILES)

    def _check(self, fits: bool) -> bool:
        self.overflow = self.overflow or not fits
        return fits
