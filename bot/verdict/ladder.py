"""The ladder: rungs in order, the first that holds answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from bot.verdict.answer import Exceedance, Level, Numbers, Ratio, Rung, Runs, Verdict
from bot.verdict.case import Case, Finding
from bot.verdict.evidence import Evidence
from bot.verdict.policy import Policy
from bot.verdict.rungs_checks import other_checks
from bot.verdict.rungs_level import change_point, old_regression, regression
from bot.verdict.rungs_noise import noise, not_reproduced, power
from bot.verdict.rungs_refusal import exact_gate, infra, non_finite, refused
from bot.verdict.rungs_shape import deterministic, hardware, intermittent, outlier_prompts
from bot.verdict.stats import clopper_pearson, normal_quantile

RUNGS: Final[tuple[Callable[[Case], Finding], ...]] = (
    refused,
    exact_gate,
    non_finite,
    infra,
    deterministic,
    intermittent,
    hardware,
    regression,
    other_checks,
    old_regression,
    power,
    not_reproduced,
    noise,
)


def decide(evidence: Evidence, policy: Policy | None = None) -> Verdict:
    """The verdict on these readings; a pure function, so the same readings give the same verdict."""
    case = Case(evidence, policy or Policy())
    trace = [Rung("evidence", note) for note in evidence.notes]
    for rung in RUNGS:
        finding = rung(case)
        trace.append(Rung(rung.__name__, finding.saw))
        if finding.kind is not None:
            return Verdict(
                finding.kind,
                finding.reason,
                finding.sentence,
                replace(_numbers(finding.about or case), gpu_minutes=case.spent_minutes or None),
                finding.next,
                finding.proposal,
                tuple(trace),
            )
    raise AssertionError("the last rung always answers")


def _numbers(case: Case) -> Numbers:
    """What was measured of one check, whichever rung answered."""
    evidence = case.evidence
    seen = {arm: view for arm, view in evidence.arms.items() if view.n or view.missing}
    measured = {str(arm): view for arm, view in seen.items() if view.n}
    statistics = evidence.threshold > case.policy.exact_gate
    return Numbers(
        runs={str(arm): Runs(view.n, view.missing) for arm, view in seen.items()},
        exceedance={a: _exceedance(case, view.values) for a, view in measured.items() if a != "trigger"},
        levels={
            a: Level(float(np.median(v.values)), float(v.values.min()), float(v.values.max()))
            for a, v in measured.items()
        },
        ratio=_ratio(case) if statistics else None,
        min_detectable_ratio=_detectable(case) if statistics else None,
        change_point=change_point(case) if statistics else None,
        outlier_prompts=outlier_prompts(case) if statistics else (),
    )


def _exceedance(case: Case, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Exceedance:
    exceeded, n = int(np.sum(values > case.evidence.threshold)), len(values)
    low, high = clopper_pearson(exceeded, n, case.policy.confidence)
    return Exceedance(exceeded, n, exceeded / n, low, high)


def _ratio(case: Case) -> Ratio | None:
    if case.shift is None:
        return None
    tail = (1 - case.policy.confidence) / 2
    low, high = (math.exp(case.shift.quantile(p)) for p in (tail, 1 - tail))
    method = "mixed model of launch and repeat, " + (
        "mean of prompt logs" if case.paired else "log of values"
    )
    return Ratio(math.exp(case.shift.mean), low, high, case.policy.confidence, method)


def _detectable(case: Case) -> float | None:
    """The rise that this many runs show, as a regression or as a doubt about the bump, with chance 90 %:
    `alpha_worse` at one look is stricter than `alpha_above`."""
    if case.shift is None:
        return None
    return math.exp((normal_quantile(1 - case.alpha_worse) + normal_quantile(0.9)) * case.shift.sd)
