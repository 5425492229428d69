"""The probe by itself: which values it reads, and that nothing of the test's own retry remains."""

from __future__ import annotations

import ast
import json
import math
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.probe import PROBE
from runners.probe.kl_probe import Forms


def printed(*lines: str):
    checks = Forms().read(lines)
    return (checks[0].value, checks[0].per_prompt, checks[0].threshold) if checks else None


def test_numpy_2_lines():
    assert printed(
        "kl_divs=[np.float64(0.001), np.float64(0.004)]",
        "avg_kl_div=0.0025",
        "ACC_THRESHOLDS={'kl_div': 0.003}",
    ) == (0.0025, [0.001, 0.004], 0.003)


def test_bare_numbers_and_a_bare_bound():
    assert printed("kl_divs=[0.001, 4e-3]", "avg_kl_div=2.5e-3", "ACC_THRESHOLDS=0.003") == (
        0.0025,
        [0.001, 0.004],
        0.003,
    )


def test_bounds_by_model_give_a_bound_only_when_they_agree():
    one = "ACC_THRESHOLDS={'m': {'kl_div': 0.0025, 'gsm8k': 0.93}}"
    two = "ACC_THRESHOLDS={'m': {'kl_div': 0.0025}, 'n': {'kl_div': 0.004}}"
    assert printed("avg_kl_div=0.1", one) == (0.1, [], 0.0025)
    assert printed("avg_kl_div=0.1", two) == (0.1, [], None)


def test_nan_and_inf_are_values():
    value, per_prompt, _ = printed("kl_divs=[nan, np.float64(inf)]", "avg_kl_div=nan")
    assert math.isnan(value) and math.isnan(per_prompt[0]) and per_prompt[1] == math.inf


def test_half_a_list_is_no_list():
    assert printed("kl_divs=[0.001, array([1])]", "avg_kl_div=0.002") == (0.002, [], None)


def test_no_value_no_check():
    assert printed("kl_divs=[0.1]", "something else", "avg_kl_div=None") is None


@given(st.floats(allow_nan=False), st.lists(st.floats(allow_nan=False), max_size=5), st.booleans())
def test_what_python_prints_is_read_back_exactly(value: float, per_prompt: list[float], numpy: bool):
    shown = [f"np.float64({item})" if numpy else f"{item}" for item in per_prompt]
    assert printed(f"kl_divs=[{', '.join(shown)}]", f"avg_kl_div={value}") == (value, per_prompt, None)


@given(st.lists(st.text(), max_size=6))
def test_any_text_is_survived(lines: list[str]):
    Forms().read(lines)


def test_the_probe_runs_on_old_interpreters_and_needs_only_the_standard_library():
    tree = ast.parse(PROBE.read_text(), feature_version=(3, 9))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13"])
