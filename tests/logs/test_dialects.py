"""What each dialect of tests.logs.dialects says, answer by answer."""

from __future__ import annotations

import pytest

from bot.logs import scan
from tests.logs.dialects import DIALECTS, FORMS, START, log

A = "test/kl/test_a.py::TestA"
LONG = "test_a_name_so_long_that_only_one_underscore_is_left_on_each_side_of_it"
PYTEST_READINGS = [
    (f"{A}.test_kl[fp8-4]", 1, 0.0034, 0.003, "decode"),
    (f"{A}.test_kl[bf16-8]", 1, 0.0041, 0.003, None),
    (f"{A}.test_kl[bf16-8]", 1, 0.001, 0.005, None),
]
PYTEST_FAILURES = [
    ("kl_over", f"{A}.test_kl[fp8-4]", 0.0034, 1, False),
    ("assert", f"{A}.test_kl[bf16-8]", 0.0041, 1, False),
    ("RuntimeError: no GPU", f"{A}.{LONG}", None, 1, False),
]

# test, attempt, value, bound, label
READINGS = {
    "pytest": PYTEST_READINGS,
    "pytest_unlisted": PYTEST_READINGS,
    "pytest_live": [
        (f"{A}.test_decode", 1, 0.001, 0.003, "decode"),
        (f"{A}.test_kl[fp8-4]", 1, 0.0034, 0.003, "decode"),
    ],
    "pytest_passes": [("TestA.test_decode", 1, 0.001, 0.003, "decode")],
    "collection": [],
    "xdist": [
        ("unknown", 1, 0.002, None, None),
        ("test/kl/test_b.py::TestB.test_match", 1, 0.0034, 0.003, "match"),
    ],
    "reruns": [
        (f"{A}.test_x", 1, 0.0034, None, None),
        (f"{A}.test_x", 2, 0.002, None, None),
        (f"{A}.test_y", 1, 0.0041, None, None),
        (f"{A}.test_y", 2, 0.0041, 0.003, "y"),
    ],
    "unittest": [
        ("A.test_note", 1, 0.006, 0.003, "x"),
        ("A.test_pass", 1, 0.002, None, None),
        ("A.test_group", 1, 0.005, 0.003, "x"),
        ("A.test_doc", 1, 0.004, 0.003, "decode"),
        ("A.test_doc", 1, 0.004, 0.003, "prefill"),
    ],
    "failfast": [("test/kl/test_a.py::A.test_x", 1, 0.004, 0.003, "x")],
    "several_lines": [
        ("A.test_torch", 1, 0.003, 1e-05, None),
        ("A.test_numpy", 1, 0.1, 0.0, None),
        ("A.test_next", 1, 0.00125, None, None),
    ],
}
# rule, or message where no form has a number; test, value, attempts, recovered
FAILURES = {
    "pytest": PYTEST_FAILURES,
    "pytest_unlisted": PYTEST_FAILURES,
    "pytest_live": [("kl_over", f"{A}.test_kl[fp8-4]", 0.0034, 1, False)],
    "pytest_passes": [],
    "collection": [
        ("ModuleNotFoundError: No module named 'nothing'", "test/kl/test_bad.py", None, 1, False),
    ],
    "xdist": [
        ("kl_over", "test/kl/test_b.py::TestB.test_match", 0.0034, 1, False),
        ("RERUN", "test/kl/test_b.py::TestB.test_again", None, 2, True),
    ],
    "reruns": [("kl_over", f"{A}.test_y", 0.0041, 2, False), ("RERUN", f"{A}.test_x", None, 2, True)],
    "unittest": [
        ("kl_over", "A.test_group", 0.005, 1, False),
        ("less", "A.test_doc", 0.004, 1, False),
        ("less", "A.test_doc", 0.004, 1, False),
        ("kl_over", "A.test_note", 0.006, 1, False),
        ("RuntimeError: no GPU", "A.test_msg", None, 1, False),
    ],
    "failfast": [("kl_over", "test/kl/test_a.py::A.test_x", 0.004, 1, False)],
    "several_lines": [
        ("torch", "A.test_torch", 0.003, 1, False),
        ("numpy", "A.test_numpy", 0.1, 1, False),
        ("next_line", "A.test_next", 0.00125, 1, False),
    ],
}
CENSORED = {"pytest_live": ("test/kl/test_a.py",), "failfast": ("test/kl/test_a.py",)}


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_dialect_says(name):
    result = scan([DIALECTS[name]], FORMS)
    assert [(r.test, r.attempt, r.value, r.threshold, r.label) for r in result.readings] == READINGS[name]
    told = [(f.rule or f.message, f.test, f.value, f.attempts, f.recovered) for f in result.failures]
    assert told == FAILURES[name]
    assert result.complete and result.censored == CENSORED.get(name, ())
    assert {r.gpu for r in result.readings} <= {"NVIDIA H100 80GB HBM3"}


