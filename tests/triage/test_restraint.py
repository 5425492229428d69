"""When a bound stays whatever the readings say."""

from __future__ import annotations

from bot.triage.measure.restraint import other_bound, unfit_path
from bot.verdict import Arm, Reading, Status
from rules import load_named

TEST = "test/registered/kl/test_a.py"


def stating(arm: Arm, threshold: float | None) -> Reading:
    return Reading(arm=arm, test=f"{TEST}::A.test_b", status=Status.OK, value=0.004, threshold=threshold)


def test_what_a_test_asserted_must_be_what_the_source_says():
    same = [stating(Arm.TRIGGER, 0.003), stating(Arm.HEAD, None), stating(Arm.BASE, 0.003)]
    assert other_bound(same, 0.003) is None
    assert other_bound(same, None) is None
    refusal = other_bound([*same, stating(Arm.HEAD, 0.006)], 0.003)
    assert refusal.code == "bound_not_asserted"
    assert refusal.sentence.startswith("The test asserted 0.006 where the source says 0.003;")


def test_past_runs_may_have_had_another_bound():
    assert other_bound([stating(Arm.HISTORY, 0.002), stating(Arm.TRIGGER, 0.003)], 0.003) is None


def test_a_change_of_the_test_or_of_what_it_rests_on_is_no_ground_for_a_bump():
    pack = load_named("reference")
    assert unfit_path(pack, TEST, ["README.md", TEST]) == TEST
    assert unfit_path(pack, TEST, ["README.md", "tinyserve/kl_utils.py"]) == "tinyserve/kl_utils.py"
    assert unfit_path(pack, TEST, ["README.md"]) is None
