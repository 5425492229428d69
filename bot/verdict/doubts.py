"""What speaks against one healthy population, although head and base measure the same on average."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.asking import ask, no_bump, twice
from bot.verdict.case import Case, Finding
from bot.verdict.reading import Arm
from bot.verdict.rungs_level import step_with_base
from bot.verdict.rungs_shape import frozen
from bot.verdict.stats import lower_limit


def doubts(case: Case) -> Finding | None:
    """Whatever speaks against one healthy population; each ends without a bump."""
    evidence, policy = case.evidence, case.policy
    if frozen(case, evidence.base):
        return no_bump("only_base_identical", "base gives one fixed number and head does not")
    doubt = _modes_or_old_level(case)
    if doubt:
        return doubt
    gpus = {r.gpu for r in evidence.trigger.readings} - {None, evidence.gpu}
    if gpus:
        return no_bump("other_gpu", "the reruns ran on another GPU type than the red job")
    hosts = {r.host for r in evidence.trigger.readings} - {None}
    seen = {r.host for arm in (Arm.HEAD, Arm.BASE, Arm.HISTORY) for r in evidence.arms[arm].readings}
    if hosts - seen and seen - {None}:
        why = "no rerun landed on the host of the red job"
        return ask(case, "host_not_seen", why, twice(case, Arm.HEAD))
    doubt = _arms_differ(case)
    if doubt is not None:
        return doubt
    doubt = _past_differs(case)
    if doubt is not None:
        return doubt
    if case.faults is not None and case.faults[0].z.shape[1] > 1:
        z = case.faults[0].z[[name[0] is not Arm.TRIGGER for name in case.faults[1]]]
        if case.faults[0].largest < policy.heavy_tail:
            return no_bump("heavy_tail", f"a single prompt lies {z.max():.1f} sd out: the tail is heavy")
    if trigger_share(case) < case.policy.trigger_share:
        return no_bump(
            "trigger_unexplained", "the failing value is too high for a draw of what the reruns show"
        )
    return None


def _past_differs(case: Case) -> Finding | None:
    """A step in the past runs, or between them and base, that is not sure enough for a verdict."""
    policy, step, since = case.policy, step_with_base(case), case.history_ratio
    if step is not None and step.p < policy.alpha_step_doubt and step.ratio > policy.step_doubt_ratio:
        why = f"the past runs may hold a step × {step.ratio:.2f} (p = {step.p:.2g})"
        return ask(case, "step_suspected", why, twice(case, Arm.BASE))
    if since is None or -since.mean <= math.log(policy.step_doubt_ratio):
        return None
    if since.quantile(1 - policy.alpha_step_doubt) < 0:
        why = f"base sits × {math.exp(-since.mean):.2f} over the past runs"
        return ask(case, "history_lower", why, twice(case, Arm.BASE))
    return None


def _arms_differ(case: Case) -> Finding | None:
    """Head and base are not two commits on like machines, or differ in what a mean ratio does not show."""
    head, base, policy = case.evidence.head, case.evidence.base, case.policy
    commits = [{r.commit for r in view.readings} - {None} for view in (head, base)]
    if commits[0] & commits[1] or max(map(len, commits)) > 1:
        return no_bump("commits_mixed", "head and base are not one commit each, and different ones")
    hosts = [set(view.hosts) - {""} for view in (head, base)]
    past = set(case.shift_history.hosts) if case.shift_history is not None else set()
    if all(hosts) and not hosts[0] & hosts[1] and not hosts[0] | hosts[1] <= past:
        why = "head and base ran on different hosts, so code and host cannot be told apart"
        return ask(case, "hosts_differ", why, twice(case, Arm.HEAD))
    shift = case.shift
    if shift is not None and shift.quantile(1 - policy.alpha_step_doubt) < -math.log(policy.host_least):
        return no_bump("head_below_base", f"head measures only × {math.exp(shift.mean):.2f} what base does")
    prompt = case.prompt_shift
    if prompt is not None and prompt.p < policy.alpha_prompt:
        return no_bump(
            "prompt_above_base",
            f"prompt {prompt.prompt} alone measures × {prompt.ratio:.1f} on head what it does on base",
        )
    above = head_above(case)
    if above:
        little = f"more than chance explains and less than the × {policy.smallest_shift:g} of a regression"
        return no_bump("head_above_base", f"head measures {above}, {little}")
    return None


def head_above(case: Case) -> str:
    """By how much head surely lies above base, by prompt or in the asserted value; '' where it may not."""
    alpha = case.policy.alpha_above / (2 if case.paired else 1)
    for ratio in (case.shift, case.value_shift):
        if ratio is not None and ratio.quantile(alpha) > 0:
            low, high = (math.exp(ratio.quantile(p)) for p in (0.025, 0.975))
            return f"× {math.exp(ratio.mean):.2f} of base ({low:.2f} to {high:.2f})"
    return ""


def _modes_or_old_level(case: Case) -> Finding | None:
    """Values of two kinds, or a level so near the bound that it cannot be the one the bound was set for."""
    head, base = case.evidence.head, case.evidence.base
    whole = case.run_faults
    if whole is not None and whole[0].log_odds > math.log(case.policy.modes_odds):
        why = "the runs look as if they were of two kinds, a usual and a higher one"
        return ask(case, "two_modes", why, twice(case, Arm.HEAD))
    over = [int(np.sum(view.values > case.evidence.threshold)) for view in (head, base)]
    n = head.n + base.n
    if lower_limit(sum(over), n, 0.99) > case.policy.most_exceedance:
        return no_bump(
            "exceeded_too_often",
            f"{sum(over)} of {n} runs exceed it on head and base alike, more than noise over a bound that "
            "once held, so an older change may have raised the level",
        )
    return None


def trigger_share(case: Case) -> float:
    """Of healthy values over the bound, the share over the highest of the red job (1 where there is none)."""
    if case.tail is None or case.evidence.trigger.n == 0:
        return 1.0
    at = np.array([case.log_bound, math.log(float(case.evidence.trigger.values.max()))])
    bound, value = case.tail.rates(at, case.policy.upper_confidence)[2]
    return float(value / bound) if bound > 0 else 0.0
