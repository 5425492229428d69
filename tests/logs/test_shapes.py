"""Shapes of job logs that the examples do not show, each in the fewest lines that show it."""

from __future__ import annotations

import math

import pytest

from bot.logs import scan
from tests.logs.builders import (
    NO_MORE_TRIES,
    PATH,
    RAN_GREEN,
    RAN_RED,
    banner,
    block,
    forms,
    listed,
    over,
    read,
    read_green,
    retry,
    seen,
    traceback,
)


def only(result):
    (failure,) = result.failures
    return failure


# --- folding --------------------


def test_both_tries_fail_with_the_same_value():
    log = [banner("A.test_x"), *traceback("0.004"), retry("0.004"), *traceback("0.004"), "E"]
    result = read(*log, *listed("A.test_x", "0.004"), *RAN_RED, *block("0.004"), *block("0.004"))
    assert only(result).attempts == 2 and not only(result).recovered
    assert seen(result) == [("A.test_x", 1, 0.004), ("A.test_x", 2, 0.004)]


def test_the_older_order_prints_the_retry_line_before_the_traceback():
    log = [banner("A.test_x"), retry("0.004"), *traceback("0.004")]
    result = read(*log, *listed("A.test_x", "0.005"), *RAN_RED)
    assert (only(result).attempts, only(result).value) == (2, 0.005)
    assert seen(result) == [("A.test_x", 1, 0.004), ("A.test_x", 2, 0.005)]


def test_the_retry_passes_and_its_late_print_counts_as_the_second_try():
    log = [banner("A.test_x"), *traceback("0.004"), retry("0.004"), "."]
    result = read_green(*log, *RAN_GREEN, *block("0.004"), *block("0.001"))
    assert only(result).recovered and only(result).attempts == 2
    assert seen(result) == [("A.test_x", 1, 0.004), ("A.test_x", 2, 0.001)]
    assert [r.label for r in result.readings] == ["decode", None]


def test_a_later_method_that_fails_does_not_undo_a_recovery():
    first = [banner("A.test_x"), *traceback("0.004"), retry("0.004")]
    second = [banner("A.test_y"), *traceback("0.007"), retry("0.007"), *traceback("0.008")]
    result = read(*first, *second, *listed("A.test_y", "0.008"), *RAN_RED)
    assert [(f.test, f.recovered, f.value, f.attempts) for f in result.failures] == [
        (f"{PATH}::A.test_x", True, 0.004, 2),
        (f"{PATH}::A.test_y", False, 0.008, 2),
    ]


def test_two_methods_of_shared_label_fail_without_banners():
    first = [*traceback("0.004"), retry("0.004"), *traceback("0.005")]
    second = [*traceback("0.006"), retry("0.006"), *traceback("0.007")]
    result = read(
        *first, *second, *listed("A.test_x", "0.005"), *listed("B.test_x", "0.007"), *RAN_RED, *block("0.006")
    )
    assert [(f.test, f.attempts, f.value) for f in result.failures] == [
        (f"{PATH}::A.test_x", 2, 0.005),
        (f"{PATH}::B.test_x", 2, 0.007),
    ]
    assert seen(result) == [
        ("A.test_x", 1, 0.004),
        ("A.test_x", 2, 0.005),
        ("B.test_x", 2, 0.007),
        ("B.test_x", 1, 0.006),
    ]


def test_two_classes_with_the_same_labels_keep_their_values():
    lines = [
        banner("A.test_decode"), *block("0.001"), banner("B.test_decode"), *block("0.002"),
        *traceback("0.009"), *listed("B.test_decode", "0.009"), *RAN_RED, *block("0.009"),
    ]  # fmt: skip
    assert seen(read(*lines)) == [
        ("A.test_decode", 1, 0.001),
        ("B.test_decode", 1, 0.002),
        ("B.test_decode", 1, 0.009),
    ]


