"""The bench measures what it says: its log holds 200 checks, and each is read once."""

from __future__ import annotations

import argparse

import pytest

from tests.bench.scan import (
    BLOCKS,
    HURTING,
    MB,
    Hurt,
    Speed,
    byte_count,
    chatter,
    grep_speed,
    one_line,
    reader,
    scan_speed,
    table,
    verdicts,
    write_log,
)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "job.log"
    write_log(path, 2 * MB)
    return path


def test_the_log_is_as_long_as_asked_and_always_the_same(log, tmp_path):
    assert 2 * MB <= log.stat().st_size <= 2.2 * MB
    write_log(tmp_path / "again.log", 2 * MB)
    assert (tmp_path / "again.log").read_bytes() == log.read_bytes()
    assert chatter(5000, seed=1) != chatter(5000, seed=2)


def test_every_check_is_read_once(log):
    result = reader(str(log))
    assert len(result.readings) == BLOCKS and result.complete
    assert [result.readings[place].value for place in (0, 199)] == [0.001, 0.001199]
    assert {reading.threshold for reading in result.readings} == {0.003}
    assert result.failures == ()


def test_both_programs_find_the_same(log):
    ours, grep = scan_speed(log), grep_speed(log)
    assert ours.found == grep.found == BLOCKS
    assert ours.bytes == grep.bytes == log.stat().st_size
    assert ours.cpu_s > 0 and grep.cpu_s >= 0
    assert 10 < (ours.peak_mb or 0) < 1000


def test_nothing_is_read_from_an_endless_line():
    assert sum(map(len, one_line(3 * MB))) == 3 * MB + 16
    assert reader(str(3 * MB)).readings == ()


def test_what_is_asked_can_be_missed():
    fast, grep = Speed("a", 1000 * MB, 2.0, 2.0, 60.0, BLOCKS), Speed("grep", MB, 1.0, 1.0, None, BLOCKS)
    assert all(verdicts(fast, grep, [Speed("a", MB, 1.0, 1.0, 60.0, 0)]).values())
    slow = Speed("a", 1000 * MB, 3.0, 3.0, 101.0, BLOCKS - 1)
    assert not any(verdicts(slow, grep, [Speed("a", MB, 1.0, 1.0, 60.0, 1)]).values())


def test_the_table_has_a_row_for_each():
    speed = Speed("grep -aF avg_kl_div", 1000 * MB, 2.0, 2.5, None, BLOCKS)
    text = table(speed, speed, [Speed("a", 50 * MB, 0.1, 0.1, 60.0, 0)], [Hurt("(a+)+", 20, 1.0, 0.00001)])
    assert "grep -aF avg_kl_div        1000     500    2.00    2.50        -    200" in text
    assert "one line of 50 MB" in text and "100,000" in text


def test_the_hurting_lines_are_short():
    assert all(len(line) < 60 for _, line in HURTING)


@pytest.mark.parametrize(("text", "size"), [("200M", 200 * MB), ("1G", 1000 * MB), ("100000", 100_000)])
def test_sizes(text, size):
    assert byte_count(text) == size


@pytest.mark.parametrize("text", ["", "1", "-1G", "1T", "1.5G", "G"])
def test_no_sizes(text):
    with pytest.raises(argparse.ArgumentTypeError):
        byte_count(text)
