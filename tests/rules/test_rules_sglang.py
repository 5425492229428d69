"""The packs `sglang` and `reference`: each printed form with a real line, and lines that must say nothing."""

from __future__ import annotations

import pytest

from tests.rules.builders import crossings, named, printed, stated

SGLANG_PRINTS = [
    ("label", "[decode_cache_hit] 9 samples, 3 turns, max_new_tokens=512", {"label": "decode_cache_hit"}),
    ("per_prompt", "kl_divs=[np.float64(0.001), 0.002]", {"per_prompt": "[np.float64(0.001), 0.002]"}),
    ("value", "avg_kl_div=0.0015", {"value": "0.0015"}),
    ("value", "avg_kl_div=np.float64(0.0015)", {"value": "np.float64(0.0015)"}),
    ("threshold", "ACC_THRESHOLDS={'kl_div': 0.003}", {"threshold": "{'kl_div': 0.003}"}),
]


@pytest.mark.parametrize("pack", ["sglang", "reference"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "AssertionError: avg_kl_div=0.0034 > threshold=0.003 for a/b hit",
            ("kl_over", 0.0034, 0.003, "hit"),
        ),
        ("AssertionError: avg_kl_div=0.0034 > threshold=0.003", ("kl_over", 0.0034, 0.003, None)),
        (
            "avg_kl_div=np.float64(0.0034) > threshold=3e-3 for a/b hit",
            ("kl_over", 0.0034, 0.003, "hit"),
        ),
        ("Error: avg_kl_div=inf > threshold=0.003 for a/b hit", ("kl_over", float("inf"), 0.003, "hit")),
    ],
)
def test_the_form_of_today(pack, line, expected):
    assert stated(pack, line) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "avg_kl_div=0.0034 is greater than threshold=0.003 for a/b hit",
            ("kl_is_greater", 0.0034, 0.003, "hit"),
        ),
        (
            "0.1 not less than 0.05 : avg_kl_div=0.1 >= threshold=0.05 for a/b hit",
            ("kl_not_less", 0.1, 0.05, "hit"),
        ),
        ("0.1 not less than 0.05 : avg_kl_div=0.1 >= threshold=0.05", ("kl_not_less", 0.1, 0.05, None)),
    ],
)
def test_older_forms_of_sglang(line, expected):
    assert stated("sglang", line) == [expected]


def test_nan_over_the_bound():
    (crossing,) = crossings("sglang", "avg_kl_div=nan > threshold=0.003 for a/b hit")
    assert str(crossing.value) == "nan" and crossing.threshold == 0.003


@pytest.mark.parametrize("pack", ["sglang", "reference"])
@pytest.mark.parametrize(("name", "line", "groups"), SGLANG_PRINTS)
def test_prints_of_sglang(pack, name, line, groups):
    assert printed(pack, line) == [(name, groups)]


@pytest.mark.parametrize(
    "line",
    [
        "avg_kl_div=0.0034 > threshold=0.003 for a/b hit",
        "Too few decode cache hits, len(new_input_ids)=3, len(second_turn_input_ids)=9",
        "metrics={'accuracy': 0.935} > threshold=0.93",
        "[2026-05-29 02:22:59 TP0] Decode batch, #running-req: 9",
        "9 samples, 3 turns",
        "my_avg_kl_div=0.5",
    ],
)
def test_lines_that_are_no_print_of_sglang(line):
    assert printed("sglang", line) == []


@pytest.mark.parametrize(
    "line",
    [
        "avg_kl_div=0.0015",
        "ACC_THRESHOLDS={'kl_div': 0.003}",
        "AssertionError: 0.91 not greater than or equal to 0.93 : gsm8k accuracy",
        "accuracy=0.91 < threshold=0.93 for a/b gsm8k",
        "latency=12.1 > threshold=10.0 for a/b first_token",
        "AssertionError: avg_kl_div=unknown > threshold=0.003",
        "AssertionError: avg_kl_div=0.0034% > threshold=0.003",
    ],
)
def test_lines_that_are_no_failure_of_sglang(line):
    assert stated("sglang", line) == []


def test_paths_and_jobs_of_sglang():
    pack = named("sglang")
    assert pack.is_test("test/registered/radix_cache/unified_radix_tree/test_unified_radix_cache_kl_mamba.py")
    assert not pack.is_test("python/sglang/srt/managers/scheduler.py")
    changed = ["README.md", "python/sglang/test/kits/radix_kit.py", "sgl-kernel/csrc/a/b.cu"]
    assert pack.unfit(changed) == tuple(changed[1:])
    for job in (
        "call-pr-test-extra / extra-b-test-4-gpu-h100 (1)",
        "stage-c-test-8-gpu-h200 (0)",
        "nightly-test-8-gpu-b200",
        "unit-test-backend-4-gpu (0)",
    ):
        assert pack.is_job(job), job
    for job in (
        "lint",
        "base-a-test-cpu",
        "Build Wheel",
        "pr-test-finish",
        "rerun-test (test/registered/kl/test_a.py)",
    ):
        assert not pack.is_job(job), job
