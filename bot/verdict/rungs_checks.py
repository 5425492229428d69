"""The test's other checks: one that got worse unnoticed is no noise, and a bump would move its bound too."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bot.verdict.asking import check_name, no_bump, of_check
from bot.verdict.case import Case, Finding
from bot.verdict.doubts import head_above
from bot.verdict.evidence import RERUNS, Evidence, finite
from bot.verdict.reading import Reading
from bot.verdict.rungs_level import regression


def other_checks(case: Case) -> Finding:
    """The rung of the level, for every other check."""
    for label, other in case.others.items():
        found = regression(other)
        if found.kind is not None:
            return of_check(label, other, found)
    return Finding("no other check of the test is a regression" if case.others else "no other check")


def check_doubt(case: Case, bound: float) -> Finding | None:
    """What another check has against `bound` for both; each ends without a bump."""
    for label, other in case.others.items():
        reason, why = _against(other, bound, case.evidence)
        if reason:
            barred = no_bump(f"other_check_{reason}", f"the test's check {check_name(label)} {why}")
            return replace(barred, about=other)
    return None


def _against(other: Case, bound: float, judged: Evidence) -> tuple[str, str]:
    """A reason and what the check did; empty where nothing speaks against it."""
    pairs = ((other.evidence.arms[arm].n, judged.arms[arm].n) for arm in RERUNS)
    if other.shift is None or any(n < other.policy.usable_share * of for n, of in pairs):
        return "not_compared", "gave too few values on head and base to be compared"
    above = head_above(other)
    if above:
        return "head_above_base", f"measures on head {above}, more than chance explains"
    readings = [r for r in other.evidence.of(*RERUNS) if finite(r)]
    over = sum((r.value or 0.0) > _bound(r, other.evidence.threshold, bound) for r in readings)
    if over:
        return "over_bound", f"exceeds the bound in {over} of {len(readings)} runs, at {bound:g} too"
    rate = (
        0.0
        if other.tail is None
        else float(other.tail.rates(np.array([math.log(bound)]), other.policy.upper_confidence)[0][0])
    )
    if rate > other.policy.target_exceedance:
        return "over_bound", f"would exceed {bound:g} in {100 * rate:.1f} % of runs"
    return "", ""


def _bound(reading: Reading, old: float, new: float) -> float:
    """A check with a bound of its own keeps it."""
    return new if reading.threshold in (None, old) else reading.threshold or 0.0
