"""Logs, artifacts and archives as they come from GitHub's blob store: in pieces, with an end to how much
and how long.

Their addresses are signed: whoever has one can read what it leads to, so no error carries it further.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import requests
from github import GithubException
from github.Repository import Repository
from urllib3.exceptions import HTTPError

from bot.github.connect import TIMEOUT_S

GONE: Final = (404, 410)
MAX_LOG_BYTES: Final = 4 * 2**30
MAX_LOG_S: Final = 15 * 60.0
_PIECE: Final = 1 << 18


class BlobUnreadable(requests.RequestException):
    """The blob store did not give what it holds; says why without the address."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the blob store could not be read ({why})")


@contextmanager
def fetched(url: str) -> Iterator[requests.Response | None]:
    """What the blob store answers at a signed address, not read yet; None where it is gone.

    The store refuses our token, so it is asked without. Raises BlobUnreadable.
    """
    try:
        response = requests.get(url, stream=True, timeout=TIMEOUT_S)
    except (requests.RequestException, HTTPError, UnicodeError) as error:
        raise BlobUnreadable(type(error).__name__) from None
    with response:
        if not response.ok and response.status_code not in GONE:
            raise BlobUnreadable(f"status {response.status_code}")
        yield response if response.ok else None


@contextmanager
def job_log(repo: Repository, job_id: int) -> Iterator[BlobStream | None]:
    """The log of a job as a stream, or None when GitHub does not have it.

    Raises GithubException for the answer of GitHub itself, BlobUnreadable for that of the store.
    """
    try:
        url = repo.get_workflow_job(job_id).logs_url()
    except GithubException as error:
        if error.status not in GONE:
            raise
        yield None
        return
    with fetched(url) as response:
        yield None if response is None else BlobStream(response)


class BlobStream:
    """Iterates over the pieces of one answer, once. `cut`: a cap ended it, not the log."""

    def __init__(
        self, response: requests.Response, *, max_bytes: int = MAX_LOG_BYTES, max_s: float = MAX_LOG_S
    ) -> None:
        self._response, self._max_bytes, self._max_s = response, max_bytes, max_s
        self.cut = False
        self.size = 0
        """Bytes so far."""

    def __iter__(self) -> Iterator[bytes]:
        """Raises BlobUnreadable when the connection breaks before the announced end."""
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
            raise BlobUnreadable(type(error).__name__) from None
