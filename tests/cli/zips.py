"""Zips of job logs: as GitHub makes them, and with what GitHub would never write."""

from __future__ import annotations

import io
import struct
import zipfile

LOCAL = 0x04034B50
CENTRAL = 0x02014B50


def zipped(*entries: tuple[str, bytes], pack: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", pack) as archive:
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, pack)
    return stream.getvalue()


def renamed(archive: bytes, old: bytes, new: bytes) -> bytes:
    """The same archive with a name that `zipfile` would not write; names of equal length."""
    assert len(old) == len(new) and archive.count(old) == 2
    return archive.replace(old, new)


def with_field(archive: bytes, entry: int, offset: int, form: str, number: int) -> bytes:
    """The same archive with a number in the directory's record of an entry changed. Offsets: 8 flags,
    10 method, 16 CRC, 20 packed size, 24 size, 42 place of the local header."""
    found = -1
    for _ in range(entry + 1):
        found = archive.index(struct.pack("<I", CENTRAL), found + 1)
    changed = bytearray(archive)
    struct.pack_into(form, changed, found + offset, number)
    return bytes(changed)
