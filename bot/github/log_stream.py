"""A log as it comes from GitHub's blob store: in pieces, with an end to how much and how long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import requests
from urllib3.exceptions import HTTPError

MAX_LOG_BYTES: Final = 4 * 2**30
MAX_LOG_S: Final = 15 * 60.0
_PIECE: Final = 1 << 18


class LogStream:
    """Iterates over the pieces of one answer, once. `cut`: a cap ended it, not the log."""

    def __init__(
        self, response: requests.Response, *, max_bytes: int = MAX_LOG_BYTES, max_s: float = MAX_LOG_S
    ) -> None:
        self._response, self._max_bytes, self._max_s = response, max_bytes, max_s
        self.cut = False
        self.size = 0
        """Bytes so far."""

    def __iter__(self) -> Iterator[bytes]:
        """Raises requests.ConnectionError when the connection breaks before the announced end."""
        until = time.monotonic() + self._max_s
        while piece := self._piece():
            room = self._max_bytes - self.size
            if len(piece) > room or time.monotonic() > until:
                self.cut = True
                yield piece[:room]
                return
            self.size += len(piece)
            yield piece

    def _piece(self) -> bytes:
        """What is there, not a full piece: a store that drips must not outlast the time cap unseen."""
        try:
            return bytes(self._response.raw.read1(_PIECE, decode_content=True))
        except HTTPError as error:
            raise requests.ConnectionError(error) from error
