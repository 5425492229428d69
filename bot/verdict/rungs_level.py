"""Rung 8: the level. Head worse than base, or both worse than the past."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.answer import VerdictKind
from bot.verdict.case import Case, Finding
from bot.verdict.evidence import Floats
from bot.verdict.mixed import Posterior
from bot.verdict.stats import Step, find_step


def regression(case: Case) -> Finding:
    """Head above base: the lower end of the ratio over 1, the ratio itself at the smallest shift or more."""
    if case.shift is None or case.value_shift is None:
        return Finding("head and base have not both run on two launches")
    for ratio in (case.value_shift, case.shift):
        low = ratio.quantile(case.alpha_worse)
        if low > 0 and ratio.mean >= math.log(case.policy.smallest_shift):
            return _worse(case, ratio, low)
    ratio = case.shift
    low, high = (math.exp(ratio.quantile(p)) for p in (0.025, 0.975))
    return Finding(f"head over base × {math.exp(ratio.mean):.2f} ({low:.2f} to {high:.2f})")


def _worse(case: Case, ratio: Posterior, low: float) -> Finding:
    head, base = case.evidence.head, case.evidence.base
    hosts = {*head.hosts} | {*base.hosts}
    shared = "" in hosts or {*head.hosts} & {*base.hosts}
    saw = f"head over base × {math.exp(ratio.mean):.2f}, at least × {math.exp(low):.2f}"
    if not shared:
        return Finding(f"{saw}, but the arms ran on different hosts: not told apart from the hosts")
    over = [int(np.sum(view.values > case.evidence.threshold)) for view in (head, base)]
    return Finding(
        saw,
        VerdictKind.REGRESSION,
        "head_above_base",
        f"Head measures × {math.exp(ratio.mean):.2f} what base measures beside it (at least "
        f"× {math.exp(low):.2f}; over the bound in {over[0]} of {head.n} runs against {over[1]} of "
        f"{base.n}): the change made it worse.",
    )


def old_regression(case: Case) -> Finding:
    """A step up in the past runs of the default branch, or between them and base: not this change."""
    history = case.evidence.history
    if history.n < case.policy.step_runs:
        return Finding(f"{history.n} past runs: too few to see a step")
    found = step_with_base(case)
    if found is not None and found.p < case.policy.alpha_step and found.ratio >= case.policy.step_ratio:
        at = min(found.at, history.n)
        span = "between the last past run and base" if at == history.n else _span(case, at)
        return Finding(
            f"step × {found.ratio:.2f} at past run {at + 1} of {history.n}, p = {found.p:.1g}",
            VerdictKind.OLD_REGRESSION,
            "step_in_history",
            f"The default branch stepped up × {found.ratio:.2f} {span}, and head and base now sit at that "
            "level: an earlier change made it worse, not this one.",
        )
    since = case.history_ratio
    if since is not None and -since.quantile(1 - case.policy.alpha_step) >= 0 and -since.mean >= _least(case):
        return Finding(
            f"base × {math.exp(-since.mean):.2f} over the past runs",
            VerdictKind.OLD_REGRESSION,
            "base_above_history",
            f"Base measures × {math.exp(-since.mean):.2f} what {history.n} past runs of the default branch "
            "did: something made it worse after the last of them and before this change.",
        )
    return Finding(f"{history.n} past runs without a clear step" + (f" (p = {found.p:.2g})" if found else ""))


def _least(case: Case) -> float:
    return math.log(case.policy.step_ratio)


def series(case: Case) -> Floats:
    """Past runs in order, then base by launch: the default branch up to now."""
    base = case.evidence.base
    past = case.logs(case.evidence.history, by_prompt=False)
    if base.n == 0:
        return past
    logs = case.logs(base, by_prompt=False)
    now = np.bincount(base.launches, logs) / np.bincount(base.launches)
    return np.concatenate([past, now])


def step_with_base(case: Case) -> Step | None:
    return find_step(series(case), case.policy.step_runs) if case.evidence.history.n else None


def _span(case: Case, at: int) -> str:
    """Commits come from the records; shortened, and only where they look like commits."""
    before, after = case.evidence.history.readings[at - 1].commit, case.evidence.history.readings[at].commit
    if before and after and before.isalnum() and after.isalnum():
        return (
            f"between commits {before[:10]} and {after[:10]}"
            if before[:10] != after[:10]
            else (f"between commits …{before[-10:]} and …{after[-10:]}")
        )
    return f"between past runs {at} and {at + 1}"


def change_point(case: Case) -> dict[str, object] | None:
    found = step_with_base(case)
    history = case.evidence.history.readings
    if found is None or found.p >= case.policy.alpha_step_doubt or not history:
        return None
    at = min(found.at, len(history))  # the step may lie among the launches of base
    before, after = history[at - 1], history[at] if at < len(history) else None
    return {
        "ratio": found.ratio,
        "p": found.p,
        "runs_before": found.at,
        "last_before": before.commit,
        "first_after": after.commit if after else None,
        "at": after.at if after else None,
    }
