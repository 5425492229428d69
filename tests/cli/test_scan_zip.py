"""Zips of job logs: each attempt once, and what is refused."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cli import archives
from bot.cli.archives import job_logs, read_logs
from bot.cli.inputs import InputError
from tests.cli.zips import renamed, with_field, zipped

ONE = zipped(("0_a.txt", b"one\n"), ("1_b.txt", b"two\n"))


@pytest.fixture
def read(tmp_path):
    """Name of each log, without the archive's own, and its bytes."""

    def reader(archive: bytes) -> dict[str, bytes]:
        path = tmp_path / "run.zip"
        path.write_bytes(archive)
        logs = {log.name: b"".join(log) for log in read_logs(str(path))}
        return {name.removeprefix(f"{path}!"): data for name, data in logs.items()}

    return reader


@pytest.fixture
def refusal(read):
    def reader(archive: bytes) -> str:
        with pytest.raises(InputError) as refused:
            read(archive)
        path, _, sentence = refused.value.message.partition("run.zip: ")
        assert path and sentence.endswith(".") and "\n" not in sentence
        return sentence

    return reader


def test_the_file_of_a_job_stands_for_its_folder(read):
    archive = zipped(
        ("3_job name.txt", b"whole\n"),
        ("job name/1_Set up job.txt", b"step 1\n"),
        ("job name/2_test.txt", b"step 2\n"),
        ("job name/system.txt", b"queued\n"),
    )
    assert read(archive) == {"3_job name.txt": b"whole\n"}


def test_steps_alone_are_one_log_in_the_order_of_their_numbers(read):
    archive = zipped(
        ("job/10_last.txt", b"ten\n"),
        ("job/2_test.txt", b"two, cut within a line"),
        ("job/1_set up.txt", b"one\n"),
        ("job/3_empty.txt", b""),
        ("job/system.txt", b"queued\n"),
        ("other job/1_x.txt", b"x"),
    )
    assert read(archive) == {"job/": b"one\ntwo, cut within a line\nten\n", "other job/": b"x"}


def test_one_job_without_its_file_beside_one_with_it(read):
    archive = zipped(("0_a.txt", b"a\n"), ("a/1_x.txt", b"a\n"), ("b/1_x.txt", b"b\n"), ("notes.md", b"n\n"))
    assert read(archive) == {"0_a.txt": b"a\n", "notes.md": b"n\n", "b/": b"b\n"}


@pytest.mark.parametrize(
    ("file", "folder"), [("x" * 90, "x" * 80), ("x" * 80, "x" * 90), ("a b " * 10 + "c", "a b " * 10)]
)
def test_a_folder_of_steps_with_a_cut_name_is_not_read_beside_its_file(read, file, folder):
    archive = zipped(
        (f"0_{file}.txt", b"one\ntwo\n"),
        (f"{folder}/1_a.txt", b"one\n"),
        (f"{folder}/2_b.txt", b"two\n"),
        (f"{folder}/system.txt", b"queued\n"),
    )
    assert read(archive) == {f"0_{file}.txt": b"one\ntwo\n"}


def test_a_job_whose_name_begins_as_anothers_is_a_job_of_its_own(read):
    long = "kl-suite-on-4-gpus-of-h100"
    archive = zipped(
        (f"0_{long} (1).txt", b"1\n"),
        (f"{long} (1)/1_x.txt", b"1\n"),
        (f"{long}/1_x.txt", b"0\n"),
        ("1_test-large.txt", b"large\n"),
        ("test/1_x.txt", b"small\n"),
    )
    assert read(archive) == {
        f"0_{long} (1).txt": b"1\n",
        f"{long}/": b"0\n",
        "1_test-large.txt": b"large\n",
        "test/": b"small\n",
    }


def test_an_old_service_writes_negative_numbers(read):
    assert read(zipped(("-9999999999_a.txt", b"a"), ("a/1_x.txt", b"a"))) == {"-9999999999_a.txt": b"a"}


