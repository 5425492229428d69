"""What to run next: the cheapest mix of launches and repeats that settles the open question."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bot.verdict.answer import ArmPlan, Plan
from bot.verdict.case import Case
from bot.verdict.policy import Policy
from bot.verdict.reading import Arm
from bot.verdict.stats import look_number, normal_quantile

POWER, LAST_POWER = 0.75, 0.97
"""Chance that the next look excludes the smallest shift where head equals base: modest while another look can
follow (cheap on average), high at the last one."""


@dataclass(frozen=True, slots=True)
class Mix:
    """`launches` x `repeats` on each of head and base."""

    launches: int
    repeats: int

    def minutes(self, policy: Policy) -> float:
        return 2 * self.launches * (policy.launch_minutes + self.repeats * policy.repeat_minutes)


def first_plan(policy: Policy) -> Plan:
    return _plan(Mix(*policy.first_batch))


def next_plan(case: Case, *, double: bool = False) -> Plan | None:
    """None when the looks or the GPU minutes are used up. `double`: the question is not the ratio but how
    values spread, so the runs of head are doubled."""
    policy, evidence = case.policy, case.evidence
    left = policy.budget_minutes - case.spent_minutes
    launches = len({(r.arm, r.launch) for r in evidence.of(Arm.HEAD, Arm.BASE)})
    if launches == 0:
        return first_plan(policy)
    if case.look >= policy.max_looks:
        return None
    if not case.comparable:
        return _missing_arms(case, left)
    # Each batch ends at a look of its own, or the error spent on looks would not add up.
    affordable = [m for m in _mixes(policy) if m.minutes(policy) <= left and _look_after(case, m) > case.look]
    if not affordable:
        return None
    enough = [mix for mix in affordable if _sd_after(case, mix) <= _sd_needed(case, _power(case, mix))]
    if double:
        enough = [mix for mix in affordable if mix.launches * mix.repeats >= evidence.head.n]
    if enough:
        return _plan(min(enough, key=lambda mix: (mix.minutes(policy), mix.repeats)))
    return _plan(min(affordable, key=lambda mix: (_sd_after(case, mix), mix.minutes(policy))))


def _power(case: Case, mix: Mix) -> float:
    return LAST_POWER if _look_after(case, mix) == case.policy.max_looks else POWER


def runs_needed(case: Case) -> int | None:
    """Runs an arm, all told, that would exclude the smallest shift at the variance seen."""
    if case.shift is None:
        return None
    for launches in range(2, 65):
        for repeats in (4, 8, 16):
            if _sd_after(case, Mix(launches, repeats)) <= _sd_needed(case, LAST_POWER):
                return launches * repeats + min(case.evidence.head.n, case.evidence.base.n)
    return None


def _missing_arms(case: Case, left: float) -> Plan | None:
    """The first batch for an arm that has fewer than two launches."""
    policy = case.policy
    arms = {
        arm.value: ArmPlan(*policy.first_batch)
        for arm in (Arm.HEAD, Arm.BASE)
        if case.evidence.arms[arm].launch_count < 2
    }
    return Plan(arms) if left >= policy.first_minutes / 2 * len(arms) else None


def _look_after(case: Case, mix: Mix) -> int:
    launches = case.evidence.head.launch_count + case.evidence.base.launch_count + 2 * mix.launches
    return look_number(launches, case.policy.launches_per_look, case.policy.max_looks)


def _mixes(policy: Policy) -> list[Mix]:
    return [Mix(n, r) for n in (2, 3, 4) for r in (4, 6, 8, 10, 12, policy.max_repeats)]


def _plan(mix: Mix) -> Plan:
    return Plan({arm.value: ArmPlan(mix.launches, mix.repeats) for arm in (Arm.HEAD, Arm.BASE)})


def _sd_needed(case: Case, power: float) -> float:
    """The sd of the log ratio at which an equal head clears the smallest shift with chance `power`."""
    steps = normal_quantile(1 - case.alpha_equal) + normal_quantile(power)
    return math.log(case.policy.smallest_shift) / steps


def _sd_after(case: Case, mix: Mix) -> float:
    """Sd of the log ratio when `mix` joins what there is (precisions add)."""
    if case.shift is None:
        return math.inf
    repeat, launch = case.shift.variance()
    fresh = 2 * (launch + repeat / mix.repeats) / mix.launches
    return math.sqrt(1 / (1 / case.shift.sd**2 + 1 / fresh))
