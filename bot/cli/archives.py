"""Logs to scan: plain files, standard input, and zips of a run's job logs.

A zip is a stranger's. Its entries are read as streams and never extracted, bytes are counted while they are
unpacked, and an archive that breaks one rule is refused whole.
"""

from __future__ import annotations

import io
import os
import re
import struct
import sys
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Final

from bot.cli.inputs import InputError, opened
from bot.report.markdown import one_line

CHUNK: Final = 1 << 20
MAX_ENTRIES: Final = 10_000
MAX_DIRECTORY: Final = 4 << 20
"""Bytes of a zip's directory, which is read whole: 400 for each of the entries that are allowed."""
MAX_UNPACKED: Final = 8 << 30
MAX_SPOOLED: Final = 2 << 30
MAX_RATIO: Final = 500
"""Job logs pack 20 to 60 : 1, one line repeated for ever 260 : 1, zeros 1,030 : 1."""
SMALL: Final = 8 << 20
"""An entry of at most this is never a bomb: deflate gives it in milliseconds."""

LEAST_CUT: Final = 20
"""Names of jobs are cut when they are long; one of fewer characters is no other's beginning by accident."""
_HEAD: Final = 4096
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_JOB: Final = re.compile(r"-?[0-9]{1,12}_(.+)\.txt")
_STEP: Final = re.compile(r"([0-9]{1,9})_[^/]*\.txt")
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


@dataclass(slots=True)
class Log:
    """One log, to be read once and before the next one. `name` is its path, or archive!entry."""

    name: str
    _chunks: Iterable[bytes]
    _head: bytes = field(default=b"", init=False)

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if len(self._head) < _HEAD:
                self._head += chunk[:_HEAD]
            yield chunk

    @property
    def oddity(self) -> str | None:
        """Why this does not look like a log, judged by its first bytes once it was read."""
        if self._head.startswith(_GZIP):
            return "it is gzip; unpack it first"
        if self._head.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "it looks like UTF-16; save it as UTF-8 and scan it again"
        return "it holds zero bytes, so it is no text" if b"\0" in self._head else None


def file_twice(paths: Sequence[str]) -> bool:
    """Whether two of these paths lead to one file, however they are spelled."""
    return len({_file(path) for path in paths}) < len(paths)


def _file(path: str) -> object:
    """What is the same for every path of a file; one that is not there is told of when it is read."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):
        return path
    return status.st_dev, status.st_ino


def read_logs(path: str) -> Iterator[Log]:
    """The logs of a file, of standard input (`-`) or of a zip. Raises InputError and OSError."""
    with opened(path) as stream:
        head = stream.read(4)
        if not head.startswith(_ZIP):
            yield Log(path, chain((head,), iter(partial(stream.read, CHUNK), b"")))
        elif stream.seekable():
            yield from _read_zip(path, stream)
        else:
            with tempfile.TemporaryFile() as spooled:
                _spool(path, head, stream, spooled)
                yield from _read_zip(path, spooled)


def _spool(path: str, head: bytes, stream: IO[bytes], spooled: IO[bytes]) -> None:
    """A zip's directory stands at its end, so one from a pipe is stored first."""
    spooled.write(head)
    left = MAX_SPOOLED
    while left > 0 and (chunk := stream.read(CHUNK)):
        spooled.write(chunk)
        left -= len(chunk)
    if left <= 0:
        raise _refusal(path, f"it is larger than {MAX_SPOOLED >> 30} GiB; save it as a file and scan that")
    spooled.flush()


def _read_zip(path: str, stream: IO[bytes]) -> Iterator[Log]:
    try:
        archive = zipfile.ZipFile(_Bounded(io.FileIO(stream.fileno(), closefd=False)))
    except _BROKEN:
        raise _refusal(path, "it starts as a zip and has no sound directory; download it again") from None
    with archive:
        objection = _objection(archive.infolist(), archive.start_dir)
        if objection:
            raise _refusal(path, objection)
        budget = _Budget(path)
        for name, entries in job_logs(archive.infolist()).items():
            yield Log(f"{path}!{name}", _joined(archive, entries, budget))


