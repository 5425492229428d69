"""Job logs in the dialects of test runners, each small enough to be read by eye, and the forms for them."""

from __future__ import annotations

from bot.logs import Form, LogForms
from bot.logs.linear import compile_pattern
from tests.logs.builders import forms

HEAD = """\
Current runner version: '2.330.0'
Runner name: 'gpu-runner-7'
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000001)
##[group]Run tests
##[endgroup]
"""
RED_TAIL = "##[error]Process completed with exit code 1.\nCleaning up orphan processes\n"
GREEN_TAIL = "##[group]Run post\n##[endgroup]\nCleaning up orphan processes\n"


def form(name: str, pattern: str, hint: str, fails_when: str | None = "above", lines: int = 1) -> Form:
    return Form(name, compile_pattern(pattern), fails_when, hint, lines)


TORCH = form(
    "torch",
    r"Tensor-likes are not close!\n(?:.*\n){0,4}?Greatest absolute difference: (?P<value>\S+)"
    r"(?: at index .*)? \(up to (?P<threshold>\S+) allowed\)",
    "Tensor-likes are not close!",
    lines=5,
)
NUMPY = form(
    "numpy",
    r"Not equal to tolerance rtol=\S+, atol=(?P<threshold>\S+)\n(?:.*\n){0,6}?"
    r"Max absolute difference(?: among violations)?: (?P<value>\S+)",
    "Not equal to tolerance",
    lines=8,
)
NEXT_LINE = form(
    "next_line", r"KL divergence exceeds threshold\nmax KL: (?P<value>\S+)", "KL divergence exceeds", lines=2
)
LESS = form("less", r"(?P<value>\S+) not less than (?P<threshold>\S+)", " not less than ")
FLOOR = form("floor", r"accuracy (?P<value>\S+) < (?P<threshold>\S+)", "accuracy ", fails_when="below")
ASSERT = form("assert", r"assert (?P<value>\S+) <=? (?P<threshold>\S+)", "assert ")
NO_NUMBER = form("no_number", r"False is not true", "False is not true", fails_when=None)
FORMS = LogForms((*forms().forms, TORCH, NUMPY, NEXT_LINE, LESS, FLOOR, ASSERT, NO_NUMBER), forms().prints)


def log(*parts: str, red: bool = True) -> bytes:
    return (HEAD + "".join(parts) + (RED_TAIL if red else GREEN_TAIL)).encode()


START = """\
============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.3.4, pluggy-1.5.0
collected 3 items

"""

