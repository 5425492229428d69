"""Rungs 5 to 7: the shape of the values. Deterministic, intermittent, hardware."""

from __future__ import annotations

import math

import numpy as np

from bot.verdict.answer import OutlierPrompt, VerdictKind
from bot.verdict.case import Case, Finding
from bot.verdict.evidence import ArmView, Floats, finite
from bot.verdict.faults import FaultEvidence
from bot.verdict.mixed import Column, Posterior, fit
from bot.verdict.policy import Policy
from bot.verdict.reading import Arm, Reading

BAD_HOST = (1.5, 2.0, 3.0)


def same(values: Floats, tolerance: float) -> bool:
    return bool(len(values)) and float(np.ptp(values)) <= tolerance * float(np.max(values))


def frozen(case: Case, view: ArmView) -> bool:
    """All the same number, or (over two launches and more) the same on each launch that measured twice."""
    if view.n < case.policy.frozen_from:
        return False
    if same(view.values, case.policy.same_value):
        return True
    groups = [view.values[view.launches == launch] for launch in range(view.launch_count)]
    repeated = [group for group in groups if len(group) > 1]
    return len(repeated) >= 2 and all(same(group, case.policy.same_value) for group in repeated)


def deterministic(case: Case) -> Finding:
    """Head gives one number, on all launches or on each: a level, not noise."""
    head, trigger, base = case.evidence.head, case.evidence.trigger, case.evidence.base
    if not frozen(case, head):
        return Finding(f"{len(np.unique(head.values))} different values in {head.n} runs of head")
    one_level = same(head.values, case.policy.same_value)
    matches = trigger.n > 0 and same(np.append(trigger.values, head.values), case.policy.same_printed)
    moved = f", base lies at {np.median(base.values):.3g}" if base.n else ""
    if one_level:
        also = " and the red job" if matches else ""
        what = f"All {head.n} runs of head{also} gave {head.values[0]:.6g}"
        reason = "identical_values"
    else:
        what = f"The {head.n} runs of head gave one fixed number on each of {head.launch_count} launches"
        reason = "identical_within_launch"
    sentence = (
        f"{what} (bound {case.evidence.threshold:g}{moved}): a fixed level, not noise; find what moved it."
    )
    return Finding(f"{head.n} runs of head, no spread", VerdictKind.DETERMINISTIC, reason, sentence)


def intermittent(case: Case) -> Finding:
    """Single prompts (or whole runs) far outside their own reference in some runs: a rare fault."""
    if case.faults is None:
        return Finding("too few runs for a reference of each prompt")
    limit = math.log(case.policy.fault_odds)
    evidence, names = case.faults
    if evidence.log_odds >= limit and evidence.suspects:
        return _fault(evidence, names)
    return Finding(f"odds for a rare fault {_odds(evidence.log_odds)}")


def _fault(evidence: FaultEvidence, names: list[tuple[Arm, str | None]]) -> Finding:
    hit = sorted({row for row, _ in evidence.suspects})
    row, prompt = evidence.suspects[0]
    value = math.exp(evidence.z[row, prompt] * evidence.sd[prompt])
    where = f"prompt {prompt}" if evidence.z.shape[1] > 1 else "the value"
    arms = [names[i][0] for i in hit]
    which = where if len({p for _, p in evidence.suspects}) == 1 else "a single prompt"
    count = " and ".join(
        f"{arms.count(arm)} of {sum(a is arm for a, _ in names)} {_runs_of(arm)}"
        for arm in Arm
        if arm in arms
    )
    old = Arm.BASE in arms or Arm.HISTORY in arms
    return Finding(
        f"odds for a rare fault {_odds(evidence.log_odds)}; {len(hit)} runs with a far-out value",
        VerdictKind.INTERMITTENT,
        "single_prompt_fault" if evidence.z.shape[1] > 1 else "rare_large_values",
        f"In {count}, {which} sits far outside its own usual level (up to × {value:.1f}) while the rest is "
        f"as always: a rare fault{', as old as the base' if old else ''}, not noise of the mean.",
    )


def _runs_of(arm: Arm) -> str:
    return "tries of the red job" if arm is Arm.TRIGGER else f"runs of {arm}"


def outlier_prompts(case: Case, most: int = 10) -> tuple[OutlierPrompt, ...]:
    """The worst suspects, for the numbers of the verdict (only where prompts are known)."""
    if case.faults is None or case.faults[0].z.shape[1] < 2:
        return ()
    evidence, names = case.faults
    items = []
    for row, prompt in evidence.suspects[:most]:
        reference = float(evidence.reference[row, prompt])
        value = float(evidence.values[row, prompt])
        items.append(OutlierPrompt(prompt, value, reference, str(names[row][0]), names[row][1]))
    return tuple(items)


def _odds(log_odds: float) -> str:
    if log_odds > math.log(1e6):
        return "over 1,000,000 : 1"
    return f"{math.exp(log_odds):,.0f} : 1" if log_odds >= 0 else f"1 : {min(math.exp(-log_odds), 1e6):,.0f}"