def test_a_folder_around_the_run_changes_nothing(read):
    archive = zipped(("run/0_a.txt", b"a\n"), ("run/a/1_x.txt", b"a\n"), ("run/b/1_x.txt", b"b\n"))
    assert read(archive) == {"run/0_a.txt": b"a\n", "run/b/": b"b\n"}


def test_folder_entries_are_no_logs(read):
    assert read(zipped(("a/", b""), ("a/1_x.txt", b"x"))) == {"a/": b"x"}


def test_stored_entries_are_read_too(read):
    assert read(zipped(("0_a.txt", b"one\n"), pack=zipfile.ZIP_STORED)) == {"0_a.txt": b"one\n"}


@pytest.mark.parametrize(
    "name", ["/x/y.txt", "../xy.txt", "a/../b.tx", "a\\..\\b.t", "C:/xy.txt", "a/b\x1b[.tx", "a/b\n.tx"]
)
def test_names_that_lead_out_or_hide_are_refused(refusal, name):
    archive = renamed(zipped(("0_ab.txt"[: len(name)].ljust(len(name), "x"), b"x")), *_pair(name))
    sentence = refusal(archive)
    expected = "control characters" if any(ord(char) < 32 for char in name) else "lead out of the archive"
    assert expected in sentence
    assert all(char.isprintable() for char in sentence)


def _pair(name: str) -> tuple[bytes, bytes]:
    return "0_ab.txt"[: len(name)].ljust(len(name), "x").encode(), name.encode()


def test_an_encrypted_entry_is_refused(refusal):
    assert refusal(with_field(ONE, 1, 8, "<H", 1)) == "its entry '1_b.txt' is encrypted."


@pytest.mark.parametrize("method", [9, 12, 14, 93, 99])
def test_another_packing_is_refused(refusal, method):
    assert "packed in another way than deflate" in refusal(with_field(ONE, 0, 10, "<H", method))


def test_overlapping_entries_are_refused(refusal):
    quine = with_field(ONE, 1, 42, "<I", 0)
    assert "overlaps another part" in refusal(quine)
    assert "overlaps another part" in refusal(with_field(ONE, 0, 20, "<I", 1_000_000))


def test_a_name_that_is_there_twice_is_refused(refusal):
    archive = renamed(ONE, b"1_b.txt", b"0_c.txt").replace(b"0_c.txt", b"0_a.txt")
    assert refusal(archive) == "its entry '0_a.txt' is there twice."


def test_zeros_are_refused_before_they_are_unpacked(refusal):
    bomb = zipped(("0_a.txt", bytes(64 << 20)))
    assert len(bomb) < 100_000
    assert "unpacks to over 500 times its size" in refusal(bomb)
    told_small = with_field(bomb, 0, 24, "<I", 1000)
    assert "unpacks to over 500 times its size" in refusal(told_small)


def test_a_bomb_is_stopped_early(tmp_path):
    path = tmp_path / "run.zip"
    path.write_bytes(zipped(("0_a.txt", bytes(64 << 20))))
    given_out = 0
    with pytest.raises(InputError):
        for log in read_logs(str(path)):
            for chunk in log:
                assert len(chunk) <= archives.CHUNK
                given_out += len(chunk)
    assert given_out <= archives.MAX_RATIO * path.stat().st_size


