"""Processes of test files within a job: run again, killed, in a bundle; and what is told after them."""

from __future__ import annotations

import pytest

from bot.logs import scan
from bot.logs.budget import MAX_FILES
from tests.logs.builders import PATH, RAN_GREEN, RAN_RED, banner, check, forms, listed, over, retry, traceback

ROOT = "/runner/_work/engine/engine/"
HEAD = ["Current runner version: '2.330.0'", "Runner name: 'gpu-1'"]
TAIL = ["Cleaning up orphan processes"]
EXIT = "##[error]Process completed with exit code 255."
AGAIN = f"[CI Retry] Attempt 2/2 for {ROOT}{PATH}"
TEST = f"{PATH}::A.test_x"


def read(*lines: str):
    return scan(["\n".join([*HEAD, *lines, *TAIL, ""]).encode()], forms())


def process(*lines: str, path: str = PATH, args: str = "") -> list[str]:
    return ["Begin (0/0):", f"python3 {ROOT}{path}{args}", *lines, "End (0/0):"]


def red(first: str = "0.0034", second: str = "0.0032") -> list[str]:
    lines = [banner("A.test_x"), *check("x", first), *traceback(first, "x"), retry(first, "x")]
    lines += [*check("x", second), *traceback(second, "x"), "E", *listed("A.test_x", second, "x")]
    return [*lines, *RAN_RED]


def green(value: str = "0.0021", test: str = "A.test_x") -> list[str]:
    return [banner(test), *check("x", value), ".", *RAN_GREEN]


def readings(result):
    return [(r.test, r.attempt, r.value) for r in result.readings]


def failures(result):
    return [(f.kind, f.test, f.attempts, f.recovered, f.value) for f in result.failures]


# --- a red file is run again --------------------


def test_a_file_that_passes_when_run_again_recovers():
    result = read(*process(*red(), args=" -f"), AGAIN, *process(*green(), args=" -f"))
    assert readings(result) == [(TEST, 1, 0.0034), (TEST, 2, 0.0032), (TEST, 3, 0.0021)]
    assert failures(result) == [("bound", TEST, 3, True, 0.0032)]
    assert result.complete and result.censored == ()


def test_a_file_that_is_red_twice_is_one_failure():
    result = read(*process(*red()), AGAIN, *process(*red("0.0041", "0.0042")), EXIT)
    assert [attempt for _, attempt, _ in readings(result)] == [1, 2, 3, 4]
    assert failures(result) == [("bound", TEST, 4, False, 0.0042)]


def test_nothing_of_a_second_process_is_a_first_try():
    """Its test did not run before, but its server start is another one."""
    result = read(*process(*red(), args=" -f"), AGAIN, *process(*green(test="B.test_y"), args=" -f"))
    assert readings(result)[-1] == (f"{PATH}::B.test_y", 2, 0.0021)


@pytest.mark.parametrize(
    "second",
    [
        process(*green(test="B.test_y"), args=" B.test_y"),
        process(*green(), path="test/registered/kl/test_b.py"),
        process(banner("A.test_x"), *check("x", "0.0021")),
    ],
    ids=["another test", "another file", "no end"],
)
def test_what_did_not_pass_again_stays_red(second):
    assert failures(read(*process(*red()), *second))[0] == ("bound", TEST, 2, False, 0.0032)


def test_another_attempt_of_the_job_is_not_the_same_job():
    result = read(*process(*red()), EXIT, *TAIL, *HEAD, *process(*green()))
    assert readings(result)[-1] == (TEST, 1, 0.0021)
    assert failures(result) == [("bound", TEST, 2, False, 0.0032)]


# --- killed --------------------


def test_a_file_that_the_suite_killed_failed():
    killed = process(banner("A.test_x"), *check("x", "0.001"), args=" -f")
    result = read(*killed, *process(*green(), path="test/registered/kl/test_b.py"), EXIT)
    (failure,) = result.failures
    assert (failure.kind, failure.test, failure.file) == ("other", PATH, PATH)
    assert failure.message == "the process ended before its tests did"
    assert result.complete and result.censored == ()


def test_the_suites_own_word_on_a_killed_file():
    killed = process(banner("A.test_x"), *check("x", "0.001"))
    (failure,) = read(*killed, f"✗ TIMEOUT: {ROOT}{PATH} after 1200 seconds", EXIT).failures
    assert (failure.kind, failure.test, failure.message) == ("other", PATH, "after 1200 seconds")


def test_a_file_without_a_count_in_a_green_job_did_not_fail():
    assert read(*process(banner("A.test_x"), *check("x", "0.001"))).failures == ()


# --- told again --------------------


@pytest.mark.parametrize(
    "report",
    [
        [EXIT, "##[group]Run python3 summary.py", "##[endgroup]", f"AssertionError: {over('0.0032', 'x')}"],
        [f"✗ FAILED: {ROOT}{PATH} returned exit code 1", f"Digest: {over('0.0032', 'x')}", EXIT],
        [f"Digest: {over('0.0034', 'x')}", f"Digest: {over('0.0032', 'x')}", EXIT],
    ],
    ids=["a later step", "after the suite's word", "first tries too"],
)
def test_a_report_of_a_failure_is_no_failure(report):
    result = read(*process(*red()), *report)
    assert failures(result) == [("bound", TEST, 2, False, 0.0032)]
    assert [value for _, _, value in readings(result)] == [0.0034, 0.0032]


def test_a_report_after_the_count_of_the_same_process():
    lines = [*red(), f"Digest: {over('0.0034', 'x')}", f"Digest: {over('0.0032', 'x')}"]
    assert failures(read(f"Begin (1/1): python3 {PATH}", *lines, EXIT)) == [
        ("bound", TEST, 2, False, 0.0032),
    ]


def test_a_crossing_that_was_not_told_is_a_failure():
    assert len(read(*process(*red()), EXIT, f"Digest: {over('0.0039', 'x')}").failures) == 2


# --- bundles and bounds --------------------


def test_a_bundle_of_files_has_no_path():
    begin = "Begin (0/1) BUNDLE group:kl (2 files, est=100s): python3 -m unittest -f <2 modules>"
    lines = [begin, f"python3 {ROOT}{PATH}", *red(), "End (0/1) BUNDLE group:kl: elapsed=9s"]
    result = read(*lines, *process(*green(), path="test/registered/kl/test_b.py"), EXIT)
    assert readings(result)[0] == ("A.test_x", 1, 0.0034)
    assert readings(result)[-1] == ("test/registered/kl/test_b.py::A.test_x", 1, 0.0021)
    assert failures(result) == [("bound", "A.test_x", 2, False, 0.0032)]
    assert result.complete and result.censored == ("unknown",)


@pytest.mark.parametrize(("files", "read_on"), [(MAX_FILES - 1, True), (MAX_FILES, False)])
def test_more_files_than_any_suite_has_end_the_reading(files, read_on):
    result = read(*["Begin (0/1):", f"python3 {ROOT}x.py", "End (0/1):"] * files, *process(*green()))
    assert (len(result.readings) == 1, result.complete) == (read_on, read_on)


def test_too_many_banners_end_the_reading_at_once():
    asked = []

    def chunks():
        for number in range(100):
            asked.append(number)
            yield "".join(f"[CI Test Method] T{number}.m{n}\n" for n in range(500)).encode()

    assert not scan(chunks(), forms()).complete
    assert len(asked) < 5
