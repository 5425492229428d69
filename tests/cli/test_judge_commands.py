"""`decide` and `calibrate` as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.command import process, run
from tests.verdict.build import healthy, record, trigger


@pytest.fixture
def readings(tmp_path):
    path = tmp_path / "readings.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in healthy()))
    return str(path)


def policy(folder, text: str) -> str:
    (folder / "policy.yml").write_text(text)
    return str(folder / "policy.yml")


def test_decide_takes_the_constants_of_a_policy(readings, tmp_path):
    """No bound is 1.01 x the old one, so the same readings end without a bump."""
    loose = json.loads(run("decide", readings, "--json").stdout)
    assert (loose["kind"], loose["proposal"]["threshold"]) == ("noise", 0.004)
    answer = run("decide", readings, "--policy", policy(tmp_path, "max_factor: 1.01\n"), "--json")
    strict = json.loads(answer.stdout)
    assert (answer.returncode, strict["kind"], strict["reason"]) == (2, "inconclusive", "no_bound_holds")


@pytest.mark.parametrize("command", ["decide", "calibrate"])
def test_every_error_of_a_policy_with_its_place(command, readings, tmp_path):
    path = policy(tmp_path, "max_batchez: 3\nmax_factor: 0.5\n")
    answer = run(command, readings, "--policy", path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == (
        f"kl-triage: {path}:1:1: max_batchez: is no field of a policy; did you mean max_batches?\n"
        f"{path}:2:13: max_factor: must be from 1 to 1000, not 0.5\n"
    )


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"#" * 70_000, "1:1: is longer than 64 KiB"),
        (b"margin: \xff", "1:1: is not UTF-8"),
        (None, "1:1: cannot be read: No such file or directory"),
    ],
)
def test_a_policy_that_is_no_such_file_is_one_line(content, error, readings, tmp_path):
    if content is not None:
        (tmp_path / "policy.yml").write_bytes(content)
    answer = run("decide", readings, "--policy", "policy.yml", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (1, f"kl-triage: policy.yml:{error}\n")


def test_the_readable_verdict_and_its_trace(readings):
    plain, traced = run("decide", readings), run("decide", readings, "--trace")
    assert plain.returncode == 0 and plain.stdout.startswith("NOISE  bound_under_noise_floor\n")
    assert "^ bound 0.003" in plain.stdout and "\x1b" not in plain.stdout
    assert traced.stdout.startswith(plain.stdout)
    steps = traced.stdout.removeprefix(plain.stdout)
    assert steps.startswith("\nhow it was decided (13 steps, the last one answered)\n  refused ")
    assert "\n  noise  " in steps


def test_a_stream_without_utf_8_gets_ascii(readings):
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    answer = subprocess.run(
        [sys.executable, "-m", "bot.cli", "decide", readings, "--trace"],
        capture_output=True,
        env=environment,
        check=False,
        timeout=60,
    )
    assert answer.returncode == 0 and answer.stdout.isascii() and b"head over base x" in answer.stdout


def test_calibrate_plays_the_same_worlds_for_the_same_seed(readings):
    first, again = (run("calibrate", readings, "--worlds", "2", "--json") for _ in range(2))
    assert (first.returncode, first.stderr, first.stdout) == (0, "", again.stdout)
    document = json.loads(first.stdout)
    assert document["refusal"] is None
    found = document["calibration"]
    assert (found["worlds"], found["prompts"], found["threshold"]) == (2, 9, 0.003)
    assert set(found["false_bumps"]) == {
        "head × 1.25",
        "head × 1.5",
        "head × 2",
        "one prompt × 20 in 20 % of head runs",
    }
    other = run("calibrate", readings, "--worlds", "2", "--seed", "1", "--json")
    assert json.loads(other.stdout)["calibration"]["exceedance"] != found["exceedance"]


def test_calibrate_as_text(readings):
    lines = process("calibrate", readings, "--worlds", "1", "--threshold", "0.0031").stdout.splitlines()
    assert lines[0] == "test/kl/test_cache.py::TestCache.test_match"
    assert lines[1].startswith("On 1 simulated runs like this test's, the judge called equal code worse in ")
    assert "equal code, how it ended" in lines


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (trigger(0.0031, 0.0032), "too_few_readings"),
        ([record("trigger", 1e-5, threshold=1e-9)], "exact_gate"),
    ],
)
def test_what_cannot_be_calibrated_is_a_refusal(records, code):
    lines = "".join(json.dumps(record) + "\n" for record in records)
    answer = run("calibrate", "-", "--json", stdin=lines)
    document = json.loads(answer.stdout)
    assert (answer.returncode, document["calibration"], document["refusal"]["code"]) == (2, None, code)
    text = run("calibrate", "-", stdin=lines)
    assert (text.returncode, text.stderr) == (2, "") and text.stdout.startswith(f"refused ({code}): ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("calibrate", "absent.jsonl"),
        ("calibrate", "."),
        ("calibrate", "-", "--worlds", "0"),
        ("calibrate", "-", "--seed", "-1"),
        ("calibrate", "-", "--threshold", "nan"),
        ("calibrate", "-"),
        ("decide", "-", "--policy", "."),
    ],
)
def test_a_usage_or_input_error_is_one_line_and_exits_1(arguments, tmp_path):
    answer = run(*arguments, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "Traceback" not in answer.stderr and len(answer.stderr.strip().splitlines()) == 1