def test_a_failure_listed_without_any_print_before_it():
    result = read(*listed("A.test_x", "0.004", kind="FAIL"), *RAN_RED)
    assert (only(result).test, only(result).attempts) == (f"{PATH}::A.test_x", 1)
    assert seen(result) == [("A.test_x", 1, 0.004)]


def test_the_second_try_fails_for_another_reason():
    report = ["=" * 70, "ERROR: test_x (__main__.A.test_x)", "-" * 70]
    report += ["AssertionError: Too few decode cache hits", "", NO_MORE_TRIES, "-" * 70]
    result = read(banner("A.test_x"), *traceback("0.004"), retry("0.004"), *report, *RAN_RED)
    bound = only(result)
    assert (bound.kind, bound.attempts, bound.recovered) == ("bound", 2, False)
    assert (bound.value, bound.message) == (0.004, over("0.004"))


def test_a_retry_elsewhere_is_no_failure():
    hub = (
        "[2026-04-07 21:53:52] retry() failed once (0th try, maximum 2 retries). Will delay 0.98s. Error: 503"
    )
    assert read_green(hub, banner("A.test_x"), *block("0.001"), *RAN_GREEN).failures == ()


# --- forms --------------------


@pytest.mark.parametrize(
    ("message", "rule", "threshold", "label"),
    [
        (over("0.0041"), "kl_over", 0.003, "decode"),
        ("avg_kl_div=0.0041 is greater than threshold=0.003 for m/n match", "kl_is_greater", 0.003, "match"),
        (
            "0.0041 not less than 0.003 : avg_kl_div=0.0041 >= threshold=0.003 for m/n hit",
            "kl_not_less",
            0.003,
            "hit",
        ),
        ("avg_kl_div=np.float64(0.0041) > threshold=4e-3", "kl_over", 0.004, None),
    ],
)
def test_each_printed_form_gives_one_failure(message, rule, threshold, label):
    lines = [banner("A.test_x"), "=" * 70, "FAIL: test_x (__main__.A.test_x)", f"AssertionError: {message}"]
    failure = only(read(*lines, *RAN_RED))
    assert (failure.kind, failure.value, failure.fails_when) == ("bound", 0.0041, "above")
    assert (failure.rule, failure.threshold, failure.label) == (rule, threshold, label)


def test_a_message_without_a_number_gives_no_number():
    lines = ["FAIL: test_x (__main__.A.test_x)", "AssertionError: avg_kl_div=high > threshold=low for m l"]
    failure = only(read(*lines, *RAN_RED))
    assert (failure.kind, failure.value) == ("other", None)


@pytest.mark.parametrize(
    ("header", "test"),
    [
        ("ERROR: test_x (__main__.A.test_x)", f"{PATH}::A.test_x"),
        ("ERROR: test_x (__main__.A)", f"{PATH}::A.test_x"),
        ("FAIL: test_x (kl.test_a.A.test_x) (i=3)", f"{PATH}::A.test_x"),
        ("ERROR: setUpClass (__main__.A)", f"{PATH}::A.setUpClass"),
        ("ERROR: setUpModule (__main__)", PATH),
        ("ERROR: test_a (unittest.loader._FailedTest.test_a)", PATH),
        ("ERROR: test_a (unittest.loader._FailedTest)", PATH),
    ],
)
def test_headers_of_python_3_10_to_3_14(header, test):
    failure = only(read("=" * 70, header, "-" * 70, "RuntimeError: no GPU", "", "-" * 70, *RAN_RED))
    assert (failure.kind, failure.test, failure.message) == ("other", test, "RuntimeError: no GPU")


