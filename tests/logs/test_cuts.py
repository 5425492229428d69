"""Every dialect, cut anywhere, dressed anyhow, shuffled: nothing is invented."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from bot.logs import scan
from tests.logs.builders import forms
from tests.logs.cuts import assert_cuts_invent_nothing
from tests.logs.dialects import DIALECTS, FORMS
from tests.logs.jobs import random_job

DATA = Path(__file__).parent / "data"
EXAMPLES = sorted(DATA.glob("*.log"))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_cut_at_any_byte(name):
    data = DIALECTS[name]
    assert scan([data], FORMS).complete
    assert_cuts_invent_nothing(data, range(len(data) - 1), FORMS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name[:2])
def test_an_example_cut_at_every_seventh_byte_and_around_each_end_of_a_line(path):
    """A cut at any byte is tried on the dialects."""
    data = path.read_bytes()
    ends = {match.start() + off for match in re.finditer(b"\n", data[:-2]) for off in (0, 1)}
    assert_cuts_invent_nothing(data, sorted(ends | set(range(0, len(data) - 1, 7))), forms())


@pytest.mark.parametrize("seed", [7, 23, 56])
def test_a_random_job_cut_within_each_of_its_lines(seed):
    data = "".join(f"{line}\n" for line in random_job(seed).lines).encode()
    ends = [match.start() - 1 for match in re.finditer(b"\n", data)]
    assert_cuts_invent_nothing(data, [*ends[::3], *(end + 2 for end in ends[1:-1:3])], forms())


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("dress", ["stamped", "crlf", "bom", "painted", "client"])
def test_dress_does_not_matter(name, dress):
    plain = scan([DIALECTS[name]], FORMS)
    dressed = scan([dressed_log(DIALECTS[name], dress)], FORMS)
    assert dressed.failures == plain.failures
    assert [r.as_record() | {"at": None} for r in dressed.readings] == [
        r.as_record() | {"at": None} for r in plain.readings
    ]
    assert (dressed.complete, dressed.censored) == (plain.complete, plain.censored)


def dressed_log(data: bytes, dress: str) -> bytes:
    lines = data.split(b"\n")[:-1]
    stamp = b"2026-05-29T02:11:04.0032952Z "
    if dress == "crlf":
        return b"".join(line + b"\r\n" for line in lines)
    if dress == "bom":
        return b"\xef\xbb\xbf" + data
    if dress == "painted":
        return b"".join(stamp + b"\x1b[1;31m" + line + b"\x1b[0m\n" for line in lines)
    client = b"job one\tstep two\t" if dress == "client" else b""
    return b"".join(client + stamp + line + b"\n" for line in lines)


@pytest.mark.parametrize("name", DIALECTS)
def test_lines_in_any_order_invent_no_number(name):
    lines = DIALECTS[name].decode().split("\n")
    told = set(re.findall(r"\d[\d.e-]*", DIALECTS[name].decode()))
    numbers = {
        float(text) for text in told if re.fullmatch(r"[\d.]*\d(?:e-?\d+)?", text) and text.count(".") < 2
    }
    for seed in range(40):
        random.Random(seed).shuffle(lines)
        result = scan(["\n".join(lines).encode()], FORMS)
        for reading in result.readings:
            assert {reading.value, *reading.per_prompt} <= numbers
            assert reading.threshold is None or reading.threshold in numbers
        assert {f.value for f in result.failures} <= numbers | {None}


@pytest.mark.parametrize("name", DIALECTS)
def test_two_attempts_in_one_log_are_read_as_two_logs(name):
    once, twice = scan([DIALECTS[name]], FORMS), scan([DIALECTS[name] * 2], FORMS)
    assert twice.readings == once.readings * 2
    told = [failure for failure in once.failures if failure.kind == "bound"]
    assert [failure for failure in twice.failures if failure.kind == "bound"] == told * 2
    assert twice.complete and twice.censored == once.censored


@pytest.mark.parametrize("name", DIALECTS)
def test_a_cut_attempt_before_a_whole_one_leaves_the_log_incomplete(name):
    data = DIALECTS[name]
    assert not scan([data[: len(data) // 2] + b"\n" + data], FORMS).complete
