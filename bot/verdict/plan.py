"""What to run next: the cheapest mix of launches and repeats per arm that can answer the open question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from scipy.special import ndtri

from bot.verdict.answer import ArmPlan, Plan
from bot.verdict.case import Case
from bot.verdict.evidence import ArmView, Floats, Ints
from bot.verdict.policy import Policy
from bot.verdict.reading import Arm
from bot.verdict.stats import alpha_at_look, look_number

LAUNCHES: Final = (1, 2, 3, 4, 6)
REPEATS: Final = (2, 4, 6, 8, 12, 16)


@dataclass(frozen=True, slots=True)
class More:
    """At least so many more runs of an arm: the question is how its values spread, not the ratio."""

    arm: Arm
    runs: int


@dataclass(frozen=True, eq=False)
class Mixes:
    """Batches that may be asked for, as columns: launches and repeats on head and on base."""

    head: Ints
    """2 x M: launches, repeats."""
    base: Ints

    def plan(self, at: int) -> Plan:
        head, base = (ArmPlan(int(arm[0, at]), int(arm[1, at])) for arm in (self.head, self.base))
        return Plan({Arm.HEAD.value: head, Arm.BASE.value: base})

    def runs(self, arm: Arm) -> Ints:
        launches, repeats = self.head if arm is Arm.HEAD else self.base
        return np.asarray(launches * repeats, dtype=np.int64)

    def minutes(self, policy: Policy) -> Floats:
        each = [
            arm[0] * (policy.launch_minutes + arm[1] * policy.repeat_minutes)
            for arm in (self.head, self.base)
        ]
        return np.asarray(each[0] + each[1], dtype=np.float64)


def first_plan(case: Case) -> Plan | None:
    """Equal arms; where past runs stand beside base, head takes a share of base's repeats. None where the
    budget does not cover it."""
    if case.policy.first_minutes > case.policy.budget_minutes:
        return None
    launches, repeats = case.policy.first_batch
    moved = repeats // 4 if case.evidence.history.n >= case.policy.history_runs else 0
    arms = {Arm.HEAD: repeats + moved, Arm.BASE: repeats - moved}
    return Plan({arm.value: ArmPlan(launches, each) for arm, each in arms.items()})


def next_plan(case: Case, more: More | None = None) -> Plan | None:
    """None when the looks or the GPU minutes are used up. Without `more` the question is the ratio."""
    policy, evidence = case.policy, case.evidence
    left = policy.budget_minutes - case.spent_minutes
    if not evidence.of(Arm.HEAD, Arm.BASE):
        return first_plan(case)
    if case.look >= (policy.max_looks if more is None else policy.max_batches):
        return None
    if not case.comparable:
        return _missing_arms(case, left)
    mixes = _mixes(policy.max_repeats, more is not None and more.arm is Arm.BASE)
    minutes, looks = mixes.minutes(policy), _looks_after(case, mixes)
    # Each batch ends at a look of its own, or the error spent on looks would not add up.
    affordable = (minutes <= left) & (looks > case.look)
    if not np.any(affordable):
        return None
    sd = _sd_after(case, mixes)
    enough = sd <= _sd_needed(case, looks) if more is None else mixes.runs(more.arm) >= more.runs
    wanted = mixes.runs(more.arm if more else Arm.HEAD)
    if np.any(affordable & enough):
        order, among = np.lexsort((mixes.base[1], -wanted, minutes)), affordable & enough
    else:
        order, among = np.lexsort((minutes, sd)), affordable
    return mixes.plan(int(order[among[order]][0]))


def runs_needed(case: Case) -> int | None:
    """Runs an arm, all told, that would exclude the smallest shift at the variance seen."""
    if case.shift is None:
        return None
    sizes = np.array(list(product(range(2, 65), (4, 8, 16))), dtype=np.int64).T
    enough = _sd_after(case, Mixes(sizes, sizes)) <= _sd_needed(
        case, np.full(sizes.shape[1], case.policy.max_looks)
    )
    if not np.any(enough):
        return None
    return int((sizes[0] * sizes[1])[enough].min()) + min(case.evidence.head.n, case.evidence.base.n)


def _missing_arms(case: Case, left: float) -> Plan | None:
    """The first batch for an arm that has fewer than two launches."""
    policy = case.policy
    arms = {
        arm.value: ArmPlan(*policy.first_batch)
        for arm in (Arm.HEAD, Arm.BASE)
        if case.evidence.arms[arm].launch_count < 2
    }
    return Plan(arms) if left >= policy.first_minutes / 2 * len(arms) else None


@lru_cache(maxsize=4)
def _mixes(max_repeats: int, for_base: bool) -> Mixes:
    """The arm in question gets at least what the other gets; that one takes part in every batch, since beside
    it a machine that changed is noticed."""
    repeats = sorted({min(r, max_repeats) for r in REPEATS})
    options = [
        (n, r, m, s)
        for n, m in product(LAUNCHES, LAUNCHES)
        for r, s in product(repeats, repeats)
        if m <= n and s <= r and n > 1 and (r > 2 or r == repeats[-1])
    ]
    columns = np.array(options, dtype=np.int64).T
    return Mixes(columns[2:], columns[:2]) if for_base else Mixes(columns[:2], columns[2:])


def _looks_after(case: Case, mixes: Mixes) -> Ints:
    policy = case.policy
    launches = (
        case.evidence.head.launch_count + case.evidence.base.launch_count + mixes.head[0] + mixes.base[0]
    )
    looks = [
        look_number(int(n), policy.launches_per_look, policy.max_batches) for n in range(launches.max() + 1)
    ]
    return np.asarray(np.array(looks, dtype=np.int64)[launches])


def _sd_needed(case: Case, looks: Ints) -> Floats:
    """The sd of the log ratio at which an equal head clears the smallest shift, by look, with the chance of
    the policy: modest while another look can follow."""
    policy = case.policy
    steps = []
    for look in range(policy.max_batches + 1):
        alpha = alpha_at_look(policy.alpha_equal, max(look, 1), policy.look_shares)
        steps.append(ndtri(1 - alpha) + ndtri(policy.power if look < policy.max_looks else policy.last_power))
    return np.asarray(math.log(policy.smallest_shift) / np.array(steps)[looks], dtype=np.float64)


def _sd_after(case: Case, mixes: Mixes) -> Floats:
    """Sd of the log ratio when a mix joins what there is: today's, scaled by what the design gains."""
    if case.shift is None:
        return np.full(mixes.head.shape[1], math.inf)
    repeat, launch = case.shift.variance()
    head, base = (_precision(view, repeat, launch) for view in (case.evidence.head, case.evidence.base))
    if case.shift_history is not None:
        base += 1 / (case.policy.history_sd**2 + 1 / _precision(case.shift_history, repeat, launch))
    more_head, more_base = (arm[0] / (launch + repeat / arm[1]) for arm in (mixes.head, mixes.base))
    gain = (1 / (head + more_head) + 1 / (base + more_base)) / (1 / head + 1 / base)
    return np.asarray(case.shift.sd * np.sqrt(gain), dtype=np.float64)


def _precision(view: ArmView, repeat: float, launch: float) -> float:
    """Of the mean of an arm: launches of unequal length, weighed by what each can say."""
    return float(np.sum(1 / (launch + repeat / np.bincount(view.launches))))
