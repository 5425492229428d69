"""The definitions of VERDICTS.md on rows that can be counted by eye."""

import argparse
import json

import pytest

from tests.bench import report
from tests.bench.judge import Curve, truth_of
from tests.bench.score import Row, Share, Truth, by_judge, score
from tests.verdict.world import World


def row(truth: Truth, new: float | None = None, **fields: object) -> Row:
    defaults = {
        "judge": "a",
        "family": str(truth),
        "seed": 0,
        "kind": "noise" if new else "inconclusive",
        "reason": "",
        "old": 0.003,
        "runs": 16,
        "minutes": 28.0,
    }
    return Row(truth=truth, new=new, **defaults | fields)


def noise(
    new: float | None = None, quiet: float | None = None, double: float = 0.001, **fields: object
) -> Row:
    return row(Truth.NOISE, new, exceeds_new=quiet, exceeds_double=double, **fields)


def test_a_bump_is_false_only_where_the_truth_is_wrong():
    rows = [
        row(Truth.WRONG, 0.004),
        row(Truth.WRONG),
        row(Truth.WRONG),
        row(Truth.EITHER, 0.004),
        noise(0.004, 0.001),
    ]
    assert score(rows).false_bumps == Share(1, 3)


def test_noise_is_resolved_by_a_proposal_of_at_most_twice_the_bound():
    rows = [noise(0.006, 0.001), noise(0.008, 0.0), noise(), noise(0.004, 0.02, double=0.0031)]
    assert score(rows).resolved == Share(1, 3), "the last cannot be made quiet by twice its bound"


def test_a_bump_is_quiet_up_to_half_a_percent():
    rows = [noise(0.004, 0.005), noise(0.004, 0.0051), noise(), row(Truth.WRONG, 0.004)]
    assert score(rows).quiet == Share(1, 2)


@pytest.mark.parametrize("kind", ["regression", "deterministic", "intermittent", "hardware"])
def test_these_kinds_are_false_alarms_on_noise_alone(kind):
    rows = [noise(kind=kind), noise(kind="infra"), noise(0.004, 0.0), row(Truth.WRONG, kind=kind)]
    assert score(rows).false_alarms == Share(1, 3)


def test_cost_is_over_all_worlds():
    rows = [
        noise(runs=0, minutes=0.0),
        row(Truth.WRONG, runs=16, minutes=28.0),
        noise(runs=100, minutes=103.0),
    ]
    found = score(rows)
    assert (found.worlds, found.median_runs) == (3, 16.0)
    assert found.mean_minutes == pytest.approx(131 / 3)


def test_shares_carry_the_exact_interval():
    assert report.share(Share(6, 100)) == "6 % (2.2–12.6) of 100"
    assert report.share(Share(0, 100)) == "0 % (0–3.6) of 100"
    assert report.share(Share(0, 0)) == "–"


@pytest.mark.parametrize(
    ("world", "truth"),
    [
        (World("noise"), Truth.NOISE),
        (World("rare"), Truth.EITHER),
        (World("shift", shift=1.15), Truth.EITHER),
        (World("shift", shift=1.25), Truth.WRONG),
        (World("old_fault"), Truth.WRONG),
    ],
)
def test_what_a_bump_is_in_each_world(world, truth):
    assert truth_of(world) is truth


def test_tables_hold_one_line_a_judge_and_one_a_family():
    rows = [
        noise(0.004, 0.001, family="noise"),
        row(Truth.WRONG, 0.004, family="step", seed=7),
        noise(judge="b"),
    ]
    assert list(by_judge(rows)) == ["a", "b"]
    assert [line.split("|")[1].strip() for line in report.judges(rows).splitlines()[2:]] == [
        "a",
        "b",
        "asked of this project",
    ]
    own = by_judge(rows)["a"]
    assert "| step   | 1      | 100 % (2.5–100) of 1 |" in report.families(own)
    assert report.false_bumps(own).endswith("step: 7")
    assert report.false_bumps([rows[0]]) == "No false bump."


def test_json_holds_scores_and_rows():
    found = json.loads(json.dumps(report.as_json({"wide": [row(Truth.WRONG, 0.004)]})))["wide"]
    assert found["scores"]["a"]["false_bumps"]["rate"] == 1.0
    assert found["rows"][0]["truth"] == "wrong"


def test_a_curve_names_one_number_of_the_policy():
    assert Curve.parse("fault_odds=50,200") == Curve("fault_odds", (50.0, 200.0))
    assert [job.policy.max_batches for job in Curve.parse("max_batches=2,3").jobs(range(1))] == [2, 3]
    for text in ("fault_ods=50", "known_bad=1", "fault_odds=many", "max_batches=2.5", "fault_odds"):
        with pytest.raises(argparse.ArgumentTypeError, match="take"):
            Curve.parse(text)
