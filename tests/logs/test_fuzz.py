"""What must hold for any log: no crash, no invented value, and a cut that invents nothing."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs import scan
from tests.logs import builders
from tests.logs.builders import (
    banner,
    block,
    forms,
    listed,
    listed_other,
    over,
    retry,
    retry_other,
    traceback,
)

DATA = Path(__file__).parent / "data"
FORMS = forms()
VALUES = st.sampled_from(
    ["0.0034", "0.0031", "0.001", "nan", "inf", "1e-05", "np.float64(0.0034)", "bad", ""]
)
NAMES = st.sampled_from(["A.test_x", "A.test_decode", "B.test_x", "B.setUpClass"])
PIECES = st.one_of(
    NAMES.map(lambda name: [banner(name)]),
    VALUES.map(block),
    VALUES.map(traceback),
    VALUES.map(lambda value: [retry(value)]),
    st.tuples(NAMES, VALUES).map(lambda pair: listed(*pair)),
    VALUES.map(lambda value: [over(value)]),
    st.sampled_from(
        [
            ["Begin (0/1):", f"python3 {builders.PATH}"],
            ["End (0/1):"],
            builders.RAN_RED,
            builders.RAN_GREEN,
            [builders.NO_MORE_TRIES],
            ["."],
            ["[decode] 9 samples"],
            [retry_other("503")],
            listed_other("A.test_x", "HTTPError: 503"),
            ["Begin (0/1) BUNDLE group:kl (2 files, est=9s): python3 -m unittest -f <2 modules>"],
            [f"✗ FAILED: {builders.PATH} returned exit code 1"],
            ["##[error]Process completed with exit code 1."],
            ["Cleaning up orphan processes"],
        ]
    ),
    st.text(max_size=40).map(lambda text: [text]),
)
LOGS = st.lists(PIECES, max_size=25).map(lambda pieces: "\n".join(line for piece in pieces for line in piece))


def assert_only_what_the_text_says(result, text):
    for reading in result.readings:
        for number in (reading.value, reading.threshold, *reading.per_prompt):
            assert number is None or repr(number) in text or f"{number:g}" in text
    for failure in result.failures:
        if failure.kind == "bound":
            assert repr(failure.value) in text
            assert failure.message in text
        else:
            assert failure.value is None


@settings(max_examples=300, deadline=None)
@given(LOGS)
def test_any_order_of_known_lines(log):
    result = scan([log.encode()], FORMS)
    assert_only_what_the_text_says(result, log)
    assert result == scan([log.encode()], FORMS) or "nan" in log
    result.as_dict()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 3))
def test_any_bytes_within_a_real_log(noise, index):
    data = sorted(DATA.glob("*.log"))[index].read_bytes()
    middle = len(data) // 2
    scan([noise], FORMS)
    scan([data[:middle], noise, data[middle:]], FORMS)


@settings(max_examples=200, deadline=None)
@given(LOGS, st.integers(0, 4000))
def test_recovered_only_where_the_runner_counted_its_tests(log, end):
    cut = log.encode()[:end]
    result = scan([cut], FORMS)
    assert_only_what_the_text_says(result, log)
    assert b"Ran 3 tests" in cut or not any(failure.recovered for failure in result.failures)
