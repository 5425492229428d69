"""Jobs that end otherwise than by their tests: cancelled, timed out, lost, run twice."""

from __future__ import annotations

import pytest

from bot.logs import scan
from tests.logs.builders import PATH, RAN_GREEN, RAN_RED, banner, block, forms, listed, retry, traceback

HEAD = ["Current runner version: '2.330.0'", "Runner name: 'gpu-1'"]
TAIL = ["Cleaning up orphan processes"]
RUNNING = [f"Begin (1/1): python3 {PATH}", banner("A.test_x"), *block("0.001")]
ENDINGS = [
    "##[error]The operation was canceled.",
    "##[error]The job running on runner gpu-1 has exceeded the maximum execution time of 360 minutes.",
    "##[error]The runner has received a shutdown signal. This can happen when the runner service is stopped.",
    "##[error]The action 'Run tests' has timed out after 30 minutes.",
    "##[error]The self-hosted runner: gpu-1 lost communication with the server.",
]


def read(*lines: str):
    return scan(["\n".join([*lines, ""]).encode()], forms())


@pytest.mark.parametrize("ending", ENDINGS)
class TestInterrupted:
    def test_a_file_that_was_running_is_not_finished(self, ending):
        result = read(*HEAD, *RUNNING, ending, *TAIL)
        assert [r.value for r in result.readings] == [0.001]
        assert result.failures == () and not result.complete

    def test_a_listed_failure_whose_end_is_missing_has_no_kind(self, ending):
        red = ["=" * 70, "ERROR: test_x (__main__.A.test_x)", "-" * 70, "RuntimeError: killed"]
        assert read(*HEAD, *RUNNING, *red, ending, *TAIL).failures == ()

    def test_a_first_try_is_not_recovered(self, ending):
        result = read(*HEAD, *RUNNING, *traceback("0.004"), retry("0.004"), ending, *TAIL)
        assert [(f.value, f.recovered, f.attempts) for f in result.failures] == [(0.004, False, 1)]

    def test_after_the_tests_it_takes_nothing_away(self, ending):
        assert read(*HEAD, *RUNNING, *RAN_GREEN, ending, *TAIL).complete


def test_a_lost_runner_leaves_the_log_without_an_end():
    assert not read(*HEAD, *RUNNING, *RAN_GREEN).complete


def test_the_second_attempt_has_a_machine_of_its_own():
    gpu = "GPU 0: {} (UUID: GPU-0)"
    first = [*HEAD, gpu.format("NVIDIA H100 80GB HBM3"), *RUNNING, *RAN_GREEN, *TAIL]
    second = [
        "Current runner version: '2.330.0'",
        "Runner name: 'gpu-2'",
        gpu.format("NVIDIA H200"),
        *RUNNING,
    ]
    result = read(*first, *second, *RAN_GREEN, *TAIL)
    assert [(r.host, r.gpu) for r in result.readings] == [
        ("gpu-1", "NVIDIA H100 80GB HBM3"),
        ("gpu-2", "NVIDIA H200"),
    ]
    assert result.complete


def test_gpus_that_differ_give_no_name():
    gpus = ["GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)", "GPU 1: NVIDIA H200 (UUID: GPU-1)"]
    assert [r.gpu for r in read(*HEAD, *gpus, *RUNNING, *RAN_GREEN, *TAIL).readings] == [None]


def test_a_first_try_of_one_step_does_not_join_a_red_test_of_the_next():
    first = [*RUNNING, *traceback("0.004"), retry("0.004"), *RAN_GREEN]
    second = ["##[group]Run it again", banner("A.test_x"), *listed("A.test_x", "0.005"), *RAN_RED]
    result = read(*HEAD, *first, *second, "##[error]Process completed with exit code 1.", *TAIL)
    assert [(f.value, f.recovered, f.attempts) for f in result.failures] == [
        (0.004, True, 2),
        (0.005, False, 1),
    ]


@pytest.mark.parametrize(
    ("command", "censored"),
    [
        (f"python3 {PATH} -f", (PATH,)),
        (f"python3 -u {PATH} --failfast", (PATH,)),
        (f"python3 -m pytest -x {PATH}", (PATH,)),
        (f"python3 -m pytest {PATH} --maxfail=1", (PATH,)),
        (f"python3 {PATH}", ()),
        (f"python3 {PATH} -foo", ()),
    ],
)
def test_a_file_that_stops_at_its_first_red_method(command, censored):
    lines = [f"Begin (1/1): {command}", *listed("A.test_x", "0.005"), *RAN_RED]
    assert read(*lines, "##[error]Process completed with exit code 1.").censored == censored
    assert read(f"Begin (1/1): {command}", *RAN_GREEN, "End (1/1):").censored == ()


def test_no_tests_ran_in_a_file_is_a_failure_without_a_number():
    lines = [f"Begin (1/1): python3 {PATH}", "Ran 0 tests in 0.000s", "", "NO TESTS RAN"]
    (failure,) = read(*lines, "##[error]Process completed with exit code 5.").failures
    assert (failure.kind, failure.message) == ("other", "the process ended with exit code 5")


def test_a_log_that_breaks_off_before_a_job_begins_is_incomplete():
    assert not read(*RUNNING, *HEAD, *RUNNING, *RAN_GREEN, *TAIL).complete


def test_a_first_try_of_a_file_that_was_cancelled_censors_nothing():
    lines = [f"Begin (1/1): python3 {PATH} -f", banner("A.test_x"), *traceback("0.004"), retry("0.004")]
    assert read(*HEAD, *lines, ENDINGS[0], *TAIL).censored == ()


def test_a_job_starts_and_ends_with_its_stamped_lines():
    lines = ["\ufeff2026-05-29T02:11:04.1Z one", "no time", "2026-05-29T02:11:05.2Z two", "no time", ""]
    for end in ("\n", "\r\n"):
        data = end.join(lines).encode()
        for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
            job = scan(pieces, forms()).job
            assert (job["started"], job["finished"]) == ("2026-05-29T02:11:04.1Z", "2026-05-29T02:11:05.2Z")