class _Bounded(io.BufferedReader):
    """A file that refuses to be read whole into memory, which is how a zip's directory is read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY:
            raise zipfile.BadZipFile
        return super().read(size)


def _refusal(path: str, sentence: str) -> InputError:
    return InputError(f"{path}: {sentence}.")


def _objection(entries: Sequence[zipfile.ZipInfo], end: int) -> str | None:
    """Why an archive is refused by what its directory says. `end`: where its last entry must have ended."""
    if len(entries) > MAX_ENTRIES:
        return f"it holds {len(entries):,} entries, more than {MAX_ENTRIES:,}"
    names: set[str] = set()
    for entry in entries:
        problem = _entry_problem(entry)
        if entry.orig_filename in names:
            problem = "is there twice"
        if problem:
            return f"its entry {_quoted(entry)} {problem}"
        names.add(entry.orig_filename)
    if all(entry.is_dir() for entry in entries):
        return "the zip holds no log"
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        return f"it unpacks to more than {MAX_UNPACKED >> 30} GiB; scan its logs one by one"
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    starts = [*(entry.header_offset for entry in ordered[1:]), end]
    for entry, following in zip(ordered, starts, strict=True):
        if entry.header_offset < 0 or _least_end(entry) > following:
            return f"its entry {_quoted(entry)} overlaps another part of the archive"
    return None


def _entry_problem(entry: zipfile.ZipInfo) -> str | None:
    name = entry.orig_filename
    if not name or any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        return "has a name with control characters, or none"
    if name.startswith("/") or "\\" in name or name[1:2] == ":" or ".." in name.split("/"):
        return "has a path that could lead out of the archive"
    if entry.flag_bits & 0x1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in another way than deflate"
    return None


def _least_end(entry: zipfile.ZipInfo) -> int:
    """The local header has 30 bytes, the name, and perhaps more."""
    return entry.header_offset + 30 + len(entry.orig_filename) + entry.compress_size


def _quoted(entry: zipfile.ZipInfo) -> str:
    return f"'{one_line(entry.orig_filename, 120)}'"


def job_logs(entries: Sequence[zipfile.ZipInfo]) -> dict[str, list[zipfile.ZipInfo]]:
    """The logs of an archive, each with the entries that make it up, in order.

    GitHub puts `3_job.txt` beside a folder `job` that holds the same lines as `1_step.txt` and so on; the
    name of either may be cut. A folder without its file is one log, its steps joined; `system.txt` beside
    steps is no step. Any other file is a log.
    """
    files = {entry.orig_filename: entry for entry in entries if not entry.is_dir()}
    top = _outer_folder(files)
    jobs = {job[1].strip() for name in files if (job := _JOB.fullmatch(name.removeprefix(top)))}
    folders = {name.removeprefix(top).rpartition("/")[0].strip() for name in files}
    whole = {folder for folder in folders if _has_file(folder, jobs, folders)}
    steps: dict[str, list[tuple[int, str]]] = {}
    others: list[str] = []
    for name in files:
        folder, _, leaf = name.removeprefix(top).rpartition("/")
        step = _STEP.fullmatch(leaf) if folder else None
        if folder.strip() in whole and (step or leaf == "system.txt"):
            continue
        if step:
            steps.setdefault(f"{top}{folder}/", []).append((int(step[1]), name))
        else:
            others.append(name)
    logs = {
        name: [files[name]]
        for name in others
        if not (name.endswith("/system.txt") and name.removesuffix("system.txt") in steps)
    }
    return logs | {folder: [files[name] for _, name in sorted(found)] for folder, found in steps.items()}


def _has_file(folder: str, jobs: set[str], folders: set[str]) -> bool:
    """Whether a folder of steps belongs to the file of a job, by its name or by the cut one of the two."""
    alone = jobs - folders
    return folder in jobs or any(_is_cut(folder, job) or _is_cut(job, folder) for job in alone)


def _is_cut(short: str, name: str) -> bool:
    return len(short) >= LEAST_CUT and name.startswith(short)


def _outer_folder(names: Iterable[str]) -> str:
    """The folder around a run's logs that were unpacked and packed again; '' as GitHub makes them."""
    tops = {name.partition("/")[0] for name in names}
    deep = any(name.count("/") > 1 for name in names)
    return f"{tops.pop()}/" if len(tops) == 1 and deep else ""


@dataclass(slots=True)
class _Budget:
    """What an archive may still unpack to, by the bytes that really came out of it."""

    path: str
    left: int = MAX_UNPACKED

    def spend(self, entry: zipfile.ZipInfo, chunk: int, size: int) -> None:
        """`size`: bytes of the entry so far, with this chunk."""
        self.left -= chunk
        if size > SMALL and size > MAX_RATIO * entry.compress_size:
            raise _refusal(
                self.path,
                f"its entry {_quoted(entry)} unpacks to over {MAX_RATIO} times its size, as no log does",
            )
        if self.left < 0:
            raise _refusal(self.path, f"it unpacks to more than {MAX_UNPACKED >> 30} GiB")


def _joined(archive: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo], budget: _Budget) -> Iterator[bytes]:
    """Entries as one log; one that ends within a line does not run into the next."""
    last = b"\n"
    for entry in entries:
        if not last.endswith(b"\n"):
            last = b"\n"
            yield last
        for last in _unpacked(archive, entry, budget):
            yield last


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: _Budget) -> Iterator[bytes]:
    stated, size = entry.file_size, 0
    entry.file_size = MAX_UNPACKED + CHUNK  # zipfile stops at the stated size, whatever there is
    try:
        with archive.open(entry) as stream:
            while chunk := stream.read(CHUNK):
                if size == 0 and chunk.startswith(_ZIP):
                    raise _refusal(
                        budget.path, f"its entry {_quoted(entry)} is a zip; unpack it and scan it alone"
                    )
                size += len(chunk)
                budget.spend(entry, len(chunk), size)
                yield chunk
    except _BROKEN:
        size = -1
    if size != stated:
        raise _refusal(budget.path, f"its entry {_quoted(entry)} is damaged; download the zip again")