def test_per_prompt_values_of_a_captured_section():
    assert scan([DIALECTS["pytest"]], FORMS).readings[0].per_prompt == (0.0033, 0.0035)


def test_two_workers_never_share_a_list_of_prompts():
    assert [r.per_prompt for r in scan([DIALECTS["xdist"]], FORMS).readings] == [(), ()]


def test_labels_of_subtests():
    labels = [(f.test, f.label) for f in scan([DIALECTS["unittest"]], FORMS).failures]
    assert ("A.test_doc", "decode") in labels and ("A.test_doc", "prefill") in labels
    assert ("A.test_msg", "late") in labels


def test_the_message_of_several_lines_is_one_line():
    messages = [failure.message for failure in scan([DIALECTS["several_lines"]], FORMS).failures]
    assert messages[2] == "KL divergence exceeds threshold max KL: 1.25e-03"


def pytest_report(*body: str, summary: str = "") -> bytes:
    lines = ["=== FAILURES ===", "___ TestA.test_x ___", *body, "=== short test summary info ===", summary]
    return log(START, "\n".join([*lines, "=== 1 failed in 1.20s ===", ""]))


def failures_of(data: bytes):
    return scan([data], FORMS).failures


TORCH_LINES = [
    "AssertionError: Tensor-likes are not close!",
    "",
    "Mismatched elements: 1 / 1 (100.0%)",
    "Greatest absolute difference: 0.003 at index (0,) (up to 1e-05 allowed)",
]


def test_a_form_of_several_lines_within_the_margin_of_pytest():
    """Printed as a captured traceback, as an E list and in the summary: one failure."""
    body = [f"E       {line}" for line in TORCH_LINES]
    body += ["--- Captured stderr call ---", "Traceback (most recent call last):", *TORCH_LINES, ""]
    summary = "FAILED test/a.py::TestA::test_x - AssertionError: Tensor-likes are not close!"
    (failure,) = failures_of(pytest_report(*body, summary=summary))
    assert (failure.test, failure.value, failure.threshold) == ("test/a.py::TestA.test_x", 0.003, 1e-05)
    assert failure.attempts == 1


def test_a_form_of_several_lines_ends_where_another_test_begins():
    body = ["E       AssertionError: Tensor-likes are not close!", "___ TestA.test_y ___"]
    body += ["E       Greatest absolute difference: 0.003 at index (0,) (up to 1e-05 allowed)"]
    assert {(f.kind, f.value) for f in failures_of(pytest_report(*body))} == {("other", None)}


def test_source_shown_by_a_traceback_states_no_value():
    body = [">       assert 0.5 < limit, 'avg_kl_div=0.5 > threshold=0.1'", "E       RuntimeError: no GPU"]
    (failure,) = failures_of(pytest_report(*body))
    assert (failure.kind, failure.message) == ("other", "RuntimeError: no GPU")


def test_an_accuracy_floor_fails_below():
    (failure,) = failures_of(pytest_report("E   AssertionError: accuracy 0.91 < 0.93"))
    assert (failure.value, failure.threshold, failure.fails_when) == (0.91, 0.93, "below")


def test_a_form_without_a_number_gives_no_number():
    (failure,) = failures_of(pytest_report("E   AssertionError: False is not true"))
    assert (failure.kind, failure.rule, failure.value) == ("other", "no_number", None)
    assert (failure.threshold, failure.fails_when) == (None, None)
    assert failure.message == "False is not true"