def hardware(case: Case) -> Finding:
    """One GPU type or host lies higher than the others, on the same code, and holds the exceedances."""
    for place in ("gpu", "host"):
        readings = [r for r in case.evidence.of(Arm.HISTORY, Arm.HEAD, Arm.BASE) if finite(r)]
        readings = [r for r in readings if getattr(r, place) is not None and r.attempt in (None, 1)]
        names = [str(getattr(r, place)) for r in readings]
        groups = [name for name in sorted(set(names)) if names.count(name) >= 3]
        if len(groups) < 2:
            continue
        levels = {
            g: float(_logs(case, [r for r, n in zip(readings, names, strict=True) if n == g]).mean())
            for g in groups
        }
        worst = max(groups, key=lambda g: (levels[g], g))
        found = _place(case, place, worst, readings, np.array(names) == worst, len(groups))
        if found is not None:
            return found
    return Finding("no host or GPU type stands out")


def _place(
    case: Case, place: str, name: str, readings: list[Reading], mine: np.ndarray, groups: int
) -> Finding | None:
    ratio = _place_ratio(case, place, readings, mine)
    if ratio is None:
        return None
    low = ratio.quantile(case.policy.alpha_host / groups)
    if ratio.mean < math.log(case.policy.host_ratio) or low <= math.log(case.policy.host_least):
        return None
    over = np.array([(r.value or 0.0) > case.evidence.threshold for r in readings])
    trigger = {getattr(r, place) for r in case.evidence.trigger.readings} - {None}
    here, there = float(over[mine].mean()), float(over[~mine].mean())
    if here <= 2 * there or (trigger and name not in trigger):
        return None
    what = "GPU type" if place == "gpu" else "host"
    return Finding(
        f"{what} × {math.exp(ratio.mean):.2f} over the others",
        VerdictKind.HARDWARE,
        f"one_{place}",
        f"One {what} lies × {math.exp(ratio.mean):.2f} over the others on the same code and exceeds in "
        f"{int(over[mine].sum())} of {int(mine.sum())} runs, the others in {int(over[~mine].sum())} of "
        f"{int((~mine).sum())}: look at that {what}, not at the bound.",
    )


def host_doubt(case: Case) -> str:
    """The host of the red job lies higher than the others, if not surely enough for a verdict."""
    hosts = {r.host for r in case.evidence.trigger.readings} - {None}
    readings = [r for r in case.evidence.of(Arm.HISTORY, Arm.HEAD, Arm.BASE) if finite(r)]
    readings = [r for r in readings if r.host is not None and r.attempt in (None, 1)]
    mine = np.array([r.host in hosts for r in readings])
    ratio = _place_ratio(case, "host", readings, mine) if mine.any() else None
    if ratio is None or _host_odds(ratio, case.policy) < case.policy.host_excluded:
        return ""
    return f"the host of the red job may lie × {math.exp(ratio.mean):.2f} over the others"


def _host_odds(ratio: Posterior, policy: Policy) -> float:
    """Odds for a bad host (`BAD_HOST` over the others) over one that differs as healthy hosts do."""
    healthy = ratio.sd**2 + 2 * policy.healthy_host_sd**2

    def density(at: float) -> float:
        return math.exp(-((ratio.mean - at) ** 2) / (2 * healthy))

    return float(np.mean([density(math.log(factor)) for factor in BAD_HOST])) / density(0.0)


def _place_ratio(case: Case, place: str, readings: list[Reading], mine: np.ndarray) -> Posterior | None:
    """Log ratio of one place over the others, between arms only where an arm ran on both."""
    arms = np.array([r.arm for r in readings])
    shared = [arm for arm in Arm if len(set(mine[arms == arm])) == 2]
    keep = np.isin(arms, shared)
    launches = {
        (r.arm, r.launch, getattr(r, place)) for r, k, m in zip(readings, keep, mine, strict=True) if k and m
    }
    if not shared or len(launches) < 2:
        return None
    kept = [r for r, k in zip(readings, keep, strict=True) if k]
    keys: dict[object, int] = {}
    unknown = iter(range(len(kept)))
    ids = [(r.arm, r.launch if r.launch is not None else next(unknown), getattr(r, place)) for r in kept]
    numbers = np.array([keys.setdefault(i, len(keys)) for i in ids])
    columns = [Column((arms[keep] == arm).astype(np.float64)) for arm in shared]
    columns.append(Column(mine[keep].astype(np.float64)))
    return fit(_logs(case, kept), numbers, columns, len(shared), case.policy.launch_sd)


def _logs(case: Case, readings: list[Reading]) -> Floats:
    """Mean of prompt logs where all have the same list, which is steadier; else log of the value."""
    widths = {len(r.per_prompt) for r in readings}
    if len(widths) > 1 or widths == {0}:
        return case.clipped_logs(np.array([r.value or 0.0 for r in readings]))
    return np.asarray(
        case.clipped_logs(np.array([r.per_prompt for r in readings])).mean(axis=1), dtype=np.float64
    )
