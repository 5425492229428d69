"""Rungs 1 to 4: what must not be judged at all. Refused, exact gate, non-finite, infra."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.answer import VerdictKind
from bot.verdict.asking import of_check
from bot.verdict.case import Case, Finding
from bot.verdict.reading import Arm, Reading, Status


def refused(case: Case) -> Finding:
    """The red test is no bound failure, by what the caller knows or by the trigger's own values."""
    refusal = case.evidence.context.refusal
    if refusal is not None:
        return Finding(refusal.code, VerdictKind.REFUSED, refusal.code, refusal.sentence)
    bump = case.evidence.context.bump_refusal
    held_back = f"; no bump may come from this run ({bump.code})" if bump else ""
    trigger = [r for r in case.evidence.of(Arm.TRIGGER) if r.status is Status.OK and r.value is not None]
    values = [r.value for r in trigger if r.value is not None]
    if values and all(math.isfinite(v) and v < case.evidence.threshold for v in values):
        return Finding(
            "no try of the red job exceeded",
            VerdictKind.REFUSED,
            "trigger_under_bound",
            f"The red job measured at most {max(values):.3g}, under the bound {case.evidence.threshold:g}: "
            "something else failed, so look at the job's log.",
        )
    return Finding(f"a bound failure{held_back}")


def exact_gate(case: Case) -> Finding:
    bound = case.evidence.threshold
    if bound > case.policy.exact_gate:
        return Finding(f"bound {bound:g} leaves room for noise")
    return Finding(
        f"bound {bound:g} is at most {case.policy.exact_gate:g}",
        VerdictKind.EXACT_GATE,
        "exact_gate",
        f"The bound {bound:g} says that cached and uncached path agree exactly, so any difference is a bug; "
        "such a gate is never loosened.",
    )


def non_finite(case: Case) -> Finding:
    """In any check of the test: nan in one that went unnoticed is as broken."""
    own = _non_finite(case)
    if own.kind is not None:
        return own
    for label, other in case.others.items():
        found = _non_finite(other)
        if found.kind is not None:
            return of_check(label, other, found)
    return own


def _non_finite(case: Case) -> Finding:
    """Base counts too: broken code on the default branch is no ground for a bump."""
    for arm in (Arm.TRIGGER, Arm.HEAD, Arm.BASE):
        readings = [r for r in case.evidence.of(arm) if r.status is Status.OK]
        broken = [r for r in readings if not _numbers(r)]
        if broken:
            return Finding(
                f"{len(broken)} of {len(readings)} readings of {arm} hold nan or inf",
                VerdictKind.NON_FINITE,
                f"non_finite_{arm}",
                f"{len(broken)} of {len(readings)} readings of {arm} are nan or infinite: the computation "
                "breaks down, which no bound can excuse.",
            )
    past = sum(r.status is Status.OK and not _numbers(r) for r in case.evidence.of(Arm.HISTORY))
    return Finding(f"all values are numbers{f' ({past} past runs with nan or inf left out)' if past else ''}")


def _numbers(reading: Reading) -> bool:
    values = np.array([reading.value if reading.value is not None else math.nan, *reading.per_prompt])
    return bool(np.all(np.isfinite(values)))


def infra(case: Case) -> Finding:
    """Too many reruns without a value; a missing one is neither a pass nor an exceedance."""
    readings = case.evidence.of(Arm.HEAD, Arm.BASE)
    for arm in (Arm.HEAD, Arm.BASE, None):
        mine = [r for r in readings if arm in (None, r.arm)]
        missing = [r for r in mine if r.status is not Status.OK]
        share = 1 - len(missing) / len(mine) if mine else 1.0
        if len(mine) >= case.policy.usable_from and share < case.policy.usable_share:
            kinds = ", ".join(sorted({str(r.status) for r in missing}))
            return Finding(
                f"{len(missing)} of {len(mine)} reruns without a value ({kinds})",
                VerdictKind.INFRA,
                "too_few_usable_runs",
                f"{len(missing)} of {len(mine)} reruns gave no value ({kinds}), so what is left could "
                "mislead; look at the runners and run again.",
            )
    missing_count = sum(r.status is not Status.OK for r in readings)
    return Finding(f"{len(readings) - missing_count} of {len(readings)} reruns gave a value")
