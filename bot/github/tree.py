"""The Python files of a commit, all at once: one archive instead of a request a file."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from github import GithubException
from github.Repository import Repository

from bot.github.blobs import GONE, BlobStream, fetched

MAX_ARCHIVE_BYTES: Final = 512 << 20
MAX_ARCHIVE_S: Final = 5 * 60.0
MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 4 << 20
MAX_BYTES: Final = 256 << 20
MAX_UNPACKED: Final = 8 << 30
"""Of all files together, those that are passed over too."""
_PIECE: Final = 1 << 20


def python_files(repo: Repository, sha: str) -> Mapping[str, bytes] | None:
    """Path in the tree → text of every .py file up to 4 MiB; None where the archive is not to be had or goes
    over a cap, for half a tree would look like a whole one."""
    try:
        url = repo.get_archive_link("tarball", sha)
    except GithubException as error:
        if error.status not in GONE:
            raise
        return None
    with fetched(url) as response:
        if response is None:
            return None
        pieces = BlobStream(response, max_bytes=MAX_ARCHIVE_BYTES, max_s=MAX_ARCHIVE_S)
        files = _unpacked(_Pieces(iter(pieces)))
        return None if pieces.cut else files


def _unpacked(stream: io.RawIOBase) -> Mapping[str, bytes] | None:
    try:
        with gzip.GzipFile(fileobj=stream) as plain:
            files = _python_files(plain)
            while files is not None and plain.read(
                _PIECE
            ):  # tarfile takes a cut archive for a short one; gzip does not
                pass
            return files
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile):
        return None


def _python_files(stream: gzip.GzipFile) -> Mapping[str, bytes] | None:
    found: dict[str, bytes] = {}
    room, unpacked = MAX_BYTES, 0
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            unpacked += member.size
            if unpacked > MAX_UNPACKED:
                return None
            path = member.name.partition("/")[2]  # the first folder is the repository's, with the commit
            if not member.isfile() or not path.endswith(".py") or member.size > MAX_FILE_BYTES:
                continue
            room -= member.size
            if room < 0 or len(found) == MAX_FILES:
                return None
            data = archive.extractfile(member)
            if data is not None:
                found[path] = data.read()
    return found


class _Pieces(io.RawIOBase):
    """A file to read on from pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int = -1) -> bytes:
        """Fewer bytes than asked for only at the end."""
        parts, wanted = [self._rest], size - len(self._rest)
        while wanted > 0 and (piece := next(self._pieces, b"")):
            parts.append(piece)
            wanted -= len(piece)
        data = b"".join(parts)
        self._rest = data[size:]
        return data[:size]