def test_it_measures_with_another_interpreter(tmp_path, version):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""]).returncode != 0:
        pytest.skip(f"no Python {version} on this machine")
    (tmp_path / "test_it.py").write_text(
        "import unittest\nclass Test(unittest.TestCase):\n"
        "    def test_it(self): print('avg_kl_div=0.004'); self.assertLess(0.004, 0.003)\n"
    )
    command = [python, str(PROBE), "--test=test_it.py::Test.test_it", "--repeats=2", "--out=events"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert [event["checks"][0]["threshold"] for event in events[1:3]] == [0.003, 0.003]
    assert [event["failure"] for event in events[1:3]] == [None, None]


class Probed:
    def __init__(self, folder: Path, kit: str) -> None:
        self.folder = folder
        (folder / "kit.py").write_text(kit)

    def __call__(
        self, body: str, *, repeats: int = 1, compare: str | None = "kit:compare", base: str = "Case"
    ):
        """Probes `Test.test_it` of a file with this class body: (events, what the process printed)."""
        imports = "import unittest\nfrom kit import *\nimport kit\n"
        text = f"{imports}B = {{'m': {{'kl_div': 0.003}}}}\nclass Test({base}):\n"
        (self.folder / "test_it.py").write_text(text + textwrap.indent(textwrap.dedent(body), "    "))
        events = self.folder / "events.jsonl"
        events.unlink(missing_ok=True)
        command = [sys.executable, str(PROBE), "--test=test_it.py::Test.test_it", f"--repeats={repeats}"]
        done = subprocess.run(
            [*command, f"--out={events}", *([f"--compare={compare}"] if compare else [])],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
        told = [json.loads(line) for line in events.read_text().splitlines()]
        assert told.pop(0)["event"] == "packages"
        return told, done.stdout + done.stderr


@pytest.fixture
def probe(tmp_path: Path, helpers) -> Probed:
    return Probed(tmp_path, helpers.kit)


def test_a_value_over_the_bound_is_read_once_and_the_retry_does_not_fire(probe):
    events, output = probe("def test_it(self): compare([0.004, 0.006], B, 'm', 'hit')", repeats=2)
    check = {"label": "hit", "value": 0.005, "per_prompt": [0.004, 0.006], "threshold": 0.003}
    assert [event.get("checks") for event in events] == [[check], [check], None]
    assert [event.get("failure") for event in events[:2]] == [None, None]
    assert events[-1] == {"event": "measured"}
    assert "SECOND TRY" not in output
    assert output.count("avg_kl_div=0.005") == 2  # printed on, as the test would


def test_the_class_is_set_up_once_and_each_method_has_its_own_set_up(probe):
    _, output = probe(
        """
        @classmethod
        def setUpClass(cls): print("CLASS UP"); cls.addClassCleanup(print, "CLASS CLEANUP")
        @classmethod
        def tearDownClass(cls): print("CLASS DOWN")
        def setUp(self): print("UP"); self.addCleanup(print, "CLEANUP")
        def tearDown(self): print("DOWN")
        def test_it(self): compare([0.001], B, 'm', 'hit')
        """,
        repeats=2,
    )
    marks = [line for line in output.splitlines() if line.isupper() and "=" not in line]
    assert marks == ["CLASS UP", *["UP", "DOWN", "CLEANUP"] * 2, "CLASS DOWN", "CLASS CLEANUP"]


def test_each_check_of_a_method_is_one_reading_and_a_label_that_comes_again_is_numbered(probe):
    (event, _), _ = probe(
        "def test_it(self): [compare([v], B, 'm', l) for v, l in ((.001, 'a'), (.009, 'b'), (.002, 'a'))]"
    )
    assert [(check["label"], check["value"]) for check in event["checks"]] == [
        ("a", 0.001),
        ("b", 0.009),
        ("a#2", 0.002),
    ]


def test_a_failure_that_is_not_the_bound_is_a_failure_and_not_tried_again(probe):
    (event, _), output = probe(
        """
        def test_it(self):
            compare([0.001], B, 'm', 'hit')
            assert False, "Too few decode cache hits"
        """
    )
    assert event["failure"] == "AssertionError: Too few decode cache hits"
    assert output.count("avg_kl_div") == 1


def test_an_assertion_of_the_compare_function_itself_is_a_failure(probe):
    (event, _), _ = probe("def test_it(self): compare([], B, 'm', 'hit')")
    assert event["checks"] == [] and event["failure"].startswith("ZeroDivisionError")


def test_an_assertion_after_a_value_under_the_bound_is_a_failure(probe):
    strict = """
        def strict():
            print("avg_kl_div=0.001"); print("ACC_THRESHOLDS=0.003")
            assert False, "one prompt is missing"
    """
    (probe.folder / "kit.py").write_text((probe.folder / "kit.py").read_text() + textwrap.dedent(strict))
    (event, _), _ = probe("def test_it(self): kit.strict()", compare="kit:strict")
    assert event["failure"] == "AssertionError: one prompt is missing"


def test_a_failing_tear_down_is_a_failure(probe):
    (event, _), _ = probe(
        """
        def tearDown(self): raise OSError("port in use")
        def test_it(self): compare([0.001], B, 'm', 'hit')
        """
    )
    assert event["failure"] == "OSError: port in use"


def test_a_method_that_returns_early_has_no_value(probe):
    (event, _), _ = probe("def test_it(self): return")
    assert event["failure"] == "the test returned without printing a KL value"


def test_a_skip_is_no_value(probe):
    (event, _), _ = probe("def test_it(self): self.skipTest('needs 4 GPUs')")
    assert event["failure"] == "SkipTest: needs 4 GPUs"


def test_the_compare_function_is_found_in_modules_that_took_it_before(probe):
    (probe.folder / "early.py").write_text("from kit import compare\n")
    (probe.folder / "kit.py").write_text((probe.folder / "kit.py").read_text() + "\nimport early\n")
    (event, _), _ = probe("def test_it(self): kit.early.compare([0.005], B, 'm', 'hit')")
    assert event["failure"] is None and event["checks"][0]["value"] == 0.005


def test_the_compare_function_is_found_in_a_class_that_keeps_it(probe):
    (event, _), _ = probe(
        """
        keep = staticmethod(compare)
        def test_it(self): self.keep([0.005], B, 'm', 'hit')
        """
    )
    assert event["failure"] is None and event["checks"][0]["label"] == "hit"


def test_without_a_compare_function_printed_values_count(probe):
    (event, _), output = probe("def test_it(self): compare([0.005], B, 'm', 'hit')", compare=None)
    assert event["failure"] is None
    assert event["checks"] == [{"label": None, "value": 0.005, "per_prompt": [0.005], "threshold": 0.003}]
    assert "SECOND TRY" not in output


def test_without_a_compare_function_another_failure_is_still_a_failure(probe):
    (event, _), _ = probe(
        """
        def test_it(self):
            compare([0.001], B, 'm', 'hit')
            raise OSError("server died")
        """,
        compare=None,
    )
    assert event["failure"] == "OSError: server died"


@pytest.mark.parametrize(
    ("body", "options", "reason"),
    [
        ("x = 1", {}, "Test has no method test_it at this commit"),
        (
            "async def test_it(self): pass",
            {},
            "test_it is an async method, but Test is no IsolatedAsyncioTestCase",
        ),
        (
            "def test_it(self): pass",
            {"compare": "kit:nothing"},
            "the compare function kit:nothing was not found",
        ),
        ("def test_it(self): pass", {"compare": "no_kit:f"}, "the compare function no_kit:f was not found"),
        ("raise SystemExit('no GPU')", {}, "SystemExit: no GPU"),
        (
            "@classmethod\ndef setUpClass(cls): raise OSError('out of memory')\ndef test_it(s): 0",
            {},
            "OSError: out of",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_sentence(probe, body, options, reason):
    events, _ = probe(body, **options)
    assert [event["event"] for event in events] == ["fatal"]
    assert events[0]["failure"].startswith(reason)


def values(*lines: str) -> list[float]:
    return [check.value for check in Forms().read(lines)]


@pytest.mark.parametrize(
    "line",
    [
        "avg_kl_div=0.3%",
        "avg_kl_div=0.3 %",
        "avg_kl_div=4ms",
        "avg_kl_div=0,004",
        "avg_kl_div=0.004, avg_kl_div=0.001",
        "avg_kl_div=0.004 avg_kl_div=0.001",
        "AssertionError: avg_kl_div=0.004 > threshold=0.003",
        "E   avg_kl_div=0.004",
        "SECOND TRY avg_kl_div=0.004 > threshold=0.003",
    ],
)
def test_what_is_no_whole_number_or_no_print_is_no_value(line):
    assert values(line) == []


def test_nan_of_other_languages_and_a_tensor_are_values():
    assert values("avg_kl_div=tensor(0.004, device='cuda:0')", "..avg_kl_div=0.002") == [0.004, 0.002]
    assert math.isnan(values("avg_kl_div=NaN")[0])


def test_a_value_that_comes_again_in_an_exceptions_message_is_the_same_check():
    traceback = ("Traceback (most recent call last):", "AssertionError: too large:")
    assert values("avg_kl_div=0.004", *traceback, "avg_kl_div=0.004") == [0.004]
    assert values("avg_kl_div=0.004", "avg_kl_div=0.004") == [0.004, 0.004]


def test_a_line_of_a_megabyte_is_read(probe):
    line = "'kl_divs=' + str([0.001] * 4000 + [0] * 200_000)"
    body = f"def test_it(self): print({line}); print('avg_kl_div=0.002')"
    (event, _), _ = probe(body, compare=None)
    assert len(event["checks"][0]["per_prompt"]) == 4096


def test_a_bound_that_is_crossed_in_a_subtest_is_a_value(probe):
    (event, _), _ = probe(
        """
        def test_it(self):
            for value in (0.004, 0.001, 0.005):
                with self.subTest(value):
                    print(f"avg_kl_div={value}")
                    self.assertLess(value, 0.003)
        """,
        compare=None,
    )
    assert event["failure"] is None
    assert [check["value"] for check in event["checks"]] == [0.004, 0.001, 0.005]
    assert [check["threshold"] for check in event["checks"]] == [0.003, None, 0.003]


def test_another_assertion_in_a_subtest_is_a_failure(probe):
    (event, _), _ = probe(
        """
        def test_it(self):
            print("avg_kl_div=0.001\\nACC_THRESHOLDS=0.003")
            with self.subTest("hits"): self.assertEqual(3, 4)
        """,
        compare=None,
    )
    assert event["failure"].startswith("AssertionError: 3 != 4")


def test_an_unrelated_assertion_after_a_value_over_its_bound_is_named(probe):
    (event, _), _ = probe(
        """
        def test_it(self):
            print("avg_kl_div=0.004\\nACC_THRESHOLDS=0.003")
            self.assertEqual(3, 4)
        """,
        compare=None,
    )
    assert event["failure"] == "AssertionError: 3 != 4"


RETRY = """
    def test_it(self):
        for value in (0.004, 0.002):
            try:
                print(f"avg_kl_div={value}"); BOUND
                return self.assertLess(value, 0.003)
            except AssertionError: pass
"""


def test_of_a_retry_in_the_test_only_the_first_try_counts(probe):
    (event, _), _ = probe(RETRY.replace("BOUND", "print('ACC_THRESHOLDS=0.003')"), compare=None)
    assert (event["failure"], [check["value"] for check in event["checks"]]) == (None, [0.004])


def test_a_retry_that_cannot_be_told_is_refused(probe):
    (event, _), _ = probe(RETRY.replace("BOUND", "pass"), compare=None)
    assert event["failure"].endswith("name the compare function in the rule pack")


def test_checks_under_their_bounds_are_readings_in_order(probe):
    body = "def test_it(self): [print(f'avg_kl_div={v}\\nACC_THRESHOLDS=0.003') for v in (.001, .002)]"
    (event, _), _ = probe(body, compare=None)
    assert [(check["label"], check["value"]) for check in event["checks"]] == [(None, 0.001), ("#2", 0.002)]


def test_a_compare_function_of_the_test_file_itself_is_wrapped_and_the_file_imported_once(probe):
    (event, _), output = probe(
        """
        global own
        def own(values): kit.compare(values, B, "m", "own")
        print("IMPORTED")
        def test_it(self): own([0.005])
        """,
        compare="test_it:own",
    )
    assert event["failure"] is None and event["checks"][0]["value"] == 0.005
    assert output.count("IMPORTED") == 1


def test_an_error_of_the_class_tear_down_is_named_after_the_values(probe):
    events, _ = probe(
        """
        @classmethod
        def tearDownClass(cls): raise OSError("port in use")
        def test_it(self): compare([0.001], B, 'm', 'hit')
        """
    )
    assert [event["event"] for event in events] == ["repeat", "measured", "fatal"]
    assert events[-1]["failure"] == "the tear-down failed: OSError: port in use"
