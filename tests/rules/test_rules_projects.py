"""The packs of other projects: each printed form with a real line, and lines that must say nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from bot.logs import scan
from rules import pack_names
from tests.rules.builders import crossings, named, printed, stated

# --- NeMo-RL --------------------

KL = 'max(data["train/gen_kl_error"]) < 0.03'
REWARD = 'max(data["train/reward"]) > 0.5'


def table(*checks: tuple[str, str], width: int = 200) -> str:
    """What check_metrics.py prints of (check, value); a value of '' stands for a missing key."""
    console = Console(file=io.StringIO(), width=width)
    shown = Table("Status", "Check", "Value", "Message", title="Metric Checks")
    for check, value in checks:
        passed = value and {"<": float.__lt__, ">": float.__gt__}[check.split()[-2]](
            float(value), float(check.split()[-1])
        )
        why = "condition evaluated to False" if value else "key not found: 'train/gen_kl_error'"
        status = "[green]PASS[/green]" if passed else "[red]FAIL[/red]"
        shown.add_row(status, check, value or "N/A", "" if passed else f"{check} ({why})")
    console.print(shown)
    return console.file.getvalue()


def test_a_table_of_nemo_rl():
    text = table((REWARD, "0.4"), (KL, "0.0341"), ('mean(data["train/gen_kl_error"]) < 0.0015', "2.1e-03"))
    assert stated("nemo-rl", text) == [
        ("metric_over", 0.0341, 0.03, "max"),
        ("metric_over", 0.0021, 0.0015, "mean"),
    ]


@pytest.mark.parametrize("width", [90, 100, 110, 120, 160])
def test_a_table_of_nemo_rl_with_wrapped_cells(width):
    text = table((REWARD, "0.4"), (KL, "0.0341"), (REWARD, "0.7"), width=width)
    assert [found[1:] for found in stated("nemo-rl", text)] == [(0.0341, 0.03, "max")]


def test_a_metric_whose_name_is_cut_may_be_another():
    text = table((KL, "0.03412345678901234"), (REWARD, "0.4"), width=80)
    assert 'max(data["train/gen_…' in text
    assert stated("nemo-rl", text) == [("metric_name_cut", None, None, None)]


@pytest.mark.parametrize("width", range(40, 140, 3))
def test_at_any_width_a_table_gives_its_own_numbers_or_none(width):
    text = table((REWARD, "0.4"), (KL, "0.0341"), (REWARD, "0.6"), width=width)
    assert {found[1:3] for found in stated("nemo-rl", text)} <= {(0.0341, 0.03), (None, None)}


def test_a_missing_metric_has_no_number():
    assert stated("nemo-rl", table((KL, ""))) == [("metric_missing", None, None, None)]


def test_a_table_that_passed_is_no_failure_but_printed():
    text = table((KL, "0.00123"), (REWARD, "0.7"))
    assert stated("nemo-rl", text) == []
    (line,) = [line for line in text.splitlines() if "gen_kl_error" in line]
    assert printed("nemo-rl", line) == [("metric", {"label": "max", "value": "0.00123", "threshold": "0.03"})]


def test_paths_and_jobs_of_nemo_rl():
    pack = named("nemo-rl")
    assert pack.is_test("tests/test_suites/llm/grpo-gemma3-1b-it-1n8g-fsdp2tp1.sh")
    assert not pack.is_test("tests/unit/test_utils.py")
    assert pack.is_job("main / L1_Functional_Tests_GRPO_1 (h100)") and not pack.is_job("Lint")


# --- MaxText --------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "AssertionError: KL divergence values exceed the specified threshold of 0.002. "
            "Max divergence: 0.0034",
            ("golden_over", 0.0034, 0.002, None),
        ),
        (
            "AssertionError: KL divergence values exceed the specified threshold of 2e-3. "
            "Max divergence: 3.400000059627928e-03",
            ("golden_over", 0.003400000059627928, 0.002, None),
        ),
        (
            "AssertionError: KL divergence values 2.13e-02 exceed the threshold 0.015",
            ("model_over", 0.0213, 0.015, None),
        ),
        (
            "AssertionError: Logits do not match closely enough. Required rtol=0.1, atol=0.2.",
            ("logits_not_close", None, None, None),
        ),
    ],
)
def test_forms_of_maxtext(line, expected):
    assert stated("maxtext", line) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "KL divergence = [0.001 0.002],  max KL divergence = 0.002 at index 1, the token is 7",
            [("golden_value", {"value": "0.002"})],
        ),
        (
            "Max KL divergence for a single token in the set: 2.13e-02",
            [("model_value", {"value": "2.13e-02"})],
        ),
        (
            "Checking KL Divergence between train distribution and golden distribution against "
            "threshold 0.002.",
            [("threshold", {"threshold": "0.002"})],
        ),
        ("Max absolute difference: 1.20e-01 at index (0, 3)", []),
        ("Average KL divergence per token (D_KL(P_golden || Q_model)): 1.20e-03", []),
    ],
)
def test_prints_of_maxtext(line, expected):
    assert printed("maxtext", line) == expected
    assert printed("maxtext", f"I0529 02:22:59.1 140 max_logging.py:26] {line}") == expected
    assert stated("maxtext", line) == []


# --- NeMo Automodel --------------------

TOO_LARGE = "KL divergence between original and HF-loaded model too large:"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"AssertionError: {TOO_LARGE} max per-token KL = 1.234500e-02 > threshold 5.000000e-03",
            ("token_kl_over", 0.012345, 0.005, None),
        ),
        (
            f"AssertionError: {TOO_LARGE}\nmax per-token KL = 1.234500e-02 > threshold 5.000000e-03",
            ("token_kl_over", 0.012345, 0.005, None),
        ),
        (
            "AssertionError: CHECKPOINT_ROBUSTNESS_PHASE_FAILURE phase=hf_reload check=logit_kl\n"
            f"{TOO_LARGE} max per-token KL = 1.234500e-02 > threshold 5.000000e-03",
            ("phase_over", 0.012345, 0.005, "hf_reload"),
        ),
        (
            "AssertionError: CHECKPOINT_ROBUSTNESS_PHASE_FAILURE phase=automodel_reload check=logit_kl\n"
            "mean KL 4.100000e-03 > profile threshold 3.000000e-03; p95 KL 2.000000e-02 > profile threshold "
            "1.200000e-02",
            ("phase_over", 0.0041, 0.003, "automodel_reload"),
        ),
        (
            "FAIL: Mixtral EP KL-divergence test  (max_kl=0.000213, threshold=0.0001)",
            ("parallel_over", 0.000213, 0.0001, None),
        ),
    ],
)
def test_forms_of_automodel(text, expected):
    assert stated("automodel", text) == [expected]


def test_a_value_of_automodel_that_is_not_finite():
    (crossing,) = crossings("automodel", "HF-loaded model produced non-finite KL divergence: nan")
    assert (crossing.rule, str(crossing.value), crossing.threshold) == ("not_finite", "nan", None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[Phase 4] HF-loaded max KL: 1.200000e-03 (threshold: 5.000000e-03)",
            [("phase", {"label": "HF-loaded", "value": "1.200000e-03", "threshold": "5.000000e-03"})],
        ),
        (
            "[Phase 5] Cross-TP (tp_size=2) max KL: 1.200000e-03 (threshold: 5.000000e-03)",
            [("phase", {"label": "Cross-TP", "value": "1.200000e-03", "threshold": "5.000000e-03"})],
        ),
        (
            "PASS: Mixtral EP KL-divergence test  (max_kl=2e-05, threshold=0.0001)",
            [("parallel", {"value": "2e-05", "threshold": "0.0001"})],
        ),
        ("[Phase 6] Step 5: baseline_loss=2.100000, resume_loss=2.100100, diff=1.000000e-04", []),
        ("[Memory] Peak VRAM: 12.10 GB, Peak CPU RSS: 3.20 GB", []),
    ],
)
def test_prints_of_automodel(line, expected):
    assert printed("automodel", line) == expected
    assert stated("automodel", line) == []


@pytest.mark.parametrize(
    "line",
    [
        "AssertionError: SFT loss mismatch after resume at step 5: baseline=2.1, resume=2.3, diff=2.0e-01",
        "AssertionError: Peak VRAM 81.20 GB exceeds threshold 80.00 GB",
        "Cosine similarity between original and model too low: cosine = 0.99100000 < threshold 0.99900000",
        "cosine similarity 0.99100000 < profile threshold 0.99900000",
    ],
)
def test_lines_that_are_no_kl_of_automodel(line):
    assert stated("automodel", line) == []


# --- all packs --------------------

CHATTER = [
    "[2026-05-29 02:22:59 TP0] Decode batch, #running-req: 9, #token: 18944, gen throughput (token/s): 801.2",
    "gsm8k accuracy: 0.935 (threshold 0.93)",
    "FAILED test_gsm8k.py::TestEval::test_gsm8k - accuracy 0.91 below threshold 0.93",
    "ERROR: test_kl (__main__.TestA.test_kl)",
    "train/loss 2.31 grad_norm 0.4 reward 0.51",
    "Exception: retry() exceed maximum number of retries.",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
]


@pytest.mark.parametrize("pack", pack_names())
def test_chatter_says_nothing(pack):
    assert stated(pack, "\n".join(CHATTER)) == []
    assert [line for line in CHATTER if printed(pack, line)] == []


@pytest.mark.parametrize(
    ("pack", "line", "value", "threshold"),
    [
        ("sglang", "avg_kl_div=0.0034 > threshold=0.003 for a/b hit", 0.0034, 0.003),
        ("maxtext", "KL divergence values 2.13e-02 exceed the threshold 0.015", 0.0213, 0.015),
        (
            "automodel",
            f"{TOO_LARGE} max per-token KL = 1.234500e-02 > threshold 5.000000e-03",
            0.012345,
            0.005,
        ),
        ("generic", "0.0034 not less than 0.003", 0.0034, 0.003),
    ],
)
def test_a_log_read_with_each_pack(pack, line, value, threshold):
    log = [
        "=" * 70,
        "FAIL: test_kl (__main__.TestA.test_kl)",
        "-" * 70,
        "Traceback (most recent call last):",
        '  File "test_a.py", line 3, in test_kl',
        f"AssertionError: {line}",
        "",
        "-" * 70,
        "Ran 1 test in 1.500s",
        "",
        "FAILED (failures=1)",
        "##[error]Process completed with exit code 1.",
        "",
    ]
    (failure,) = scan(["\n".join(log).encode()], named(pack).scan_forms).failures
    assert (failure.kind, failure.value, failure.threshold) == ("bound", value, threshold)