def test_a_summary_that_cuts_the_number_gives_no_number():
    summary = "FAILED test/a.py::test_x - AssertionError: avg_kl_div=0.0034 > threshold=0.00..."
    lines = ["=== short test summary info ===", summary, "=== 1 failed in 1.20s ===", ""]
    (failure,) = failures_of(log(START, "\n".join(lines)))
    assert (failure.value, failure.threshold) == (0.0034, None)


def test_native_tracebacks_within_pytest():
    body = ["Traceback (most recent call last):", '  File "t.py", line 3, in f']
    body += ["    assert kl < 0.1", "AssertionError: avg_kl_div=0.0034 > threshold=0.003"]
    (failure,) = failures_of(pytest_report(*body))
    assert (failure.rule, failure.value) == ("kl_over", 0.0034)


def test_the_retry_of_the_harness_within_a_captured_section():
    line = "retry() failed once (0th try, maximum 1 retries). Will delay 1s. Error: "
    body = ["E   AssertionError: avg_kl_div=0.005 > threshold=0.003", "--- Captured stderr call ---"]
    body += [f"{line}avg_kl_div=0.004 > threshold=0.003"]
    result = scan([pytest_report(*body, "--- Captured stdout call ---", "avg_kl_div=0.004")], FORMS)
    (failure,) = result.failures
    assert (failure.value, failure.attempts, failure.recovered) == (0.005, 2, False)
    assert {(r.test, r.value, r.attempt) for r in result.readings} == {
        ("TestA.test_x", 0.004, 1),
        ("TestA.test_x", 0.005, 2),
    }


def test_same_names_in_two_files_stay_two_tests():
    entries = ["___ TestA.test_x ___", "E   AssertionError: avg_kl_div={} > threshold=0.003"]
    lines = ["=== FAILURES ===", *entries, *entries, "=== short test summary info ==="]
    lines += ["FAILED test/a.py::TestA::test_x - A", "FAILED test/b.py::TestA::test_x - A"]
    text = "\n".join([*lines, "=== 2 failed in 1.20s ===", ""]).format("0.004", "0.005")
    assert [(f.test, f.value) for f in failures_of(log(START, text))] == [
        ("test/a.py::TestA.test_x", 0.004),
        ("test/b.py::TestA.test_x", 0.005),
    ]


def test_no_tests_ran():
    assert failures_of(log(START, "============ no tests ran in 0.01s ============\n")) == ()


@pytest.mark.parametrize("head", ["test_x (__main__.A.test_x) ... ", "test_x (__main__.A.test_x)\nDoc ... "])
def test_late_prints_under_verbose_heads_keep_only_what_is_sure(head):
    """stdout waits in its buffer: the head above a print may be that of a later test."""
    one = f"{head}ok\ntest_y (__main__.A.test_y) ... ok\navg_kl_div=0.001\n"
    two = f"{head}ok\ntest_y (__main__.B.test_y) ... ok\navg_kl_div=0.001\n"
    end = "Ran 2 tests in 0.1s\n\nOK\n"
    assert [r.test for r in scan([log(one, end, red=False)], FORMS).readings] == ["A"]
    assert [r.test for r in scan([log(two, end, red=False)], FORMS).readings] == ["unknown"]


def test_a_banner_within_a_captured_section_does_not_undo_the_parameters():
    lines = ["=== PASSES ===", "___ TestA.test_kl[fp8-4] ___", "--- Captured stdout call ---"]
    lines += ["[CI Test Method] TestA.test_kl", "avg_kl_div=0.001", "=== 1 passed in 1.20s ===", ""]
    (reading,) = scan([log(START, "\n".join(lines), red=False)], FORMS).readings
    assert reading.test == "TestA.test_kl[fp8-4]"


def test_a_long_session_is_read_to_its_end():
    lines = [f"test/kl/test_a.py::TestA::test_{n} PASSED [ 50%]" for n in range(6_000)]
    result = scan([log(START, "\n".join([*lines, "=== 6000 passed in 1.20s ===", ""]), red=False)], FORMS)
    assert result.complete and result.failures == ()
