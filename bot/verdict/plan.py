"""What to run next: the cheapest mix of launches and repeats per arm that can answer the open question."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from bot.verdict.answer import ArmPlan, Plan
from bot.verdict.case import Case
from bot.verdict.evidence import ArmView
from bot.verdict.policy import Policy
from bot.verdict.reading import Arm
from bot.verdict.stats import look_number, normal_quantile

POWER, LAST_POWER = 0.75, 0.97
"""Chance that the next look excludes the smallest shift where head equals base: modest while another look can
follow (cheap on average), high at the last one."""
REPEATS = (2, 4, 6, 8, 12)


@dataclass(frozen=True, slots=True)
class Mix:
    """One more batch: launches and repeats on head and on base."""

    head: ArmPlan
    base: ArmPlan

    @property
    def launches(self) -> int:
        return self.head.launches + self.base.launches

    def runs(self, arm: Arm) -> int:
        each = self.head if arm is Arm.HEAD else self.base
        return each.launches * each.repeats

    def swapped(self) -> Mix:
        return Mix(self.base, self.head)

    def minutes(self, policy: Policy) -> float:
        return sum(
            arm.launches * (policy.launch_minutes + arm.repeats * policy.repeat_minutes)
            for arm in (self.head, self.base)
        )

    def plan(self) -> Plan:
        return Plan({Arm.HEAD.value: self.head, Arm.BASE.value: self.base})


@dataclass(frozen=True, slots=True)
class More:
    """At least so many more runs of an arm: the question is how its values spread, not the ratio."""

    arm: Arm
    runs: int


def first_plan(case: Case) -> Plan:
    """Equal arms; where past runs stand beside base, head takes a share of base's repeats."""
    launches, repeats = case.policy.first_batch
    moved = repeats // 4 if case.evidence.history.n >= case.policy.history_runs else 0
    return Mix(ArmPlan(launches, repeats + moved), ArmPlan(launches, repeats - moved)).plan()


def next_plan(case: Case, more: More | None = None) -> Plan | None:
    """None when the looks or the GPU minutes are used up. Without `more` the question is the ratio."""
    policy, evidence = case.policy, case.evidence
    left = policy.budget_minutes - case.spent_minutes
    launches = len({(r.arm, r.launch) for r in evidence.of(Arm.HEAD, Arm.BASE)})
    if launches == 0:
        return first_plan(case)
    if case.look >= (policy.max_looks if more is None else policy.max_batches):
        return None
    if not case.comparable:
        return _missing_arms(case, left)
    for_base = more is not None and more.arm is Arm.BASE
    mixes = [mix.swapped() if for_base else mix for mix in _mixes(policy)]
    # Each batch ends at a look of its own, or the error spent on looks would not add up.
    affordable = [m for m in mixes if m.minutes(policy) <= left and _look_after(case, m) > case.look]
    if not affordable:
        return None
    if more is None:
        enough = [mix for mix in affordable if _sd_after(case, mix) <= _sd_needed(case, _power(case, mix))]
    else:
        enough = [mix for mix in affordable if mix.runs(more.arm) >= more.runs]
    if enough:
        wanted = more.arm if more else Arm.HEAD
        return min(enough, key=lambda m: (m.minutes(policy), -m.runs(wanted), m.base.repeats)).plan()
    return min(affordable, key=lambda mix: (_sd_after(case, mix), mix.minutes(policy))).plan()


def _power(case: Case, mix: Mix) -> float:
    return case.policy.last_power if _look_after(case, mix) >= case.policy.max_looks else case.policy.power


def runs_needed(case: Case) -> int | None:
    """Runs an arm, all told, that would exclude the smallest shift at the variance seen."""
    if case.shift is None:
        return None
    for launches in range(2, 65):
        for repeats in (4, 8, 16):
            each = ArmPlan(launches, repeats)
            if _sd_after(case, Mix(each, each)) <= _sd_needed(case, LAST_POWER):
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
    launches = case.evidence.head.launch_count + case.evidence.base.launch_count + mix.launches
    return look_number(launches, case.policy.launches_per_look, case.policy.max_batches)


def _mixes(policy: Policy) -> Iterator[Mix]:
    """Base takes part in every batch: beside head it guards against a machine that changed since."""
    repeats = [*REPEATS, policy.max_repeats]
    for h, b in product((2, 3, 4, 6), (1, 2, 3, 4)):
        for head, base in product(repeats, repeats):
            if b <= h and base <= head and head > 2:
                yield Mix(ArmPlan(h, head), ArmPlan(b, base))


def _sd_needed(case: Case, power: float) -> float:
    """The sd of the log ratio at which an equal head clears the smallest shift with chance `power`."""
    steps = normal_quantile(1 - case.alpha_equal) + normal_quantile(power)
    return math.log(case.policy.smallest_shift) / steps


def _sd_after(case: Case, mix: Mix) -> float:
    """Sd of the log ratio when `mix` joins what there is: today's, scaled by what the design gains."""
    if case.shift is None:
        return math.inf
    repeat, launch = case.shift.variance()

    def added(arm: ArmPlan) -> float:
        return arm.launches / (launch + repeat / arm.repeats)

    head, base = (_precision(view, repeat, launch) for view in (case.evidence.head, case.evidence.base))
    past = 0.0
    if case.shift_history is not None:
        past = 1 / (case.policy.history_sd**2 + 1 / _precision(case.shift_history, repeat, launch))
    before = 1 / head + 1 / (base + past)
    after = 1 / (head + added(mix.head)) + 1 / (base + past + added(mix.base))
    return case.shift.sd * math.sqrt(after / before)


def _precision(view: ArmView, repeat: float, launch: float) -> float:
    """Of the mean of an arm: launches of unequal length, weighed by what each can say."""
    return float(np.sum(1 / (launch + repeat / np.bincount(view.launches))))
