"""Rungs 9 to 11: power, not reproduced, noise. Only here may a bound move."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.answer import VerdictKind
from bot.verdict.case import Case, Finding
from bot.verdict.mixed import Posterior
from bot.verdict.plan import More, first_plan, next_plan, runs_needed
from bot.verdict.proposal import out_of_reach, percent, propose
from bot.verdict.reading import Arm
from bot.verdict.rungs_level import step_with_base
from bot.verdict.rungs_shape import frozen, host_doubt
from bot.verdict.stats import lower_limit, upper_limit


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
        return _ask(case, "one_arm", _few_launches(case))
    if out_of_reach(case) and _calm(case, case.value_shift):
        return _no_bump("no_bound_holds", out_of_reach(case))
    high = math.exp(case.shift.quantile(1 - case.alpha_equal))
    if high >= case.policy.smallest_shift or case.value_shift.mean >= math.log(case.policy.smallest_shift):
        worst = max(high, math.exp(case.value_shift.mean))
        return _ask(case, "shift_not_excluded", f"head may still be up to × {worst:.2f} worse than base")
    doubt = _fault_doubt(case)
    if doubt:
        return _ask(case, "fault_not_excluded", doubt, _twice(case, Arm.HEAD))
    doubt = host_doubt(case)
    if doubt:
        return _ask(case, "host_not_excluded", doubt, _twice(case, Arm.HEAD))
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


def _twice(case: Case, arm: Arm) -> More:
    return More(arm, case.evidence.arms[arm].n)


def _ask(case: Case, reason: str, why: str, more: More | None = None) -> Finding:
    """More runs while looks and budget last, else inconclusive with what it would take."""
    runs = f"{case.evidence.head.n} runs of head and {case.evidence.base.n} of base"
    plan = next_plan(case, more)
    if plan is not None:
        sentence = f"After {runs} {why}: more runs are asked for."
        return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence, next=plan)
    needed = runs_needed(case)
    settle = f"; about {needed} runs an arm would settle the ratio" if needed and "worse" in why else ""
    sentence = f"The budget is used up: after {runs} {why}{settle}. The bound stays."
    return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence)


def not_reproduced(case: Case) -> Finding:
    """No exceedance in the reruns, and the model says that the failing value was a rare draw."""
    values = np.concatenate([case.evidence.head.values, case.evidence.base.values])
    exceeded = int(np.sum(values > case.evidence.threshold))
    rate, _, high = case.exceedance_at_bound
    target = case.policy.target_exceedance
    if exceeded == 0 and rate < target < high:
        return _ask(
            case,
            "rare_or_noise",
            f"the bound may be exceeded in {percent(rate)} or in {percent(high)} of runs",
            _twice(case, Arm.HEAD),
        )
    if high > target:
        return Finding(f"{exceeded} of {len(values)} reruns over the bound, model {percent(rate)}")
    if exceeded:
        return _no_bump(
            "tail_disagrees", f"{exceeded} of {len(values)} runs exceed where the fit expects {percent(rate)}"
        )
    if _trigger_share(case) < case.policy.trigger_share:
        return _no_bump(
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


def _trigger_share(case: Case) -> float:
    """Of healthy values over the bound, the share over the highest of the red job (1 where there is none)."""
    if case.tail is None or case.evidence.trigger.n == 0:
        return 1.0
    at = np.array([case.log_bound, math.log(float(case.evidence.trigger.values.max()))])
    bound, value = case.tail.rates(at, case.policy.upper_confidence)[2]
    return float(value / bound) if bound > 0 else 0.0


def noise(case: Case) -> Finding:
    """Head equals base, no fault, no step, one population, and a bound that holds."""
    doubt = _doubts(case)
    if doubt is not None:
        return doubt
    offer = propose(case)
    if offer.proposal is None:
        if offer.more_runs:
            return _ask(case, "bound_not_certain", offer.why_none, _twice(case, Arm.HEAD))
        return _no_bump("no_bound_holds", offer.why_none)
    new, expected = offer.proposal.threshold, offer.proposal.exceedance
    head, base = case.evidence.head, case.evidence.base
    over = [int(np.sum(view.values > case.evidence.threshold)) for view in (head, base)]
    saw = f"{new:g} holds: expected exceedance {percent(expected.rate)}, at most {percent(expected.high)}"
    bump = case.evidence.context.bump_refusal
    if bump is not None:
        return Finding(f"{saw}, but {bump.code}", VerdictKind.REFUSED, bump.code, bump.sentence)
    equal = math.exp(case.shift.mean) if case.shift else math.nan
    return Finding(
        saw,
        VerdictKind.NOISE,
        "bound_under_noise_floor",
        f"Head and base measure the same (× {equal:.2f}) and {sum(over)} of their {head.n + base.n} runs "
        f"exceed {case.evidence.threshold:g}: the bound lies inside the noise. At most "
        f"{_share(expected.high)} of runs are expected to exceed {new:g} (the count alone allows "
        f"{percent(expected.exact_high)}).",
        proposal=offer.proposal,
    )


def _doubts(case: Case) -> Finding | None:
    """Whatever speaks against one healthy population; each ends without a bump."""
    evidence, policy = case.evidence, case.policy
    if frozen(case, evidence.base):
        return _no_bump("only_base_identical", "base gives one fixed number and head does not")
    doubt = _modes_or_old_level(case)
    if doubt:
        return doubt
    gpus = {r.gpu for r in evidence.trigger.readings} - {None, evidence.gpu}
    if gpus:
        return _no_bump("other_gpu", "the reruns ran on another GPU type than the red job")
    hosts = {r.host for r in evidence.trigger.readings} - {None}
    seen = {r.host for arm in (Arm.HEAD, Arm.BASE, Arm.HISTORY) for r in evidence.arms[arm].readings}
    if hosts - seen and seen - {None}:
        why = "no rerun landed on the host of the red job"
        return _ask(case, "host_not_seen", why, _twice(case, Arm.HEAD))
    doubt = _arms_differ(case)
    if doubt is not None:
        return doubt
    step = step_with_base(case)
    if step is not None and step.p < policy.alpha_step_doubt and step.ratio > 1.1:
        why = f"the past runs may hold a step × {step.ratio:.2f} (p = {step.p:.2g})"
        return _ask(case, "step_suspected", why, _twice(case, Arm.BASE))
    since = case.history_ratio
    if since is not None and since.quantile(1 - policy.alpha_step_doubt) < 0 and -since.mean > math.log(1.1):
        why = f"base sits × {math.exp(-since.mean):.2f} over the past runs"
        return _ask(case, "history_lower", why, _twice(case, Arm.BASE))
    if case.faults is not None and case.faults[0].z.shape[1] > 1:
        z = case.faults[0].z[[name[0] is not Arm.TRIGGER for name in case.faults[1]]]
        if case.faults[0].largest < policy.heavy_tail:
            return _no_bump("heavy_tail", f"a single prompt lies {z.max():.1f} sd out: the tail is heavy")
    if _trigger_share(case) < case.policy.trigger_share:
        return _no_bump(
            "trigger_unexplained", "the failing value is too high for a draw of what the reruns show"
        )
    return None


def _arms_differ(case: Case) -> Finding | None:
    """Head and base are not two commits on like machines, or differ in what a mean ratio does not show."""
    head, base, policy = case.evidence.head, case.evidence.base, case.policy
    commits = [{r.commit for r in view.readings} - {None} for view in (head, base)]
    if commits[0] & commits[1] or max(map(len, commits)) > 1:
        return _no_bump("commits_mixed", "head and base are not one commit each, and different ones")
    hosts = [set(view.hosts) - {""} for view in (head, base)]
    if all(hosts) and not hosts[0] & hosts[1]:
        why = "head and base ran on different hosts, so code and host cannot be told apart"
        return _ask(case, "hosts_differ", why, _twice(case, Arm.HEAD))
    shift = case.shift
    if shift is not None and shift.quantile(1 - policy.alpha_step_doubt) < -math.log(policy.host_least):
        return _no_bump("head_below_base", f"head measures only × {math.exp(shift.mean):.2f} what base does")
    prompt = case.prompt_shift
    if prompt is not None and prompt.p < policy.alpha_prompt:
        return _no_bump(
            "prompt_above_base",
            f"prompt {prompt.prompt} alone measures × {prompt.ratio:.1f} on head what it does on base",
        )
    return None


def _modes_or_old_level(case: Case) -> Finding | None:
    """Values of two kinds, or a level so near the bound that it cannot be the one the bound was set for."""
    head, base = case.evidence.head, case.evidence.base
    whole = case.run_faults
    if whole is not None and whole[0].log_odds > math.log(case.policy.modes_odds):
        why = "the runs look as if they were of two kinds, a usual and a higher one"
        return _ask(case, "two_modes", why, _twice(case, Arm.HEAD))
    over = [int(np.sum(view.values > case.evidence.threshold)) for view in (head, base)]
    n = head.n + base.n
    if lower_limit(sum(over), n, 0.99) > case.policy.most_exceedance:
        return _no_bump(
            "exceeded_too_often",
            f"{sum(over)} of {n} runs exceed it on head and base alike, more than noise over a bound that "
            "once held, so an older change may have raised the level",
        )
    return None


def _share(rate: float) -> str:
    return "0.1 %" if rate < 0.001 else percent(rate)


def _no_bump(reason: str, why: str) -> Finding:
    sentence = f"The bound stays: {why}. A person should look."
    return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence)