def test_pytest_names_the_file_in_its_last_list():
    result = scan(
        [
            b"=================================== FAILURES ===================================\n"
            b"_________________________________ TestA.test_x _________________________________\n"
            b"    def test_x(self):\n"
            b">       check(self)\n"
            b"E       AssertionError: avg_kl_div=0.0041 > threshold=0.003 for org/model decode\n"
            b"----------------------------- Captured stdout call -----------------------------\n"
            b"kl_divs=[0.0041]\n"
            b"avg_kl_div=0.0041\n"
            b"ACC_THRESHOLDS={'kl_div': 0.003}\n"
            b"=========================== short test summary info ============================\n"
            b"FAILED test/kl/test_a.py::TestA::test_x - AssertionError: avg_kl_div=0.0041 >...\n"
            b"FAILED test/kl/test_b.py::test_y - RuntimeError: no GPU\n"
            b"========================= 2 failed, 3 passed in 1.20s ==========================\n"
        ],
        forms(),
    )
    assert [(f.kind, f.test, f.value, f.message) for f in result.failures] == [
        (
            "bound",
            "test/kl/test_a.py::TestA.test_x",
            0.0041,
            "avg_kl_div=0.0041 > threshold=0.003 for org/model decode",
        ),
        ("other", "test/kl/test_b.py::test_y", None, "RuntimeError: no GPU"),
    ]
    assert [(r.test, r.value, r.per_prompt, r.threshold) for r in result.readings] == [
        ("test/kl/test_a.py::TestA.test_x", 0.0041, (0.0041,), 0.003)
    ]
    assert result.complete


# --- blocks --------------------


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("[np.float64(0.5), np.float64(0.25)]", (0.5, 0.25)),
        ("[0.5, 1e-05]", (0.5, 1e-05)),
        ("[tensor(0.5), numpy.float32(.25)]", (0.5, 0.25)),
        ("[0.5, 0.25", ()),
        ("[0.5, oops]", ()),
        ("[]", ()),
    ],
)
def test_per_prompt_values(printed, expected):
    result = read_green(banner("A.test_x"), *block("0.001", per_prompt=printed), *RAN_GREEN)
    assert result.readings[0].per_prompt == expected


def test_nan_and_inf_are_kept():
    lines = [banner("A.test_x"), *block("nan", per_prompt="[np.float64(nan), np.float64(inf)]"), *RAN_GREEN]
    reading = read_green(*lines).readings[0]
    assert (
        math.isnan(reading.value) and math.isnan(reading.per_prompt[0]) and reading.per_prompt[1] == math.inf
    )
    assert reading.as_record()["value"] == "nan"


@pytest.mark.parametrize(
    ("printed", "threshold"),
    [
        ("{'kl_div': 0.003}", 0.003),
        ("0.003", 0.003),
        ('{"kl_div": 4e-3, "gsm8k": 0.93}', 0.004),
        ("{'m/n': {'kl_div': 0.0025, 'gsm8k': 0.93}}", 0.0025),
        ("{'a': {'kl_div': 0.0025}, 'b': {'kl_div': 0.005}}", None),
        ("{'gsm8k': 0.93}", None),
        ("{'kl_div': nan}", None),
    ],
)
def test_the_bound_of_a_block(printed, threshold):
    result = read_green(banner("A.test_x"), *block("0.001", printed), *RAN_GREEN)
    assert result.readings[0].threshold == threshold


def test_a_value_inside_other_text_is_no_reading():
    chatter = "[2026-05-29 02:22:59] prompt: avg_kl_div=0.5 and kl_divs=[0.5]"
    assert read_green(banner("A.test_x"), chatter, *RAN_GREEN).readings == ()


def test_progress_marks_and_bars_glued_to_a_print():
    bar = "100%|##########| 9/9 [00:10<00:00]"
    lines = [".." + banner("A.test_x"), "..kl_divs=[0.5]", f"{bar}\ravg_kl_div=0.001", *RAN_GREEN]
    reading = read_green(*lines).readings[0]
    assert (reading.test, reading.value, reading.per_prompt) == (f"{PATH}::A.test_x", 0.001, (0.5,))


def test_a_block_after_its_method_ended_names_only_the_class():
    assert seen(read_green(banner("A.test_gsm8k"), ".", *block("0.001"), *RAN_GREEN)) == [("A", 1, 0.001)]


