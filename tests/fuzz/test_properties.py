"""The properties that fuzzing checks hold for its seeds, and fail for readers that lie."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs import Failure, ScanResult
from bot.verdict.reading import Arm, Reading, Status
from tests.cli.zips import zipped
from tests.fuzz import properties
from tests.fuzz.properties import (
    check_cut,
    check_log,
    check_numbers,
    check_pack,
    check_zip,
    every_form,
    forms,
)

DATA = sorted((Path(__file__).parents[1] / "logs" / "data").glob("*.log"))
TEXT = "avg_kl_div=0.0034\nACC_THRESHOLDS={'kl_div': 0.003}"
READ = Reading(Arm.TRIGGER, "a::A.b", Status.OK, 0.0034, threshold=0.003)
RED = Failure("bound", "a::A.b", value=0.0034, threshold=0.003, fails_when="above")


NOTHING = ScanResult((), (), complete=False)


def result(reading: Reading = READ, failure: Failure = RED) -> ScanResult:
    return ScanResult((reading,), (failure,), complete=True)


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name[:2])
def test_real_logs_hold_every_property(path):
    data = path.read_bytes()
    for known in every_form():
        check_log(data, known)
    for end in range(0, len(data), 997):
        check_cut(data, end, forms())


def test_what_the_text_states_is_no_lie():
    check_numbers(result(), TEXT)


@pytest.mark.parametrize(
    "lie",
    [
        result(replace(READ, value=0.003400001)),
        result(replace(READ, value=0.34)),
        result(replace(READ, value=float("nan"))),
        result(replace(READ, threshold=0.03)),
        result(replace(READ, per_prompt=(0.0034, 0.1))),
        result(failure=replace(RED, value=0.0033)),
        result(failure=replace(RED, value=None)),
        result(failure=replace(RED, kind="other")),
        result(failure=replace(RED, attempts=0)),
    ],
)
def test_a_lie_is_found(lie):
    with pytest.raises(AssertionError):
        check_numbers(lie, TEXT)


def test_a_part_of_a_number_is_not_that_number():
    assert properties.printed_numbers("kl=10.0034 e=2e-05, -0.5 nan") == {
        *("10.0034", "2e-05", "-0.5", "0.5", "nan"),
    }


def test_a_reader_that_reads_the_end_of_a_cut_log_is_found(monkeypatch):
    def greedy(chunks, known):
        text = b"".join(chunks).decode()
        return replace(NOTHING, readings=(replace(READ, value=float(text.rpartition("=")[2])),))

    monkeypatch.setattr(properties, "scan", greedy)
    check_cut(b"threshold=0.003 value=0.0071", 28, forms())
    with pytest.raises(AssertionError):
        check_cut(b"threshold=0.003 value=0.0071", 27, forms())


def test_a_reader_that_depends_on_the_pieces_is_found(monkeypatch):
    monkeypatch.setattr(properties, "scan", lambda chunks, known: replace(NOTHING, complete=len(chunks) == 1))
    with pytest.raises(AssertionError, match="in pieces of 1"):
        check_log(b"ab", forms())


WORDS = st.sampled_from(
    [
        b"avg_kl_div=",
        b"0.0034",
        b" > threshold=",
        b"\n",
        b"\r",
        b"nan",
        b"[CI Test Method] A.b",
        b"\x1b[31m",
        b"- ",
        b": ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS | st.binary(max_size=8), max_size=30).map(b"".join), st.integers(0, 300))
def test_any_bytes_hold_every_property(data, end):
    for known in every_form():
        check_log(data, known)
    check_cut(data, end, forms())
    check_zip(data)
    check_zip(b"PK\x03\x04" + data)
    check_pack(data)


@given(st.binary(min_size=1, max_size=3), st.integers(0, 400))
def test_any_bytes_within_a_zip(noise, place):
    archive = zipped(("0_a.txt", b"one\n"), ("a/1_x.txt", b"one\n"), ("b/2_y.txt", b"two\n"))
    check_zip(archive[:place] + noise + archive[place + len(noise) :])


def test_packs_hold_every_property():
    for name in properties.pack_names():
        check_pack((files("rules") / f"{name}.yaml").read_bytes())
    check_pack(b"extends: sglang\nmode: observe\n")
