"""A second check of the red test, measured beside it: what it may show before the first counts as noise."""

import pytest

from bot.verdict import VerdictKind
from tests.verdict.build import healthy, judge, record

K = VerdictKind


def beside(head=1.0, base=1.0, keep=lambda record: True):
    """`healthy` as check 'first', and once more as check 'second', times a factor an arm."""
    factors = {"head": head, "base": base}
    found = [r | {"label": "first"} for r in healthy()]
    for one in [r for r in healthy() if r["arm"] in factors and keep(r)]:
        factor = factors[one["arm"]]
        values = {"value": one["value"] * factor, "per_prompt": [v * factor for v in one["per_prompt"]]}
        found.append(one | values | {"label": "second"})
    return found


@pytest.mark.parametrize("level", [0.5, 1.0])
def test_a_second_check_like_the_first_or_lower_changes_nothing(level):
    alone, verdict = judge(healthy()), judge(beside(level, level))
    assert (verdict.kind, verdict.proposal, verdict.numbers) == (K.NOISE, alone.proposal, alone.numbers)


@pytest.mark.parametrize(
    ("records", "kind", "reason"),
    [
        (beside(head=20.0), K.REGRESSION, "other_check_head_above_base"),
        (beside(head=0.5, base=0.02), K.REGRESSION, "other_check_head_above_base"),
        (beside(head=float("nan")), K.NON_FINITE, "other_check_non_finite_head"),
        (beside(base=float("inf")), K.NON_FINITE, "other_check_non_finite_base"),
        (beside(head=0.58, base=0.5), K.INCONCLUSIVE, "other_check_head_above_base"),
        (beside(head=8.0, base=8.0), K.INCONCLUSIVE, "other_check_over_bound"),
        (beside(keep=lambda r: r["launch"] == "base-0"), K.INCONCLUSIVE, "other_check_not_compared"),
        (
            beside(keep=lambda r: r["arm"] == "base" or r["repeat"] < 6),
            K.INCONCLUSIVE,
            "other_check_not_compared",
        ),
    ],
)
def test_what_a_second_check_shows_is_no_noise(records, kind, reason):
    verdict = judge(records)
    assert (verdict.kind, verdict.reason, verdict.proposal) == (kind, reason, None)
    assert "check second" in verdict.sentence


def test_the_numbers_are_those_of_the_check_that_the_verdict_speaks_of():
    numbers = judge(beside(head=20.0)).numbers
    assert numbers.exceedance["head"].exceeded == numbers.exceedance["head"].n == 40
    assert numbers.ratio.low > 10
    assert numbers.gpu_minutes == judge(healthy()).numbers.gpu_minutes, "a run measures both checks"


def test_a_second_check_with_a_lower_bound_of_its_own_is_held_to_it():
    records = [r | {"threshold": 0.001} if r["label"] == "second" else r for r in beside(0.6, 0.6)]
    assert judge(records, threshold=0.003).reason == "other_check_over_bound"


def test_a_name_of_a_check_stays_one_short_line():
    records = [r | {"label": "first"} for r in healthy()]
    records += [record("base", 0.001, label="two\nlines " + "x" * 500, launch="base-0", repeat=0)]
    sentence = judge(records).sentence
    assert "\n" not in sentence and len(sentence) < 250
