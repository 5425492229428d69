"""The log writer, fed in pieces of any size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.demo.actions.joblog import MAX_LINE_BYTES, JobLog


def shown(*pieces: bytes, limit: int = 10_000) -> list[str]:
    out: list[bytes] = []
    log = JobLog(out.append, limit)
    for piece in pieces:
        log.feed(piece)
    log.flush()
    return [line[29:] for line in b"".join(out).decode("utf-8-sig").split("\n")[:-1]]


def test_workflow_commands_change_how_a_line_looks() -> None:
    output = b"::group::a b\n::error file=x.py,line=3::bad\n::debug::hidden\n"
    output += b"::unknown::x\n :: error::no\n::endgroup::\n"
    assert shown(output) == ["##[group]a b", "##[error]bad", "::unknown::x", " :: error::no", "##[endgroup]"]


def test_a_masked_value_is_hidden_from_then_on() -> None:
    assert shown(b"s3cret\n::add-mask::s3cret\na s3cret\n::error::s3cret\n::add-mask:: \nb\n") == [
        "s3cret",
        "a ***",
        "##[error]***",
        "b",
    ]


def test_bytes_that_are_no_utf8_are_replaced_and_a_last_open_line_is_kept() -> None:
    assert shown(b"\xff\xfe a\r\nlast") == ["\ufffd\ufffd a\r", "last"]


def test_a_line_without_end_does_not_grow_without_bound() -> None:
    lines = shown(*[b"x" * 65_536] * 40, limit=10**9)
    assert max(map(len, lines)) <= MAX_LINE_BYTES + 65_536
    assert sum(map(len, lines)) == 40 * 65_536


def test_the_limit_cuts_once_and_says_so() -> None:
    lines = shown(b"0123\n" * 3, b"0123\n", b"more\n", limit=15)
    assert lines == ["0123"] * 3 + [
        "##[warning]The log is longer than this runner keeps; the rest of the output is cut."
    ]


@given(
    st.lists(st.text(alphabet="ab:é \t", max_size=8), max_size=6), st.lists(st.integers(0, 80), max_size=5)
)
def test_where_the_output_is_cut_into_pieces_changes_nothing(lines: list[str], cuts: list[int]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert shown(*pieces) == lines