def test_a_label_finds_its_method_among_the_banners():
    late = [".", "[decode] 9 samples, 3 turns", *block("0.001")]
    lines = [banner("A.test_decode"), banner("A.test_match"), *late]
    assert seen(read_green(*lines, *RAN_GREEN)) == [("A.test_decode", 1, 0.001)]


def test_without_banner_or_file_the_test_stays_unknown():
    result = scan(["\n".join([*block("0.001"), ""]).encode()], forms())
    assert [r.test for r in result.readings] == ["unknown"]
    assert not result.complete


# --- files and jobs --------------------


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (
            "python3 /actions-runner/_work/eng/eng/test/registered/kl/test_a.py",
            "test/registered/kl/test_a.py",
        ),
        ("python3.12 -u /__w/eng/eng/test_a.py -f", "test_a.py"),
        ("/opt/venv/bin/python test/registered/kl/test_a.py", "test/registered/kl/test_a.py"),
        ("python3 /data/checkout/test/kl/test_a.py", "test/kl/test_a.py"),
        ("python3 ../../etc/test_a.py", None),
    ],
)
def test_the_path_of_a_file(command, path):
    log = ["Begin (0/1):", command, banner("A.test_x"), *block("0.001"), ""]
    test = scan(["\n".join(log).encode()], forms()).readings[0].test
    assert test == (f"{path}::A.test_x" if path else "A.test_x")


def test_a_file_that_dies_without_a_word_is_a_failure():
    log = [
        "Begin (0/0):", f"python3 {PATH}", banner("A.test_x"), *block("0.001"), "Segmentation fault",
        "End (0/0):", f"✗ FAILED: {PATH} returned exit code 139",
        "##[error]Process completed with exit code 255.", "",
    ]  # fmt: skip
    failure = only(scan(["\n".join(log).encode()], forms()))
    assert (failure.kind, failure.test, failure.message) == ("other", PATH, "returned exit code 139")


def test_the_process_of_a_rerun_dies():
    failure = only(read(banner("A.test_x"), *block("0.001")))
    assert (failure.kind, failure.test) == ("other", PATH)
    assert failure.message == "the process ended with exit code 1"


def test_a_whole_job_is_complete_only_with_its_cleanup():
    head, tail = "Current runner version: '2.330.0'\n", "Cleaning up orphan processes\n"
    body = "##[error]Process completed with exit code 255.\n"
    assert not scan([(head + body).encode()], forms()).complete
    assert scan([(head + body + tail).encode()], forms()).complete


@pytest.mark.parametrize(
    "log", [b"", b"\n", b"hello\n", b"\x00\xff\xfe" * 1000, b"PK\x03\x04", "ü".encode("utf-16")]
)
def test_what_is_no_log_gives_nothing(log):
    result = scan([log], forms())
    assert (result.readings, result.failures, result.complete) == ((), (), False)


def test_prefixes_of_the_command_line_client_are_stripped():
    stamp = "job\tstep\t2026-05-29T02:11:04.0032952Z "
    log = [f"Begin (1/1): python3 {PATH}", banner("A.test_x"), *block("0.001")]
    (reading,) = scan(["".join(f"{stamp}{line}\n" for line in log).encode()], forms()).readings
    assert (reading.test, reading.at) == (f"{PATH}::A.test_x", "2026-05-29T02:11:04.0032952Z")


def test_a_line_of_fifty_megabytes_is_passed_over():
    def chunks():
        yield f"Begin (1/1): python3 {PATH}\n{banner('A.test_x')}\navg_kl_div=0.7".encode()
        for _ in range(50):
            yield b"7" * 1_000_000
        yield ("\n" + "\n".join(block("0.001")) + "\n").encode()

    assert seen(scan(chunks(), forms())) == [("A.test_x", 1, 0.001)]


def test_too_many_events_end_the_reading_and_say_so():
    result = scan([b"avg_kl_div=0.001\n" * 20_000 + b"Cleaning up orphan processes\n"], forms())
    assert len(result.readings) == 5_000 and not result.complete
