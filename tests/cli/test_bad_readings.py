"""Files of readings that are wrong or say next to nothing, as `decide` meets them."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import run
from tests.verdict.build import lost, record, trigger

NOTHING = "field '(records)': there is no reading at all; give at least the failing one"


def decided(records, *options):
    """Records, or the text of a file."""
    text = records if isinstance(records, str) else "".join(json.dumps(r) + "\n" for r in records)
    return run("decide", "-", *options, stdin=text)


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ("", NOTHING),
        ("\n \n", NOTHING),
        ("[" * 100_000, "not a JSON object"),
        ("\x00\n", "not a JSON object"),
        ("[1]\n", "record 1: field '(record)': must be a JSON object"),
        (
            [record("head", 0.001), record("head", -0.001)],
            "record 2: field 'value': -0.001 is negative: not a k3 KL, which is never below 0",
        ),
        (
            [record("head", 0.001, per_prompt=[0.003, -0.001])],
            "record 1: field 'per_prompt': -0.001 is negative: not a k3 KL, which is never below 0",
        ),
        ([record("head", 0.001, threshold=-0.003)], "record 1: field 'threshold': must not be negative"),
        (
            [record("head", 0.001), record("base", 0.001, threshold=0.005)],
            "record 2: field 'threshold': 0.003 and 0.005 are both in the file; say which bound to judge",
        ),
        (
            [record("head", 0.001), record("head", 0.001, test="test/other.py::TestB.test_b")],
            "record 2: field 'test': two tests in one file; judge one test at a time",
        ),
        ([record("head", 0.001, threshold=None)], "field 'threshold': no reading names the bound"),
    ],
)
def test_a_file_that_is_no_evidence_is_one_line_and_exits_1(records, sentence):
    answer = decided(records)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("kl-triage: -:") and sentence in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("bound", ["-0.001", "nan", "inf", "x"])
def test_a_bound_that_is_none_is_one_line_and_exits_1(bound):
    answer = decided(trigger(0.0034), "--threshold", bound)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "threshold" in answer.stderr and len(answer.stderr.strip().splitlines()) == 1


MISSING = [lost("head", launch=f"head-{i}") for i in range(4)]


@pytest.mark.parametrize(
    ("records", "options", "code", "kind", "reason"),
    [
        ([lost("trigger"), *MISSING], (), 2, "infra", "too_few_usable_runs"),
        ([lost("trigger")], (), 2, "inconclusive", "no_reruns"),
        (trigger(0.0034), (), 2, "inconclusive", "no_reruns"),
        ([record("head", 0.0034)], (), 2, "inconclusive", "one_arm"),
        (trigger(0.0034), ("--threshold", "0"), 0, "exact_gate", "exact_gate"),
        (
            [*trigger(0.0034), record("head", 0.001, threshold=0.005)],
            ("--threshold", "0.005"),
            2,
            "refused",
            "trigger_under_bound",
        ),
        ([record("head", "nan")], (), 0, "non_finite", "non_finite_head"),
    ],
)
def test_little_is_answered_for_what_it_is(records, options, code, kind, reason):
    answer = decided(records, *options, "--json")
    verdict = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr) == (code, "")
    assert (verdict["kind"], verdict["reason"], verdict["proposal"]) == (kind, reason, None)


def test_lists_of_other_lengths_are_told_and_not_paired():
    records = [
        *trigger(0.0034),
        *[record("head", 0.001, per_prompt=[0.001, 0.001], repeat=i) for i in range(2)],
        record("base", 0.001, per_prompt=[0.001] * 3),
    ]
    answer = decided(records, "--json")
    verdict = json.loads(answer.stdout)
    assert (answer.returncode, verdict["kind"], verdict["reason"]) == (2, "inconclusive", "one_arm")
    note = "1 readings have another number of prompts than 2: not paired by prompt"
    assert verdict["trace"][0] == {"name": "evidence", "saw": note}
