"""The day's budget of a repository, and what is asked for in a command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.triage.measure import budget
from bot.triage.measure.budget import Spent
from bot.triage.measure.plans import as_asked
from bot.verdict import Arm, ArmPlan, Policy, Reading, Status
from rules import load_named
from runners.plan import PlannedLaunch, RerunPlan

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
PACK = load_named("reference").model_copy(update={"launch_minutes": 5.0, "repeat_minutes": 1.0})
PLAN = RerunPlan(
    request="kl-1-r0",
    test="test/test_kl.py::T.test_a",
    commits={"head": "a" * 40, "base": "b" * 40},
    launches=(PlannedLaunch("head", 4), PlannedLaunch("base", 4)),
)


def ago(hours: float, minutes: float) -> Spent:
    return Spent(NOW - timedelta(hours=hours), minutes)


def refused(*earlier: Spent, wanted: float = 100.0) -> str | None:
    found = budget.refusal(earlier, wanted, 480.0, NOW)
    assert found is None or found.code == "day_budget"
    return found and found.sentence


def test_a_plan_costs_its_server_starts_and_its_repeats():
    assert budget.estimate(PLAN, PACK) == 2 * 5 + 8 * 1


def test_what_fits_the_day_is_not_held():
    assert refused() is None
    assert refused(ago(1, 380)) is None
    assert refused(ago(24, 480)) is None  # a day has passed


def test_what_does_not_fit_says_both_numbers_and_when_there_is_room():
    assert refused(ago(2, 300), ago(20, 50), ago(10, 60)) == (
        "The next rerun is planned for 100 min and 410 of 480 min of this repository's day are used: "
        "there is room again after 2026-05-04 16:00 UTC."
    )
    assert refused(ago(2, 400), ago(20, 10)).endswith("there is room again after 2026-05-05 10:00 UTC.")


def test_a_plan_over_a_whole_day_says_what_to_set():
    assert refused(wanted=500.0).endswith("raise budget_minutes_per_day to at least 500.")


def measured(*seconds: float | None, label: str | None = None) -> list[Reading]:
    """One reading a repeat."""
    return [
        Reading(Arm.HEAD, PLAN.test, Status.OK, 0.002, label=label, repeat=number, duration_s=each)
        for number, each in enumerate(seconds)
    ]


@pytest.mark.parametrize(
    ("readings", "minutes"),
    [
        (measured(*[120.0] * 8), 2 * 5 + 16),
        (measured(*[120.0] * 8, label="a") + measured(*[120.0] * 8, label="b"), 2 * 5 + 16),
        (measured(*[120.0] * 7, None), 2 * 5 + 14),
        (measured(*[30.0] * 8), 2 * 5 + 8),  # the code that was measured says so: not under the plan
        (measured(*[-1e5] * 8), 2 * 5 + 8),
        (measured(*[86_400.0] * 8), 2 * 30),  # two launches that may run 1,800 s
    ],
)
def test_a_rerun_counts_for_no_less_than_its_plan_and_no_more_than_its_limits(readings, minutes):
    assert budget.taken(PLAN, readings, PACK) == minutes


WANTED = {"head": ArmPlan(2, 6), "base": ArmPlan(2, 6)}
POLICY = Policy(launch_minutes=5.0, repeat_minutes=1.0, budget_minutes=230.0)


@pytest.mark.parametrize(
    ("runs", "launches", "each"),
    [
        (None, None, ArmPlan(2, 6)),
        (12, None, ArmPlan(2, 6)),
        (13, None, ArmPlan(2, 7)),
        (1, None, ArmPlan(1, 1)),
        (12, 4, ArmPlan(4, 3)),
        (3, 20, ArmPlan(3, 1)),
        (None, 4, ArmPlan(4, 6)),
        (200, None, ArmPlan(2, 52)),  # 2 x (5 + 52) = 114 of 115 minutes an arm
        (200, 20, ArmPlan(19, 1)),  # 19 x (5 + 1) = 114
    ],
)
def test_what_is_asked_for_shapes_the_first_round_within_the_budget(runs, launches, each):
    assert as_asked(WANTED, runs=runs, launches=launches, policy=POLICY) == {"head": each, "base": each}
