"""A new bound: candidates, the smallest that holds, and what it still catches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.verdict.answer import Candidate, Catch, Expected, Proposal
from bot.verdict.case import Case
from bot.verdict.evidence import finite
from bot.verdict.policy import SHIFTS, Policy
from bot.verdict.stats import mean_excess_rate, upper_limit
from bot.verdict.tail import Tail

MANTISSAS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@dataclass(frozen=True, slots=True)
class Offer:
    """A proposal, or the reason why there is none. `more_runs`: a candidate failed on uncertainty alone."""

    proposal: Proposal | None
    why_none: str = ""
    more_runs: bool = False


def percent(rate: float) -> str:
    """One decimal; never a plain zero for what was only estimated."""
    return "under 0.1 %" if rate < 0.001 else f"{100 * rate:.1f} %"


def candidates(old: float, siblings: tuple[float, ...], policy: Policy) -> tuple[float, ...]:
    """Sibling bounds and round steps over `old`, ascending, up to the first past the largest factor."""
    power = math.floor(math.log10(old))
    steps = {float(f"{m}e{power + k}") for k in (0, 1) for m in MANTISSAS}
    near = {s for s in (*siblings, *steps) if math.isfinite(s) and old < s <= old * policy.max_factor * 2}
    return tuple(sorted(near))


def propose(case: Case) -> Offer:
    """The smallest candidate that passes every rule.

    Expected exceedance is that of one try, not of the two in a row a red job needs: tries on one server
    are correlated, and one try is the safe side. The upper end must be at or under the target.
    """
    old, tail = case.evidence.threshold, case.tail
    if tail is None:
        return Offer(None, "there are too few runs to fit how values spread")
    bounds = candidates(old, case.evidence.context.siblings, case.policy)
    rated = [_rated(case, tail, bound) for bound in bounds]
    chosen = next((c for c in rated if not c.why_not), None)
    if chosen is None:
        first = next((c for c in rated if c.threshold <= old * case.policy.max_factor * (1 + 1e-9)), None)
        last = max(
            (c for c in rated if c.threshold <= _ceiling(case)), key=lambda c: c.threshold, default=first
        )
        target = case.policy.target_exceedance
        unsure = last is not None and "expected" in last.why_not and last.exceedance.rate <= target
        why = f"at {last.threshold:g} {last.why_not}" if last else "no round step lies under the limits"
        return Offer(None, f"no bound passes the rules: {why}", unsure)
    sibling = chosen.threshold in case.evidence.context.siblings
    expected = chosen.exceedance
    why = (
        f"{'a sibling test already uses it' if sibling else 'the smallest step'}; expected exceedance "
        f"{percent(expected.rate)} a job (upper end {percent(expected.high)}); above every one of "
        f"{_seen(case)[1]} readings"
    )
    others = tuple(c for c in rated if c is not chosen)
    catches = tuple(_catch(tail, case, ratio, chosen.threshold) for ratio in SHIFTS)
    return Offer(Proposal(old, chosen.threshold, why, expected, catches, others, _remedies(case, tail)))


def out_of_reach(case: Case) -> str:
    """Why no bound can hold however many runs follow; empty where one may."""
    highest = _seen(case)[0]
    if highest * case.policy.margin <= _ceiling(case):
        return ""
    return f"a reading of {highest:.3g} lies over all that the bound may be raised to"


def _ceiling(case: Case) -> float:
    old, policy = case.evidence.threshold, case.policy
    first = case.evidence.context.first_bound or old
    return min(old * policy.max_factor, first * policy.cumulative_cap) * (1 + 1e-9)


def _seen(case: Case) -> tuple[float, int]:
    """Highest value of all arms (other GPUs and second tries included), and how many there are."""
    values = [r.value for r in case.evidence.readings if finite(r) and r.value is not None]
    return max(values), len(values)


def _rated(case: Case, tail: Tail, bound: float) -> Candidate:
    policy, at = case.policy, math.log(bound)
    rate, low, high = tail.rates(np.array([at]), policy.upper_confidence)
    logs = case.healthy_logs
    exact = upper_limit(int(np.sum(logs > at)), len(logs))
    expected = Expected(float(rate[0]), float(low[0]), float(high[0]), tail.name, exact)
    return Candidate(bound, expected, _why_not(case, bound, expected))


def _why_not(case: Case, bound: float, expected: Expected) -> str:
    """The first rule a candidate breaks, as the end of 'at <bound> …'; empty when it passes."""
    policy, old = case.policy, case.evidence.threshold
    first = case.evidence.context.first_bound or old
    highest = _seen(case)[0]
    if bound > old * policy.max_factor * (1 + 1e-9):
        return f"it would be more than {policy.max_factor:g} × the present bound"
    if bound > first * policy.cumulative_cap * (1 + 1e-9):
        return f"all bumps together would pass {policy.cumulative_cap:g} × the first bound {first:g}"
    bad = [level for level in policy.known_bad if level <= bound]
    if bad:
        return f"it would let a known regression at {min(bad):g} pass"
    if bound < highest * policy.margin:
        return f"a reading of {highest:.3g} lies at or just under it"
    if expected.high > policy.target_exceedance:
        target = percent(policy.target_exceedance)
        return f"the expected exceedance may be {percent(expected.high)} a job, over {target}"
    peaks = mean_excess_rate(case.healthy_logs, math.log(bound))
    if peaks is not None and peaks > policy.peaks_factor * policy.target_exceedance:
        return f"the highest values alone predict {percent(peaks)}: the tail is heavier than the model"
    return ""


def _catch(tail: Tail, case: Case, ratio: float, new: float) -> Catch:
    """A job goes red when two tries in a row exceed; as if independent, the lower end of the chance."""
    at = np.array([case.log_bound, math.log(new)]) - math.log(ratio)
    before, after = tail.rate(at)
    return Catch(ratio, float(before) ** 2, float(after) ** 2)


def _remedies(case: Case, tail: Tail) -> tuple[str, ...]:
    """Better than loosening: more prompts narrow the mean."""
    at = np.array([case.log_bound])
    now = float(tail.rate(at)[0])
    rates = [float(tail.more_prompts(k).rate(at)[0]) for k in (2, 4)]
    more = (
        f"With 2 × the prompts the present bound {case.evidence.threshold:g} would be exceeded in about "
        f"{percent(rates[0])} of runs, with 4 × in {percent(rates[1])} (now {percent(now)})."
    )
    greedy = "Greedy sampling in the test may lower the floor so far that the bound can stay: not measured."
    return (more, greedy)
