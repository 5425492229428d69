"""A test as its readings show it: level, prompts, spreads, hosts and the shape of what is left."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bot.verdict.answer import Refusal, VerdictKind
from bot.verdict.case import Case, joined_launches, rows
from bot.verdict.evidence import ArmView, Evidence, Floats, Ints
from bot.verdict.ladder import decide
from bot.verdict.mixed import Column, Posterior, fit
from bot.verdict.policy import Policy
from bot.verdict.prompts import prompt_effects
from bot.verdict.reading import Arm, Reading

FEWEST: Final = 8
"""Readings that a fit takes."""
MOST: Final = 2_000
"""Readings of an arm that a fit looks at: the latest."""
PAST: Final = 200
"""Past runs of a world at most."""
POOL: Final = 20_000
"""Residuals kept."""
HOSTS: Final = 12
"""Hosts with an effect of their own: the commonest."""
AGAINST_HEAD: Final = (VerdictKind.REGRESSION, VerdictKind.INTERMITTENT, VerdictKind.NON_FINITE)


@dataclass(frozen=True, slots=True)
class Host:
    """Its share of launches, and its log effect as a normal posterior."""

    name: str | None
    share: float
    mean: float = 0.0
    sd: float = 0.0


@dataclass(frozen=True, eq=False)
class FittedTest:
    """Logs are natural. `level`: posterior of the mean of log value, or of the mean over prompts of log
    values where prompts are known. Then `offsets` are the prompts' log levels about their mean and
    `prompt_sds` their spreads. `residuals` are standardised and hold the shape of the tails.
    """

    test: str
    threshold: float
    gpu: str | None
    readings: int
    level: Posterior
    offsets: Floats | None
    prompt_sds: Floats | None
    residuals: Floats
    hosts: tuple[Host, ...]
    past: int
    listed: frozenset[Arm]
    """Arms whose readings list their prompts."""
    trigger: tuple[Reading, ...]
    """The red job of the file: its tries over the bound."""
    notes: tuple[str, ...]

    @property
    def prompts(self) -> int:
        """0 where they are unknown."""
        return 0 if self.offsets is None else len(self.offsets)


def fit_test(evidence: Evidence, policy: Policy) -> FittedTest | Refusal:
    """The test behind these readings, as if its code were healthy."""
    if evidence.threshold <= policy.exact_gate:
        sentence = f"The bound {evidence.threshold:g} is an exact gate: there is no noise to simulate."
        return Refusal("exact_gate", sentence)
    case, kind = Case(evidence, policy), decide(evidence, policy).kind
    views, notes = _healthy(case, kind)
    if kind is VerdictKind.DETERMINISTIC or any(_frozen(view, policy) for view in views):
        return Refusal(
            "frozen_values", "The values are the same in every run: there is no noise to simulate."
        )
    n = sum(view.n for view in views)
    if n < FEWEST:
        why = "".join(f"; {note}" for note in notes[:1])
        few = f"A fit takes {FEWEST} readings of head, base and past runs, and there are {n}{why}."
        return Refusal("too_few_readings", few)
    return _fitted(case, views, notes)


def _healthy(case: Case, kind: VerdictKind) -> tuple[list[ArmView], tuple[str, ...]]:
    """Base, the past runs that are like it, and head unless the judge speaks against it."""
    head, base, past = case.evidence.head, case.evidence.base, case.recent
    notes = []
    if kind in AGAINST_HEAD and head.n:
        notes.append(f"the {head.n} readings of head are left out, since the judge calls them {kind}")
        if kind is VerdictKind.INTERMITTENT:
            notes.append("a fault that base shares stays in the worlds")
        head = rows(head, np.zeros(head.n, bool))
    elif kind in (VerdictKind.HARDWARE, VerdictKind.OLD_REGRESSION):
        notes.append(f"the judge calls these readings {kind}, and the worlds are like them")
    if base.launch_count < 2:  # nothing to compare the past runs with
        history, doubt = case.evidence.history, case.policy.alpha_step_doubt
        start = max((s.at for s in (case.step, case.fall) if s is not None and s.p < doubt), default=0)
        past = rows(history, np.arange(history.n) >= start)
    found = [view for view in (head, base, past) if view is not None and view.n]
    return [rows(view, np.arange(view.n) >= view.n - MOST) for view in found], tuple(notes)


def _frozen(view: ArmView, policy: Policy) -> bool:
    same = float(np.ptp(view.values)) <= policy.same_value * float(view.values.max())
    return view.n >= policy.frozen_from and same


def _fitted(case: Case, views: list[ArmView], notes: tuple[str, ...]) -> FittedTest:
    evidence, bound = case.evidence, case.evidence.threshold
    listed = _with_prompts(views)
    views = listed or views
    logs = np.concatenate([case.logs(view, by_prompt=bool(listed)) for view in views])
    names = np.array([host for view in views for host in view.hosts])
    level, hosts = _level(logs, names, joined_launches(views), case.policy)
    if listed:
        prompts = np.log(np.maximum(np.vstack([v.prompts for v in views]), bound * 1e-6))
        own = prompt_effects(prompts)
        offsets, sds, residuals = own.offsets, own.sds, (own.residuals / own.sds).ravel()
    else:
        effects = {host.name or "": host.mean for host in hosts}
        offsets, sds = None, None
        residuals = logs - level.mean - np.array([effects.get(name, 0.0) for name in names])
        residuals = residuals - residuals.mean()
    over = [r for r in evidence.trigger.readings if r.value is not None and r.value > bound]
    return FittedTest(
        test=evidence.test,
        threshold=bound,
        gpu=evidence.gpu,
        readings=len(logs),
        level=level,
        offsets=offsets,
        prompt_sds=sds,
        residuals=_standardised(residuals),
        hosts=hosts,
        past=min(evidence.history.n, PAST),
        listed=_listed(evidence) if listed else frozenset(),
        trigger=tuple(replace(reading, threshold=bound) for reading in over),
        notes=notes,
    )


def _with_prompts(views: list[ArmView]) -> list[ArmView]:
    """The readings that list their prompts, where nearly all reruns do; else none."""
    listed = [view for view in views if view.with_prompts.mean() > 0.8]
    if any(view not in listed and view.readings[0].arm is not Arm.HISTORY for view in views):
        return []
    full = [rows(view, view.with_prompts) for view in listed]
    return full if sum(view.n for view in full) >= FEWEST else []


def _listed(evidence: Evidence) -> frozenset[Arm]:
    """Reruns list their prompts; a red job and past runs do where those of the file do."""
    others = [evidence.trigger, evidence.history]
    arms = [view.readings[0].arm for view in others if view.n and view.with_prompts.all()]
    return frozenset((Arm.HEAD, Arm.BASE, *arms))


def _level(
    logs: Floats, names: np.ndarray[tuple[int], np.dtype[np.str_]], launches: Ints, policy: Policy
) -> tuple[Posterior, tuple[Host, ...]]:
    """The level, and the hosts with their effects where there are several."""
    starts = names[np.unique(launches, return_index=True)[1]]
    common = Counter(starts.tolist()).most_common(HOSTS)
    total = sum(count for _, count in common)
    columns = [Column(np.ones(len(logs)))]
    if len(common) > 1:
        columns += [Column((names == name).astype(np.float64), policy.host_sd) for name, _ in common]
    level, *effects = (fit(logs, launches, columns, k, policy.launch_sd) for k in range(len(columns)))
    hosts = [Host(name or None, count / total) for name, count in common]
    if effects:
        hosts = [
            Host(host.name, host.share, effect.mean, effect.sd)
            for host, effect in zip(hosts, effects, strict=True)
        ]
    return level, tuple(hosts)


def _standardised(residuals: Floats) -> Floats:
    """Of unit variance, and at most `POOL` of them at even steps of their order: both ends stay."""
    ordered = np.sort(residuals) / (math.sqrt(float(np.mean(residuals**2))) or 1.0)
    steps = np.linspace(0, len(ordered) - 1, min(len(ordered), POOL)).round().astype(np.int64)
    return np.asarray(ordered[steps], dtype=np.float64)
