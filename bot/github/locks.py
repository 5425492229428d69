"""Locks by key, for writes that look first: in one process, and the bot is one."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class Locks:
    """One lock a key, kept for as long as somebody has it or waits for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[Hashable, tuple[threading.RLock, int]] = {}

    @contextmanager
    def hold(self, *key: Hashable) -> Iterator[None]:
        """Waits until no other thread has this key; the same thread may take it again."""
        with self._guard:
            lock, users = self._held.get(key, (threading.RLock(), 0))
            self._held[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = lock, users - 1
