"""The pack `generic` against the libraries themselves: each message is raised here, not written down."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
import unittest
from collections.abc import Callable

import numpy as np
import pytest

from bot.logs import scan
from tests.rules.builders import crossings, named

CASE = unittest.TestCase()


def raised(check: Callable[[], object]) -> str:
    """The last lines of the traceback."""
    try:
        check()
    except AssertionError as error:
        return "".join(traceback.format_exception_only(error))
    raise RuntimeError("the check passed")


def said(text: str) -> list[tuple[str, str | None, float | None, float | None]]:
    return [(c.rule, c.fails_when, c.value, c.threshold) for c in crossings("generic", text)]


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (lambda: CASE.assertLess(0.0034, 0.003), ("unittest_less", "above", 0.0034, 0.003)),
        (lambda: CASE.assertLess(0.0034, 0.003, "too far"), ("unittest_less", "above", 0.0034, 0.003)),
        (lambda: CASE.assertLess(np.float64(2e-5), 1e-05), ("unittest_less", "above", 2e-5, 1e-5)),
        (lambda: CASE.assertLessEqual(0.5, 0.25), ("unittest_less_equal", "above", 0.5, 0.25)),
        (lambda: CASE.assertGreater(0.5, 0.6), ("unittest_greater", "below", 0.5, 0.6)),
        (lambda: CASE.assertGreaterEqual(0.5, 0.6), ("unittest_greater_equal", "below", 0.5, 0.6)),
        (lambda: CASE.assertAlmostEqual(1.5, 1.0, delta=0.25), ("unittest_delta", "above", 0.5, 0.25)),
        (lambda: CASE.assertAlmostEqual(1.5, 1.0), ("unittest_places", "above", 0.5, None)),
        (lambda: CASE.assertTrue(0.0034 < 0.003), ("unittest_true", None, None, None)),
        (lambda: CASE.assertTrue(np.allclose(1, 2)), ("unittest_true", None, None, None)),
    ],
)
def test_unittest(check, expected):
    assert said(raised(check)) == [expected]


@pytest.mark.parametrize(
    "check",
    [
        lambda: CASE.assertLess((1, 2), (0, 1)),
        lambda: CASE.assertLess([0.5, 2.5], [0.5, 1.5]),
        lambda: CASE.assertLess("b", "a"),
        lambda: CASE.assertEqual(3, 4),
        lambda: CASE.assertIn(0.5, [0.25]),
        lambda: CASE.assertIsNone(0.5),
    ],
)
def test_other_assertions_of_unittest_give_no_value(check):
    assert said(raised(check)) == []


ONES = np.ones(8)


def moved(count: int) -> np.ndarray:
    """Ones, the first `count` of them 1.5."""
    return np.where(np.arange(8) < count, 1.5, 1.0)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (
            lambda: np.testing.assert_allclose(moved(1), ONES, atol=0.25),
            ("numpy_absolute", "above", 0.5, 0.25),
        ),
        (
            lambda: np.testing.assert_allclose(moved(2), ONES, rtol=0, atol=1e-5),
            ("numpy_absolute", "above", 0.5, 1e-5),
        ),
        (lambda: np.testing.assert_allclose(2.0, 1.0), ("numpy_relative", "above", 1.0, 1e-7)),
        (lambda: np.testing.assert_allclose(moved(2), ONES), ("numpy_relative", "above", 0.5, 1e-7)),
        # The tolerance stands too many lines above the distance.
        (lambda: np.testing.assert_allclose(moved(4), ONES), ("numpy_listed", "above", 0.5, None)),
        (lambda: np.testing.assert_allclose(moved(8), ONES, atol=0.25), ("numpy_listed", "above", 0.5, None)),
        (
            lambda: np.testing.assert_allclose(2.0, 1.0, atol=0.25, err_msg="log-probs"),
            ("numpy_absolute", "above", 1.0, 0.25),
        ),
        (lambda: np.testing.assert_array_equal(moved(1), ONES), ("numpy_not_equal", "above", 0.5, None)),
        (lambda: np.testing.assert_array_equal(moved(7), ONES), ("numpy_listed", "above", 0.5, None)),
        (
            lambda: np.testing.assert_array_almost_equal(moved(2), ONES),
            ("numpy_not_equal", "above", 0.5, None),
        ),
        (lambda: np.testing.assert_almost_equal(1.5, 1.0), ("numpy_scalars", None, None, None)),
        (lambda: np.testing.assert_approx_equal(1.5, 1.0), ("numpy_items", None, None, None)),
        (lambda: np.testing.assert_equal(1.5, 1.0), ("numpy_items", None, None, None)),
        (lambda: np.testing.assert_array_less(ONES, moved(1)), ("numpy_order", None, None, None)),
        (lambda: np.testing.assert_array_less(ONES, ONES), ("numpy_order", None, None, None)),
        (lambda: np.testing.assert_allclose(moved(1), np.nan * ONES), ("numpy_location", None, None, None)),
    ],
)
def test_numpy(check, expected):
    assert said(raised(check)) == [expected]


def test_numpy_1():
    """An older message: no list of mismatches, and the largest difference over all elements."""
    text = (
        "AssertionError: \nNot equal to tolerance rtol=1e-07, atol=1e-05\n\n"
        "Mismatched elements: 1 / 2 (50%)\nMax absolute difference: 0.25\nMax relative difference: 0.2\n"
        " x: array([1.  , 2.25])\n y: array([1., 2.])\n"
    )
    assert said(text) == [("numpy_absolute", "above", 0.25, 1e-5)]


def test_torch():
    torch = pytest.importorskip("torch")
    close = torch.testing.assert_close
    two, moved_two = torch.tensor([1.0, 2.0]), torch.tensor([1.5, 2.0])
    checks = [
        (lambda: close(1.5, 1.0), ("torch_absolute", "above", 0.5, 1e-7)),
        (lambda: close(1.5, 1.0, rtol=0.25, atol=0), ("torch_relative", "above", 0.5, 0.25)),
        (lambda: close(1.5, 1.0, rtol=0, atol=0), ("torch_not_equal", "above", 0.5, None)),
        (lambda: close(moved_two, two), ("torch_absolute", "above", 0.5, 1e-5)),
        (lambda: close(moved_two, two, rtol=0, atol=0.25), ("torch_absolute", "above", 0.5, 0.25)),
        (lambda: close(moved_two, two, rtol=0.25, atol=0), ("torch_relative", "above", 0.5, 0.25)),
        (lambda: close(moved_two, two, rtol=0, atol=0), ("torch_not_equal", "above", 0.5, None)),
        (lambda: close(two, torch.zeros(3)), ("torch_attribute", None, None, None)),
        (lambda: CASE.assertLess(torch.tensor(0.5), 0.25), ("unittest_less", "above", 0.5, 0.25)),
        (
            lambda: CASE.assertLess(torch.tensor(0.5, dtype=torch.float64), 0.25),
            ("unittest_tensor_less", "above", 0.5, 0.25),
        ),
        (lambda: CASE.assertTrue(torch.tensor(False)), ("unittest_true", None, None, None)),
    ]
    for check, expected in checks:
        assert said(raised(check)) == [expected]


PYTEST_FILE = """\
import math
import numpy as np
import pytest
kl, floor = 0.0034, 0.5
def test_less(): assert kl < 0.003
def test_less_equal(): assert abs(kl) <= 0.003
def test_chain(): assert 0 < kl < 0.003
def test_numpy(): assert np.float64(kl) < 0.003
def test_greater(): assert floor > 0.6
def test_greater_equal(): assert floor >= 0.6
def test_approx(): assert floor == pytest.approx(0.6, abs=0.05)
def test_reversed(): assert pytest.approx(0.6, abs=0.05) == floor
def test_list(): assert [1.5, 1.0] == pytest.approx([1.0, 1.0], abs=0.05)
def test_isclose(): assert math.isclose(kl, 0.003)
def test_allclose(): assert np.allclose(1, 2)
def test_false(): assert all(x < 0.003 for x in [kl])
def test_message():
    assert kl > 0, "never shown"
    assert kl < 0.003, "too far"
