"""The runner minutes that a repository's reruns may be planned for in 24 hours. Pure but for `of_today`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bot.store import Rerun
from bot.store.base import utcnow
from bot.triage.services import Services
from bot.verdict import Reading, Refusal
from rules import Pack
from runners.plan import RerunPlan

DAY: Final = timedelta(hours=24)
CODE: Final = "day_budget"


@dataclass(frozen=True, slots=True)
class Spent:
    """Minutes of one rerun, counted from when it was planned."""

    at: datetime
    minutes: float


def estimate(plan: RerunPlan, pack: Pack) -> float:
    """Minutes that a plan is expected to take by the costs of the pack."""
    return len(plan.launches) * pack.launch_minutes + plan.planned * pack.repeat_minutes


def taken(plan: RerunPlan, readings: Sequence[Reading], pack: Pack) -> float:
    """Minutes that a rerun counts for: what was planned, or more where its repeats tell of more, but never
    more than its launches may run.

    The times come from the measured code. Were they let below the plan, code could switch the budget off;
    without a limit it could use up everybody's day.
    """
    starts = len(plan.launches) * pack.launch_minutes
    # A repeat with several checks has as many readings, each with the time of the whole.
    repeats = {(reading.launch, reading.repeat): reading.duration_s or 0.0 for reading in readings}
    told = starts + sum(repeats.values()) / 60
    return max(estimate(plan, pack), min(told, len(plan.launches) * plan.launch_timeout_s / 60))


def refusal(earlier: Sequence[Spent], wanted: float, budget: float, now: datetime) -> Refusal | None:
    """Why a rerun of so many minutes is not started: with those before it the day would be over budget."""
    inside = sorted((s for s in earlier if s.at > now - DAY), key=lambda spent: spent.at)
    spent = sum(s.minutes for s in inside)
    if spent + wanted <= budget:
        return None
    told = (
        f"The next rerun is planned for {wanted:.0f} min and {spent:.0f} of {budget:.0f} min of this "
        "repository's day are used"
    )
    if wanted > budget:
        return Refusal(CODE, f"{told}: raise budget_minutes_per_day to at least {wanted:.0f}.")
    for oldest in inside:
        spent -= oldest.minutes
        if spent + wanted <= budget:
            return Refusal(CODE, f"{told}: there is room again after {oldest.at + DAY:%Y-%m-%d %H:%M} UTC.")
    return Refusal(CODE, f"{told}.")


def of_today(svc: Services, repo: str, rerun: Rerun, budget: float) -> Refusal | None:
    """The same for a planned rerun. Those planned after it wait for it, so that two never bar each other."""
    now = utcnow()
    earlier = [
        Spent(other.created_at, float(other.plan.get("minutes", 0.0)))
        for other in svc.store.reruns_since(repo, now - DAY)
        if (other.created_at, other.request) < (rerun.created_at, rerun.request)
    ]
    return refusal(earlier, float(rerun.plan.get("minutes", 0.0)), budget, now)
