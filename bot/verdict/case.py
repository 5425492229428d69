"""One case before the judge: the evidence, the policy, and the statistics the rungs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bot.verdict.answer import Plan, Proposal, VerdictKind
from bot.verdict.evidence import ArmView, Evidence, Floats
from bot.verdict.faults import RUN_FACTORS, FaultEvidence, Runs, judge_faults
from bot.verdict.mixed import Column, Posterior, fit
from bot.verdict.policy import Policy
from bot.verdict.prompts import PromptShift, prompt_effects, prompt_shift
from bot.verdict.reading import Arm
from bot.verdict.stats import Step, alpha_at_look, find_step, look_number
from bot.verdict.tail import Tail


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rung saw; with a `kind` it answers, without one it passes on."""

    saw: str
    kind: VerdictKind | None = None
    reason: str = ""
    sentence: str = ""
    next: Plan | None = None
    proposal: Proposal | None = None
    about: Case | None = None
    """Another check of the test, whose numbers the finding is about."""


@dataclass(frozen=True, eq=False)
class Case:
    evidence: Evidence
    policy: Policy

    @cached_property
    def others(self) -> dict[str, Case]:
        """The test's other checks, by label, each with its share of the error rates."""
        found, policy = self.evidence.others, self.policy
        rates = {name: getattr(policy, name) / max(len(found), 1) for name in ("alpha_worse", "alpha_above")}
        return {label: Case(evidence, replace(policy, **rates)) for label, evidence in found.items()}

    @cached_property
    def log_bound(self) -> float:
        return math.log(self.evidence.threshold)

    @cached_property
    def spent_minutes(self) -> float:
        """GPU minutes of the reruns, missing ones included: they cost as much."""
        readings = self.evidence.of(Arm.HEAD, Arm.BASE)
        starts = {(r.arm, r.launch) for r in readings}
        return len(starts) * self.policy.launch_minutes + len(readings) * self.policy.repeat_minutes

    @cached_property
    def look(self) -> int:
        launches = self.evidence.head.launch_count + self.evidence.base.launch_count
        return look_number(launches, self.policy.launches_per_look, self.policy.max_batches)

    @cached_property
    def alpha_equal(self) -> float:
        return alpha_at_look(self.policy.alpha_equal, self.look, self.policy.look_shares)

    @cached_property
    def alpha_worse(self) -> float:
        """Halved where two statistics are tried: mean of logs by prompt, and log of the asserted mean."""
        alpha = alpha_at_look(self.policy.alpha_worse, self.look, self.policy.look_shares)
        return alpha / 2 if self.paired else alpha

    @cached_property
    def comparable(self) -> bool:
        """Two launches on both arms: with one, a launch effect and a change of code look the same."""
        return min(self.evidence.head.launch_count, self.evidence.base.launch_count) >= 2

    @cached_property
    def paired(self) -> bool:
        """Every rerun has the same list of prompts."""
        arms = (self.evidence.head, self.evidence.base)
        return all(arm.n > 0 and bool(arm.with_prompts.all()) for arm in arms)

    def logs(self, view: ArmView, *, by_prompt: bool) -> Floats:
        """Log value, or mean over prompts of log value."""
        return self.prompt_logs(view).mean(axis=1) if by_prompt else self.clipped_logs(view.values)

    def prompt_logs(self, view: ArmView) -> Floats:
        return self.clipped_logs(view.prompts)

    def clipped_logs(self, values: Floats) -> Floats:
        """Natural logs, at most a factor of a million from the bound: what is further says no more."""
        bound = self.evidence.threshold
        return np.asarray(np.log(np.clip(values, bound * 1e-6, bound * 1e6)), dtype=np.float64)

    @cached_property
    def prompt_shift(self) -> PromptShift | None:
        """The prompt of head that lies most over base and the past runs that agree."""
        if not self.paired:
            return None
        views = [v for v in (self.evidence.base, self.shift_history) if v is not None]
        return prompt_shift(
            self.prompt_logs(self.evidence.head), np.vstack([self.prompt_logs(v) for v in views])
        )

    @cached_property
    def shift(self) -> Posterior | None:
        """Log ratio head over base: by prompt where known, else of the values. None without both arms."""
        return self._shift(by_prompt=self.paired)

    @cached_property
    def value_shift(self) -> Posterior | None:
        """Log ratio of the asserted values themselves."""
        return self._shift(by_prompt=False) if self.paired else self.shift

    def _shift(self, *, by_prompt: bool) -> Posterior | None:
        if not self.comparable:
            return None
        past = self._past(by_prompt)
        views = [self.evidence.head, self.evidence.base, *([past] if past else [])]
        return self._contrast(views, by_prompt, Arm.HEAD)

    def _past(self, by_prompt: bool) -> ArmView | None:
        """Past runs that lend strength, where they hold what is compared."""
        if self.recent is None or (by_prompt and not self.recent.with_prompts.all()):
            return None
        return self.recent

    @cached_property
    def shift_history(self) -> ArmView | None:
        """Past runs that stand beside base in `shift`."""
        return self._past(self.paired)

    def _contrast(self, views: Sequence[ArmView], by_prompt: bool, arm_of_interest: Arm) -> Posterior:
        """Log ratio of one arm over the rest; past runs and hosts as shrunken effects."""
        logs = np.concatenate([self.logs(view, by_prompt=by_prompt) for view in views])
        arm = np.array([reading.arm for view in views for reading in view.readings])
        columns = [Column(np.ones(len(logs))), Column((arm == arm_of_interest).astype(np.float64))]
        if Arm.HISTORY in arm and arm_of_interest is not Arm.HISTORY:
            columns.append(Column((arm == Arm.HISTORY).astype(np.float64), self.policy.history_sd))
        hosts = [host for view in views for host in view.hosts]
        columns += host_columns(hosts, self.policy.host_sd)
        return fit(logs, joined_launches(views), columns, 1, self.policy.launch_sd)

    @cached_property
    def history_ratio(self) -> Posterior | None:
        """Log ratio of past runs (after any step) over base: far from 0, something moved since."""
        if self.evidence.base.launch_count < 2 or self._after_step is None:
            return None
        views = [self.evidence.base, self._after_step]
        return self._contrast(views, False, Arm.HISTORY)

    @cached_property
    def step(self) -> Step | None:
        """The likeliest rise in the past runs."""
        return find_step(self.logs(self.evidence.history, by_prompt=False), self.policy.step_runs)

    @cached_property
    def fall(self) -> Step | None:
        return find_step(-self.logs(self.evidence.history, by_prompt=False), self.policy.step_runs)

    @cached_property
    def _after_step(self) -> ArmView | None:
        """Past runs since the last clear step; None where fewer than a handful are left."""
        view = self.evidence.history
        steps = [s.at for s in (self.step, self.fall) if s is not None and s.p < self.policy.alpha_step_doubt]
        start = max(steps, default=0)
        if view.n - start < self.policy.step_runs:
            return None
        return rows(view, np.arange(view.n) >= start)

    @cached_property
    def recent(self) -> ArmView | None:
        """Past runs that agree with base and may lend it strength."""
        if self.history_ratio is None or self._after_step is None:
            return None
        strange = abs(self.history_ratio.mean) > 2 * self.history_ratio.sd
        return None if strange else self._after_step

    @cached_property
    def tail(self) -> Tail | None:
        """Model of healthy readings: head, base and past runs that agree. None under 8 readings."""
        by_prompt, past = self.paired, self.shift_history
        views = [v for v in (self.evidence.head, self.evidence.base, past) if v is not None and v.n]
        if sum(view.n for view in views) < 8:
            return None
        logs = np.concatenate([self.logs(view, by_prompt=by_prompt) for view in views])
        level = fit(logs, joined_launches(views), [Column(np.ones(len(logs)))], 0, self.policy.launch_sd)
        if not by_prompt:
            return Tail(level)
        return Tail(level, prompt_effects(np.vstack([self.prompt_logs(view) for view in views])))

    @cached_property
    def healthy_logs(self) -> Floats:
        """Log values of head, base and the past runs that agree."""
        views = [self.evidence.head, self.evidence.base, *([self.recent] if self.recent else [])]
        return np.concatenate([self.logs(view, by_prompt=False) for view in views])

    @cached_property
    def exceedance_at_bound(self) -> tuple[float, float, float]:
        """Model: (rate, low, high) of one reading over the present bound."""
        if self.tail is None:
            return math.nan, 0.0, 1.0
        rate, low, high = self.tail.rates(np.array([self.log_bound]), self.policy.upper_confidence)
        return float(rate[0]), float(low[0]), float(high[0])

    @cached_property
    def faults(self) -> tuple[FaultEvidence, list[tuple[Arm, str | None]]] | None:
        """Odds for single-prompt faults, and the arm and launch of each row they speak of."""
        if self.evidence.head.n == 0:
            return None
        arms: dict[Arm, ArmView | None] = {**self.evidence.arms, Arm.HISTORY: self._after_step}
        views = {arm: view for arm, view in arms.items() if view is not None and view.n}
        by_prompt = self.paired or all(view.with_prompts.mean() > 0.8 for view in views.values())
        keep = {arm: v.with_prompts if by_prompt else np.ones(v.n, bool) for arm, v in views.items()}
        names = [
            (arm, reading.launch)
            for arm, view in views.items()
            for reading, k in zip(view.readings, keep[arm], strict=True)
            if k
        ]
        if sum(arm is not Arm.TRIGGER for arm, _ in names) < self.policy.fault_reference_runs:
            return None
        values = [(v.prompts if by_prompt else v.values[:, None])[keep[arm]] for arm, v in views.items()]
        launches = joined_launches(list(views.values()))[np.concatenate(list(keep.values()))]
        head, trigger = (np.array([arm is which for arm, _ in names]) for which in (Arm.HEAD, Arm.TRIGGER))
        rate = self.exceedance_at_bound[0]
        if math.isnan(rate):
            rate = (float(np.sum(self.healthy_logs > self.log_bound)) + 1) / (len(self.healthy_logs) + 2)
        runs = Runs(np.vstack(values), head, trigger, launches)
        return judge_faults(runs, self.log_bound, min(max(rate, 1e-4), 0.5)), names

    @cached_property
    def run_faults(self) -> tuple[FaultEvidence, list[tuple[Arm, str | None]]] | None:
        """The same for whole runs, where prompts are known too: all prompts far out in some runs."""
        views = {arm: view for arm, view in self.evidence.arms.items() if view.n and arm is not Arm.HISTORY}
        names: list[tuple[Arm, str | None]] = [
            (arm, reading.launch) for arm, view in views.items() for reading in view.readings
        ]
        reruns = sum(arm is not Arm.TRIGGER for arm, _ in names)
        if self.evidence.head.n == 0 or reruns < self.policy.fault_reference_runs:
            return None
        head, trigger = (np.array([arm is which for arm, _ in names]) for which in (Arm.HEAD, Arm.TRIGGER))
        values = np.concatenate([view.values for view in views.values()])[:, None]
        runs = Runs(values, head, trigger, joined_launches(list(views.values())))
        rate = min(max(self.exceedance_at_bound[0], 1e-4), 0.5)
        if math.isnan(rate):
            return None
        return judge_faults(runs, self.log_bound, rate, RUN_FACTORS), names


def rows(view: ArmView, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> ArmView:
    """The kept readings of a view."""
    readings = tuple(r for r, k in zip(view.readings, keep, strict=True) if k)
    launches = np.unique(view.launches[keep], return_inverse=True)[1]
    return ArmView(readings, view.missing, view.values[keep], launches, view.prompts[keep])


def joined_launches(views: Sequence[ArmView]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Launch numbers over several arms: no launch is shared between arms."""
    starts = np.cumsum([0] + [view.launch_count for view in views])
    return np.concatenate([view.launches + start for view, start in zip(views, starts[:-1], strict=True)])


def host_columns(hosts: Sequence[str], sd: float, most: int = 12) -> list[Column]:
    """One shrunken effect a host where several are known (the commonest `most`)."""
    names, count = np.unique(np.array(hosts), return_counts=True)
    if len(names) < 2:
        return []
    order = np.argsort(-count, kind="stable")[:most]
    return [Column((np.array(hosts) == names[i]).astype(np.float64), sd) for i in order]
