"""`make fuzz-zips`: any bytes as a zip of job logs."""

from __future__ import annotations

import atheris

with atheris.instrument_imports(include=["zipfile", "bot.cli.archives"]):
    import zipfile

    import bot.cli.archives

from tests.cli.zips import with_field, zipped
from tests.fuzz.engine import fuzz
from tests.fuzz.properties import check_zip

assert bot.cli.archives
ONE = zipped(("0_a.txt", b"one\n"), ("a/1_x.txt", b"one\n"), ("b/2_y.txt", b"two\n"))
SEEDS = (
    ONE,
    zipped(),
    zipped(("a/", b""), ("a/1_x.txt", b"x"), ("a/system.txt", b"s"), ("../x", b"x")),
    zipped(("0_a.txt", b"stored\n"), pack=zipfile.ZIP_STORED),
    zipped(("0_a.txt", ONE)),
    zipped(("0_a.txt", bytes(1 << 20))),
    with_field(ONE, 1, 42, "<I", 0),
    with_field(ONE, 0, 8, "<H", 1),
    with_field(ONE, 0, 24, "<I", 0),
)
WORDS = (
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"../",
    b"\\",
    b"\x01\x00\x20\x00",
)

if __name__ == "__main__":
    fuzz("zips", check_zip, SEEDS, WORDS, 16_000)