def test_equal(): assert kl == 0.003
def test_other(): assert "a" < "A"
"""
PYTEST_SAYS = {
    "test_less": ("pytest_less", "above", 0.0034, 0.003),
    "test_less_equal": ("pytest_less", "above", 0.0034, 0.003),
    "test_chain": ("pytest_less", "above", 0.0034, 0.003),
    "test_numpy": ("pytest_less", "above", 0.0034, 0.003),
    "test_greater": ("pytest_greater", "below", 0.5, 0.6),
    "test_greater_equal": ("pytest_greater", "below", 0.5, 0.6),
    "test_approx": ("pytest_approx", None, None, None),
    "test_reversed": ("pytest_approx", None, None, None),
    "test_list": ("pytest_approx_list", "above", 0.5, None),
    "test_isclose": ("isclose", None, None, None),
    "test_allclose": ("isclose", None, None, None),
    "test_false": ("assert_false", None, None, None),
    "test_message": ("pytest_less", "above", 0.0034, 0.003),
}


@pytest.fixture(scope="module", params=["", "true"], ids=["terminal", "ci"])
def pytest_log(request, tmp_path_factory) -> str:
    """On a CI machine pytest prints each message whole in its summary, over several lines."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_kl.py").write_text(PYTEST_FILE)
    outer = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "test_kl.py"],
        cwd=folder,
        env=outer | {"CI": request.param},
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout


def test_pytest(pytest_log):
    """Each entry of the list of failures, its margins taken off as the reader does."""
    entries = pytest_log.partition("= FAILURES =")[2].partition("short test summary")[0].split("\n____")[1:]
    found = {}
    for entry in entries:
        name = entry.split()[1]
        lines = [line.removeprefix("E").strip() for line in entry.splitlines() if line.startswith("E ")]
        found[name] = said("\n".join(lines))
    assert found == {name: [PYTEST_SAYS[name]] if name in PYTEST_SAYS else [] for name in found}
    assert set(PYTEST_SAYS) < set(found)


def test_lines_of_source_are_no_results(pytest_log):
    failures = pytest_log.partition("short test summary")[0]
    source = [line for line in failures.splitlines() if not line.startswith("E ")]
    assert said("\n".join(source)) == []


def test_a_whole_pytest_log(pytest_log):
    result = scan([pytest_log.encode()], named("generic").scan_forms)
    found = {str(failure.test).rpartition("::")[2]: failure for failure in result.failures}
    assert len(result.failures) == len(found) == PYTEST_FILE.count("def test_")
    for name, (_, _, value, threshold) in PYTEST_SAYS.items():
        failure = next(failure for test, failure in found.items() if test.rpartition(".")[2] == name)
        assert (failure.value, failure.threshold) == (value, threshold), name


@pytest.mark.parametrize(
    "line",
    [
        "gsm8k accuracy 0.5 is not greater than expected",
        "AssertionError: Error: the value must be not less than it was",
        "assert 0 < kl < limit",
        "    assert 0.5 < limit",
        "assert x < 0.003",
        "warning: assert False positives are rare",
        "batch of 3 not less than 2 requests",
        "Max absolute difference: unknown",
        "Absolute difference: 12ms (up to 5ms allowed)",
    ],
)
def test_lines_that_say_nothing(line):
    assert said(line) == []