def test_one_line_repeated_is_no_bomb(read):
    line = b"2026-05-29T02:22:59.4554963Z Decode batch, #running-req: 9, token usage: 0.05\n"
    data = line * ((16 << 20) // len(line))
    assert read(zipped(("0_a.txt", data))) == {"0_a.txt": data}


def test_what_all_entries_unpack_to_is_capped(refusal, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 7)
    assert "unpacks to more than" in refusal(ONE)
    lying = with_field(with_field(ONE, 0, 24, "<I", 0), 1, 24, "<I", 0)
    assert "is damaged" in refusal(lying) or "unpacks to more than" in refusal(lying)


def test_too_many_entries_are_refused(refusal):
    archive = zipped(*((f"{number}_a.txt", b"") for number in range(10_001)))
    assert refusal(archive) == "it holds 10,001 entries, more than 10,000."


def test_a_directory_too_long_to_be_one_of_logs_is_refused(refusal):
    archive = zipped(*((f"{number:05}{'x' * 60_000}", b"") for number in range(80)))
    assert "no sound directory" in refusal(archive)


def test_zips_within_a_zip_are_not_opened(refusal):
    assert refusal(zipped(("0_a.txt", ONE))) == "its entry '0_a.txt' is a zip; unpack it and scan it alone."


@pytest.mark.parametrize("offset", [16, 24])
def test_a_wrong_checksum_or_size_is_refused(refusal, offset):
    assert (
        refusal(with_field(ONE, 0, offset, "<I", 3))
        == "its entry '0_a.txt' is damaged; download the zip again."
    )


def test_a_size_stated_too_large_hides_nothing(refusal):
    assert "is damaged" in refusal(with_field(ONE, 0, 24, "<I", 1 << 20))


@pytest.mark.parametrize("archive", [zipped(), zipped(("a/", b""))])
def test_a_zip_without_a_log_is_no_green_run(refusal, archive):
    assert refusal(archive) == "the zip holds no log."


def test_a_zip_cut_anywhere_is_refused(refusal):
    for end in range(4, len(ONE)):
        assert "no sound directory; download it again" in refusal(ONE[:end])


def test_any_changed_byte_is_read_or_refused(read):
    for place in range(4, len(ONE)):
        changed = bytearray(ONE)
        changed[place] ^= 0xFF
        try:
            assert set(read(bytes(changed)).values()) <= {b"one\n", b"two\n", b"one\ntwo\n"}
        except InputError:
            continue


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_that_start_as_a_zip(tmp_path_factory, tail):
    path = tmp_path_factory.getbasetemp() / "any.zip"
    path.write_bytes(b"PK\x03\x04" + tail)
    with pytest.raises(InputError):
        list(read_logs(str(path)))


NAMES = st.sampled_from(
    [
        "0_a.txt",
        "1_b.txt",
        "a/1_x.txt",
        "a/2_y.txt",
        "a/system.txt",
        "b/10_x.txt",
        "b/9_y.txt",
        "x.log",
        "a/b/1_c.txt",
    ]
)


@given(st.lists(NAMES, unique=True))
def test_no_entry_is_read_twice(names):
    entries = [zipfile.ZipInfo(name) for name in names]
    used = [entry.filename for log in job_logs(entries).values() for entry in log]
    assert len(used) == len(set(used))
    jobs = {name[2] for name in names if name in ("0_a.txt", "1_b.txt")}
    for name in set(names) - set(used):
        assert name[0] in jobs or name.endswith("system.txt")


def test_a_pipe_is_spooled(monkeypatch):
    def from_pipe(data: bytes) -> dict[str, bytes]:
        end, start = os.pipe()
        with os.fdopen(start, "wb") as writer:
            writer.write(data)
        with os.fdopen(end) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return {log.name: b"".join(log) for log in read_logs("-")}

    assert from_pipe(ONE) == {"-!0_a.txt": b"one\n", "-!1_b.txt": b"two\n"}
    assert from_pipe(b"PK is how this log starts\n") == {"-": b"PK is how this log starts\n"}
    assert from_pipe(b"") == {"-": b""}
    monkeypatch.setattr(archives, "MAX_SPOOLED", 100)
    with pytest.raises(InputError, match=r"^-: it is larger than 0 GiB; save it as a file and scan that\.$"):
        from_pipe(ONE)


def test_the_real_size_of_a_zip64_directory_is_not_trusted(refusal):
    """An end record whose numbers overflow a file offset."""
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, 1 << 63, 1 << 63)
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(ONE), 1)
    assert "no sound directory" in refusal(ONE + end64 + locator + end)


def test_a_folder_is_an_error_of_its_own(tmp_path):
    with pytest.raises(IsADirectoryError):
        list(read_logs(str(tmp_path)))
    assert Path(tmp_path).is_dir()
