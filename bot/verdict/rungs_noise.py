"""Rungs 9 to 11: power, not reproduced, noise. Only here may a bound move."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.answer import VerdictKind
from bot.verdict.asking import ask, no_bump, twice
from bot.verdict.case import Case, Finding
from bot.verdict.doubts import doubts, trigger_share
from bot.verdict.mixed import Posterior
from bot.verdict.plan import first_plan
from bot.verdict.proposal import out_of_reach, percent, propose
from bot.verdict.reading import Arm
from bot.verdict.rungs_checks import check_doubt
from bot.verdict.rungs_shape import host_doubt
from bot.verdict.stats import upper_limit


def power(case: Case) -> Finding:
    """Enough runs to exclude a shift that matters and a rare fault? If not, ask; out of budget, say so."""
    head, base = case.evidence.head, case.evidence.base
    if head.n == 0 and base.n == 0 and not case.evidence.of(Arm.HEAD, Arm.BASE):
        plan = first_plan(case)
        sentence = "Noise or regression is not known before head and base have run side by side."
        if plan is None:
            few, first = case.policy.budget_minutes, case.policy.first_minutes
            sentence += f" The budget of {few:g} GPU minutes does not cover that; it takes {first:g}."
        return Finding("no reruns yet", VerdictKind.INCONCLUSIVE, "no_reruns", sentence, next=plan)
    if case.shift is None or case.value_shift is None:
        return ask(case, "one_arm", _few_launches(case))
    if out_of_reach(case) and _calm(case, case.value_shift):
        return no_bump("no_bound_holds", out_of_reach(case))
    high = math.exp(case.shift.quantile(1 - case.alpha_equal))
    if high >= case.policy.smallest_shift or case.value_shift.mean >= math.log(case.policy.smallest_shift):
        worst = max(high, math.exp(case.value_shift.mean))
        return ask(case, "shift_not_excluded", f"head may still be up to × {worst:.2f} worse than base")
    doubt = _fault_doubt(case)
    if doubt:
        return ask(case, "fault_not_excluded", doubt, twice(case, Arm.HEAD))
    doubt = host_doubt(case)
    if doubt:
        return ask(case, "host_not_excluded", doubt, twice(case, Arm.HEAD))
    return Finding(f"head is at most × {high:.2f} of base")


def _few_launches(case: Case) -> str:
    views = {"head": case.evidence.head, "base": case.evidence.base}
    few = [arm for arm, view in views.items() if view.launch_count < 2]
    nameless = any(view.n > 1 and all(r.launch is None for r in view.readings) for view in views.values())
    hint = " (readings without a launch id count as one launch)" if nameless else ""
    return f"there are not yet two launches of {' or of '.join(few)}{hint}"


def _calm(case: Case, shift: Posterior) -> bool:
    """Nothing points to a cause, so more runs would only say better what this many say."""
    quiet = case.faults is not None and case.faults[0].log_odds < math.log(case.policy.fault_odds) / 2
    return quiet and shift.mean < math.log(case.policy.smallest_shift) / 2


def _fault_doubt(case: Case) -> str:
    if case.faults is None:
        return "there are too few runs for a reference of each prompt"
    if case.faults[0].log_odds > _fault_limit(case):
        return "a rare fault in single runs is not excluded"
    return ""


def _fault_limit(case: Case) -> float:
    """Log odds: stricter while more runs are cheap."""
    policy = case.policy
    return math.log(policy.fault_excluded_early if case.look <= 2 else policy.fault_excluded)


def not_reproduced(case: Case) -> Finding:
    """No exceedance in the reruns, and the model says that the failing value was a rare draw."""
    values = np.concatenate([case.evidence.head.values, case.evidence.base.values])
    exceeded = int(np.sum(values > case.evidence.threshold))
    rate, _, high = case.exceedance_at_bound
    target = case.policy.target_exceedance
    if exceeded == 0 and rate < target < high:
        return ask(
            case,
            "rare_or_noise",
            f"the bound may be exceeded in {percent(rate)} or in {percent(high)} of runs",
            twice(case, Arm.HEAD),
        )
    if high > target:
        return Finding(f"{exceeded} of {len(values)} reruns over the bound, model {percent(rate)}")
    if exceeded:
        return no_bump(
            "tail_disagrees", f"{exceeded} of {len(values)} runs exceed where the fit expects {percent(rate)}"
        )
    if trigger_share(case) < case.policy.trigger_share:
        return no_bump(
            "trigger_unexplained", "the failing value is too high for a draw of what the reruns show"
        )
    limit = upper_limit(0, len(values))
    return Finding(
        f"0 of {len(values)} reruns over the bound, model {percent(rate)}",
        VerdictKind.NOT_REPRODUCED,
        "rare_draw",
        f"None of {len(values)} reruns exceeded {case.evidence.threshold:g} (expected "
        f"{percent(rate)} a run; the count alone allows up to {percent(limit)}), "
        "so the failing value was a rare draw and the bound stays.",
    )


def noise(case: Case) -> Finding:
    """Head equals base, no fault, no step, one population, and a bound that holds."""
    doubt = doubts(case)
    if doubt is not None:
        return doubt
    offer = propose(case)
    if offer.proposal is None:
        if offer.more_runs:
            return ask(case, "bound_not_certain", offer.why_none, twice(case, Arm.HEAD))
        return no_bump("no_bound_holds", offer.why_none)
    new, expected = offer.proposal.threshold, offer.proposal.exceedance
    doubt = check_doubt(case, new)
    if doubt is not None:
        return doubt
    head, base = case.evidence.head, case.evidence.base
    over = [int(np.sum(view.values > case.evidence.threshold)) for view in (head, base)]
    saw = f"{new:g} holds: expected exceedance {percent(expected.rate)} (upper end {percent(expected.high)})"
    measured = (
        f"{_beside(case)} and {sum(over)} of their {head.n + base.n} runs "
        f"exceed {case.evidence.threshold:g}: the bound lies inside the noise"
    )
    bump = case.evidence.context.bump_refusal
    if bump is not None:
        return Finding(
            f"{saw}, but {bump.code}",
            VerdictKind.REFUSED,
            bump.code,
            f"{measured}, but no bump comes from this. {bump.sentence}",
        )
    return Finding(
        saw,
        VerdictKind.NOISE,
        "bound_under_noise_floor",
        f"{measured}. At most "
        f"{_share(expected.high)} of runs are expected to exceed {new:g} (the count alone allows "
        f"{percent(expected.exact_high)}).",
        proposal=offer.proposal,
    )


def _beside(case: Case) -> str:
    """A shift too small to matter is not called none where the runs show it."""
    if case.shift is None:
        return "Head and base measure the same"
    middle, reach = case.shift.mean, 1.96 * case.shift.sd
    ratio, low, high = (math.exp(shift) for shift in (middle, middle - reach, middle + reach))
    if low <= 1 <= high:
        return f"Head and base measure the same (× {ratio:.2f})"
    return (
        f"Head measures × {ratio:.2f} of base ({low:.2f} to {high:.2f}; a regression begins at "
        f"× {case.policy.smallest_shift:g})"
    )


def _share(rate: float) -> str:
    return "0.1 %" if rate < 0.001 else percent(rate)
