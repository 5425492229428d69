"""What a job of the reference project prints, against the shapes of a real job log."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runners.reference.measure import PROJECT, TEST_FILE, project_tree

NUMBER = r"\d\.\d+(?:e-\d+)?"
LABELS = ["decode_cache_hit", "logprobs_match", "prefill_cache_hit"]


def suite(tree: Path) -> tuple[int, str]:
    command = [sys.executable, "test/run_suite.py", "--suite", "kl-cpu"]
    done = subprocess.run(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def with_bounds(tree: Path, first: str, sibling: str) -> None:
    file = tree / TEST_FILE
    text = file.read_text()
    assert text.count("kl_threshold = 0.003") == 1
    assert text.count("kl_threshold = 0.005") == 1
    text = text.replace("kl_threshold = 0.003", f"kl_threshold = {first}")
    file.write_text(text.replace("kl_threshold = 0.005", f"kl_threshold = {sibling}"))


@pytest.fixture(scope="module")
def passing():
    """The suite with bounds that no run exceeds."""
    with project_tree("none") as tree:
        with_bounds(tree, "0.1", "0.2")
        yield suite(tree)


@pytest.fixture(scope="module")
def failing():
    """The suite with a first bound that every run exceeds."""
    with project_tree("none") as tree:
        with_bounds(tree, "0.0001", "0.2")
        yield suite(tree)


def test_a_passing_job_prints_every_value_and_never_tries_again(passing):
    code, log = passing
    assert code == 0
    assert re.findall(r"^ACC_THRESHOLDS=\{'kl_div': (\S+)\}$", log, re.M) == ["0.1"] * 3 + ["0.2"] * 3
    assert len(re.findall(rf"^avg_kl_div={NUMBER}$", log, re.M)) == 6
    nine = ", ".join([rf"np\.float64\({NUMBER}\)"] * 9)
    assert len(re.findall(rf"^kl_divs=\[{nine}\]$", log, re.M)) == 6
    assert "retry()" not in log
    assert "Traceback" not in log


def test_a_job_has_the_banners_of_ci(passing):
    _, log = passing
    path = rf"\S+/{TEST_FILE}"
    assert re.search(rf"^\.\n\.\nBegin \(0/0\):\npython3 {path}\n\.\n\.\n\n", log, re.M)
    end = rf"^\.\n\.\nEnd \(0/0\):\nfilename='{path}', elapsed=\d+, estimated_time=8\.0\n\.\n\.\n\n"
    assert re.search(end, log, re.M)
    assert "Test Summary: 1/1 unit(s) passed" in log
    assert f'{{"file": "{TEST_FILE}", "passed": true, "elapsed": ' in log


def test_each_method_is_named_once_in_order(passing):
    _, log = passing
    classes = ["TestHybridCacheKL", "TestHybridCacheKLHiCache"]
    named = re.findall(r"\[CI Test Method\] (\S+)$", log, re.M)
    assert named == [f"{cls}.test_{label}" for cls in classes for label in LABELS]


def test_a_failing_job_tries_twice_and_stops_at_the_first_red_method(failing):
    code, log = failing
    assert code == 255
    assert re.findall(r"\[CI Test Method\] (\S+)", log) == ["TestHybridCacheKL.test_decode_cache_hit"]
    message = rf"avg_kl_div=({NUMBER}) > threshold=0.0001 for tiny-hybrid-fp8 decode_cache_hit"
    first, second, third = re.findall(rf"^AssertionError: {message}$", log, re.M)
    assert first != second == third, "two tries, the second one again under the ERROR header"
    again = (
        r"^retry\(\) failed once \(0th try, maximum 1 retries\)\. Will delay \d\.\d\ds and retry\. Error: "
    )
    assert re.findall(again + message + "$", log, re.M) == [first]
    assert len(re.findall(r"^Exception: retry\(\) exceed maximum number of retries\.$", log, re.M)) == 1
    assert "During handling of the above exception, another exception occurred:" in log
    assert "FAILED (errors=1)" in log
    assert "✗ FAILED:" in log
    assert '"passed": false' in log


def test_the_error_header_names_the_class(failing):
    _, log = failing
    name = "test_decode_cache_hit"
    with_method = f"ERROR: {name} (__main__.TestHybridCacheKL.{name})"
    assert with_method in log or f"ERROR: {name} (__main__.TestHybridCacheKL)" in log


def test_printed_values_stand_after_the_tracebacks_they_belong_to(failing):
    _, log = failing
    assert log.index("Ran 1 test in") < log.index("\nkl_divs=[")
    printed = re.findall(rf"^avg_kl_div=({NUMBER})$", log, re.M)
    assert printed == re.findall(rf"^AssertionError: avg_kl_div=({NUMBER})", log, re.M)[:2]


def test_an_unknown_suite_is_one_line(tmp_path):
    shutil.copytree(PROJECT, tmp_path / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "test/run_suite.py", "--suite", "nightly"]
    done = subprocess.run(command, cwd=tmp_path / "tree", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "No test file is registered for suite 'nightly'.\n"


def test_without_torch_one_clear_line(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PROJECT)])}
    command = [sys.executable, "-B", "-c", "import tinyserve.engine"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "tinyserve needs PyTorch: install torch 2.6 or newer and run again.\n"
