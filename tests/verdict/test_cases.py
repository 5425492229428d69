"""Public cases, and the contract of what the judge answers."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from bot.verdict import Evidence, VerdictKind, decide
from tests.verdict.build import healthy, judge, noisy, trigger

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "cases"
SCHEMAS = HERE.parent / "contracts"
CASES = yaml.safe_load((SHARED / "dev.yaml").read_text()) if (SHARED / "dev.yaml").is_file() else []


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.skipif(not CASES, reason="the public cases do not lie beside this checkout")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_public_case_gets_the_answer_that_turned_out_right(case):
    verdict = decide(Evidence.from_records(read(SHARED / f"{case['name']}.jsonl")))
    assert verdict.kind in case["accept"], verdict.sentence
    if case["bump"] is None:
        assert verdict.proposal is None
    else:
        assert verdict.proposal.threshold in case["bump"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sglang-31622", VerdictKind.DETERMINISTIC),
        ("sglang-34607", VerdictKind.EXACT_GATE),
        ("sglang-19581", VerdictKind.REGRESSION),
    ],
)
def test_the_cases_kept_here(name, kind):
    records = read(HERE / "data" / f"{name}.jsonl")
    reading = jsonschema_rs.validator_for(json.loads((SCHEMAS / "reading.schema.json").read_text()))
    for record in records:
        reading.validate(record)
    assert decide(Evidence.from_records(records)).kind is kind


def test_every_answer_keeps_the_contract():
    schema = jsonschema_rs.validator_for(json.loads((SCHEMAS / "verdict.schema.json").read_text()))
    answers = [
        judge(trigger(0.0034)),
        judge(trigger("nan")),
        judge(healthy()),
        judge([*trigger(0.004), *noisy("head", 0.004, 2, 4, 1), *noisy("base", 0.002, 2, 4, 2)]),
        *(decide(Evidence.from_records(read(path))) for path in sorted((HERE / "data").glob("*.jsonl"))),
    ]
    for verdict in answers:
        schema.validate(json.loads(json.dumps(verdict.as_dict(), allow_nan=False)))
        assert "\n" not in verdict.sentence
        assert verdict.sentence.endswith(".")


def test_the_judge_imports_without_scipy_stats():
    code = "import sys, bot.verdict; print('scipy.stats' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