PYTEST_BODY = """\
=================================== FAILURES ===================================
____________________________ TestA.test_kl[fp8-4] ______________________________

self = <test_a.TestA object at 0x7f>, q = 'fp8', n = 4

    def test_kl(self, q, n):
>       assert kl <= 0.003, f"avg_kl_div={kl} > threshold=0.003 for org/model decode"
E       AssertionError: avg_kl_div=0.0034 > threshold=0.003 for org/model decode
E       assert 0.0034 <= 0.003

test/kl/test_a.py:10: AssertionError
----------------------------- Captured stdout call -----------------------------
kl_divs=[0.0033, 0.0035]
avg_kl_div=0.0034
ACC_THRESHOLDS={'kl_div': 0.003}
____________________________ TestA.test_kl[bf16-8] _____________________________

>       assert kl < 0.003
E       assert 0.0041 < 0.003

test/kl/test_a.py:12: AssertionError
----------------------------- Captured stdout call -----------------------------
avg_kl_div=0.001
ACC_THRESHOLDS={'kl_div': 0.005}
_ TestA.test_a_name_so_long_that_only_one_underscore_is_left_on_each_side_of_it _
E       RuntimeError: no GPU
"""
PYTEST_SUMMARY = """\
=========================== short test summary info ============================
FAILED test/kl/test_a.py::TestA::test_kl[fp8-4] - AssertionError: avg_kl_div=...
FAILED test/kl/test_a.py::TestA::test_kl[bf16-8] - assert 0.0041 < 0.003
FAILED test/kl/test_a.py::TestA::test_a_name_so_long_that_only_one_underscore_is_left_on_each_side_of_it
========================= 3 failed, 1 passed in 1.20s ==========================
"""
PYTEST = log(
    START, "test/kl/test_a.py .FFF                             [100%]\n\n", PYTEST_BODY, PYTEST_SUMMARY
)
PYTEST_UNLISTED = log(
    START,
    "test/kl/test_a.py .FFF                             [100%]\n\n",
    PYTEST_BODY,
    "==================== 3 failed, 1 passed in 61.20s (0:01:01) ====================\n",
)
PYTEST_LIVE = log(
    START,
    """\
test/kl/test_a.py::TestA::test_decode [decode] 9 samples
kl_divs=[0.001]
avg_kl_div=0.001
ACC_THRESHOLDS={'kl_div': 0.003}
PASSED
test/kl/test_a.py::TestA::test_kl[fp8-4] avg_kl_div=0.0034
ACC_THRESHOLDS={'kl_div': 0.003}
FAILED

=================================== FAILURES ===================================
____________________________ TestA.test_kl[fp8-4] ______________________________
E       AssertionError: avg_kl_div=0.0034 > threshold=0.003 for org/model decode
=========================== short test summary info ============================
FAILED test/kl/test_a.py::TestA::test_kl[fp8-4] - AssertionError: avg_kl_div=...
!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!
========================= 1 failed, 1 passed in 0.58s ==========================
""",
)
PYTEST_PASSES = log(
    START,
    """\
==================================== PASSES ====================================
______________________________ TestA.test_decode _______________________________
----------------------------- Captured stdout call -----------------------------
[decode] 9 samples
avg_kl_div=0.001
ACC_THRESHOLDS={'kl_div': 0.003}
============================== 1 passed in 2.39s ===============================
""",
    red=False,
)
COLLECTION = log(
    START,
    """\
==================================== ERRORS ====================================
_____________________ ERROR collecting test/kl/test_bad.py _____________________
ImportError while importing test module '/w/test/kl/test_bad.py'.
E   ModuleNotFoundError: No module named 'nothing'
=========================== short test summary info ============================
ERROR test/kl/test_bad.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.60s ===============================
""",
)
XDIST = log(
    START,
    """\
bringing up nodes...
2 workers [3 items]
test/kl/test_a.py::TestA::test_decode\x20
test/kl/test_b.py::TestB::test_match\x20
kl_divs=[0.001]
avg_kl_div=0.002
[CI Test Method] TestA.test_decode
avg_kl_div=0.0034
ACC_THRESHOLDS={'kl_div': 0.007}
[gw0] [ 33%] PASSED test/kl/test_a.py::TestA::test_decode\x20
[gw1] [ 66%] FAILED test/kl/test_b.py::TestB::test_match\x20
[gw1] [ 66%] RERUN test/kl/test_b.py::TestB::test_again\x20
[gw1] [100%] PASSED test/kl/test_b.py::TestB::test_again\x20

=================================== FAILURES ===================================
_______________________________ TestB.test_match _______________________________
[gw1] linux -- Python 3.12.3 /usr/bin/python3
E       AssertionError: avg_kl_div=0.0034 > threshold=0.003 for org/model match
=========================== short test summary info ============================
FAILED test/kl/test_b.py::TestB::test_match - AssertionError: avg_kl_div=0.00...
==================== 1 failed, 2 passed, 1 rerun in 12.34s =====================
""",
)
RERUNS = log(
    START,
    """\
test/kl/test_a.py::TestA::test_x avg_kl_div=0.0034
RERUN
test/kl/test_a.py::TestA::test_x avg_kl_div=0.002
PASSED
test/kl/test_a.py::TestA::test_y avg_kl_div=0.0041
RERUN
test/kl/test_a.py::TestA::test_y avg_kl_div=0.0041
FAILED

=================================== FAILURES ===================================
_________________________________ TestA.test_y _________________________________
E       AssertionError: avg_kl_div=0.0041 > threshold=0.003 for org/model y
=========================== short test summary info ============================
FAILED test/kl/test_a.py::TestA::test_y - AssertionError: avg_kl_div=0.0041 >...
==================== 1 failed, 1 passed, 2 rerun in 2.34s ======================
""",
)
UNITTEST = log(
    """\
test_doc (__main__.A.test_doc)
Decode hits. ...\x20
  test_doc (__main__.A.test_doc) (label='decode')
Decode hits. ... FAIL
test_group (__main__.A.test_group) ... ERROR
test_msg (__main__.A.test_msg) ...\x20
test_note (__main__.A.test_note) ... avg_kl_div=0.006
FAIL
test_pass (__main__.A.test_pass) ... avg_kl_div=0.002
ok
test_skip (__main__.A.test_skip) ... skipped 'why'

======================================================================
ERROR: test_group (__main__.A.test_group)
----------------------------------------------------------------------
  + Exception Group Traceback (most recent call last):
  |   File "u.py", line 17, in test_group
  |     raise ExceptionGroup("2 failures", errors)
  | ExceptionGroup: 2 failures (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | AssertionError: avg_kl_div=0.005 > threshold=0.003 for org/model x
    +---------------- 2 ----------------
    | ValueError: b
    +------------------------------------

======================================================================
ERROR: test_msg (__main__.A.test_msg) [late]
----------------------------------------------------------------------
Traceback (most recent call last):
  File "u.py", line 10, in test_msg
    assert 0.9 < kl, "0.9 not less than 0.1"
RuntimeError: no GPU

======================================================================
FAIL: test_doc (__main__.A.test_doc) (label='decode')
Decode hits: the doc's first line.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "u.py", line 7, in test_doc
    self.assertLess(kl, 0.003)
AssertionError: 0.004 not less than 0.003

======================================================================
FAIL: test_doc (__main__.A.test_doc) (label='prefill')
Decode hits: the doc's first line.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "u.py", line 7, in test_doc
    self.assertLess(kl, 0.003)
AssertionError: 0.004 not less than 0.003

======================================================================
FAIL: test_note (__main__.A.test_note)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "u.py", line 15, in test_note
AssertionError: avg_kl_div=0.006 > threshold=0.003 for org/model x
Hint: a note that was added

----------------------------------------------------------------------
Ran 6 tests in 0.035s

FAILED (failures=3, errors=2, skipped=1)
""",
)
FAILFAST = log(
    """\
Begin (1/1): python3 test/kl/test_a.py -f
F
======================================================================
FAIL: test_x (__main__.A.test_x)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "t.py", line 3, in f
AssertionError: avg_kl_div=0.004 > threshold=0.003 for org/model x

----------------------------------------------------------------------
Ran 1 test in 0.035s

FAILED (failures=1)
""",
)
SEVERAL_LINES = log(
    """\
======================================================================
FAIL: test_torch (__main__.A.test_torch)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "t.py", line 3, in f
AssertionError: Tensor-likes are not close!

Mismatched elements: 1 / 1 (100.0%)
Greatest absolute difference: 0.003 at index (0,) (up to 1e-05 allowed)
Greatest relative difference: 0.002 at index (0,) (up to 0 allowed)

======================================================================
FAIL: test_numpy (__main__.A.test_numpy)
----------------------------------------------------------------------
AssertionError:\x20
Not equal to tolerance rtol=1e-07, atol=0

Mismatched elements: 1 / 1 (100%)
Max absolute difference among violations: 0.1
Max relative difference among violations: 0.1

======================================================================
FAIL: test_next (__main__.A.test_next)
----------------------------------------------------------------------
AssertionError: KL divergence exceeds threshold
    max KL: 1.25e-03

----------------------------------------------------------------------
Ran 3 tests in 0.035s

FAILED (failures=3)
""",
)
DIALECTS = {
    "pytest": PYTEST,
    "pytest_unlisted": PYTEST_UNLISTED,
    "pytest_live": PYTEST_LIVE,
    "pytest_passes": PYTEST_PASSES,
    "collection": COLLECTION,
    "xdist": XDIST,
    "reruns": RERUNS,
    "unittest": UNITTEST,
    "failfast": FAILFAST,
    "several_lines": SEVERAL_LINES,
}
