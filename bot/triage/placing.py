"""Placing a red pull request: measured, told to wait, or answered, as bot/triage/fanin.py decides."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final

from bot.store import Hit, Investigation
from bot.store.base import utcnow
from bot.triage import fanin, relaying
from bot.triage.barring import bound_of
from bot.triage.fanin import Decision, Fate, Known, Opened, Past, Sight
from bot.triage.services import Services
from bot.verdict import Arm, Reading, Refusal, VerdictKind

log = logging.getLogger(__name__)

TRIES: Final = 5
"""Each lost race means that another job of the site was placed meanwhile."""


def place(
    svc: Services,
    hit: Hit,
    own_id: str,
    known_days: float,
    open_own: Callable[[], str | Refusal | None],
    *,
    moved: bool = False,
) -> str | Refusal:
    """The id of the pull request's own investigation, to be started; '' where it waits or was answered.

    `open_own` opens that investigation, whose id would be `own_id`; None where another was quicker. Refusal:
    nothing was done, and why. `moved`: the red commit is not the head of the pull request any more.
    """
    if svc.store.was_opened_by(own_id, hit.facts["job_url"]):  # by an earlier try of this step
        _record(svc, hit, "measured", own_id)
        return own_id
    for _ in range(TRIES):
        decision = _decision(svc, hit, known_days, moved=moved)
        log.info("%s #%d at %s: %s", hit.repo, hit.pull, hit.site_key, decision.fate)
        if decision.fate is Fate.LEAVE:
            return decision.why or Refusal("left", "Nothing was done.")
        if decision.fate is Fate.MEASURE:
            own = open_own()
            if isinstance(own, Refusal):
                return own
            if own is not None:
                _record(svc, hit, "measured", own)
                return own
        else:
            other = svc.store.investigation(decision.investigation or "")
            if decision.fate is Fate.ANSWER:
                relaying.tell_verdict(svc, hit, other)
                _record(svc, hit, "answered", other.id)
                return ""
            if svc.store.wait_for(hit, other.id):
                relaying.tell_waiting(svc, hit, other)
                return ""
    return Refusal("raced", "Other red jobs of the site were quicker again and again; /rerun-kl asks again.")


def sight_of(hit: Hit, *, moved: bool = False) -> Sight:
    facts = hit.facts
    return Sight(
        pull=hit.pull,
        head_sha=hit.head_sha,
        test=facts["test"],
        label=facts["label"],
        values=tuple(map(float, facts["values"])),
        bound=facts["bound"],
        runner=facts["runner"],
        base_ref=facts["base_ref"],
        also_red=bool(facts["also_red"]),
        unfit=facts["unfit"],
        fork=facts["fork"],
        commanded=bool(facts["suffix"]),
        moved=moved,
    )


def _decision(svc: Services, hit: Hit, known_days: float, *, moved: bool) -> Decision:
    opened = svc.store.open_on(hit.repo, hit.site_key)
    judged = svc.store.judged_on(hit.repo, hit.site_key, hit.head_sha)
    past = map(_past, svc.store.ended_on(hit.repo, hit.site_key))
    found = fanin.speaking(past, hit.pull, utcnow(), timedelta(days=known_days)) if known_days else None
    return fanin.decide(
        sight_of(hit, moved=moved),
        None if opened is None else Opened(opened.id, opened.pull, opened.head_sha),
        None if found is None else _known(svc, found),
        None if judged is None else _past(judged),
        svc.store.waiting_beside(hit.repo, hit.site_key, hit.pull),
    )


def _past(ended: Investigation) -> Past:
    kind = None if ended.verdict is None else VerdictKind(ended.verdict["kind"])
    return Past(ended.id, ended.pull, ended.head_sha, kind, ended.finished_at or ended.created_at)


def _known(svc: Services, past: Past) -> Known:
    investigation = svc.store.investigation(past.id)
    facts = investigation.facts
    return Known(
        past=past,
        test=investigation.test,
        label=facts.get("label"),
        bound=bound_of(investigation),
        runner=facts.get("runner", ""),
        base_ref=facts["base_ref"],
        ceiling=_ceiling(svc.store.records(past.id), (investigation.verdict or {}).get("proposal")),
    )


def _ceiling(records: Iterable[dict[str, Any]], proposal: dict[str, Any] | None) -> float | None:
    """What the runs showed, or what the bound proposed from them lets pass."""
    readings = map(Reading.from_record, records)
    shown = [r.value for r in readings if r.arm in (Arm.HEAD, Arm.BASE) and r.value is not None]
    return max([*shown, *([proposal["threshold"]] if proposal else [])]) if shown else None


def _record(svc: Services, hit: Hit, state: str, investigation: str) -> None:
    hit.state, hit.investigation = state, investigation
    svc.store.record_hit(hit)
