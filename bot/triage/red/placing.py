"""Placing a red pull request: measured, told to wait, or answered, as bot/triage/red/fanin.py decides."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, Final

from bot.github import pulls, reads
from bot.store import Hit, Investigation
from bot.store.base import utcnow
from bot.store.hits import unite
from bot.store.store import SETTLED
from bot.triage.measure.barring import bound_of
from bot.triage.red import fanin, relaying
from bot.triage.red.fanin import Decision, Fate, Known, Opened, Past, Sight
from bot.triage.services import Services
from bot.verdict import Arm, Reading, Refusal, VerdictKind

log = logging.getLogger(__name__)

TRIES: Final = 5
"""Each lost race means that another job of the site was placed meanwhile."""
MAX_MERGES: Final = 5
"""Faulty pull requests that are looked up to see whether they were merged; with more, nobody is answered."""


def investigation_id(repo: str, site_key: str, head_sha: str, suffix: str = "") -> str:
    """Natural key of the work on one site for one commit."""
    digest = hashlib.sha256("\n".join((repo.lower(), site_key, head_sha, suffix)).encode()).hexdigest()
    return f"kl-{digest[:20]}"


def own_id(hit: Hit) -> str:
    """Of the investigation that would measure this pull request's commit."""
    return investigation_id(hit.repo, hit.site_key, hit.head_sha, hit.facts["suffix"])


def place(
    svc: Services,
    hit: Hit,
    known_days: float,
    open_own: Callable[[], str | Refusal | None],
    *,
    moved: bool = False,
) -> str | Refusal:
    """The id of the pull request's own investigation, to be started; '' where it waits or was answered.

    `open_own` opens that investigation; None where another was quicker. Refusal: nothing was opened, and why.
    `moved`: the red commit is not the head of the pull request any more.
    """
    if svc.store.opened_by(own_id(hit)) == hit.facts["job_url"]:  # by an earlier try of this step
        return _record(svc, hit, "measured", own_id(hit))
    for _ in range(TRIES):
        decision = _decision(svc, hit, known_days, moved=moved)
        log.info("%s #%d at %s: %s", hit.repo, hit.pull, hit.site_key, decision.fate)
        if decision.outrun is not None:
            _withdraw(svc, hit, decision.outrun)
        if decision.fate is Fate.LEAVE:
            return decision.why or Refusal("left", "Nothing was done.")
        if decision.fate is Fate.MEASURE:
            own = open_own()
            if isinstance(own, Refusal):
                return own
            if own is not None:
                return _record(svc, hit, "measured", own)
        else:
            other = svc.store.investigation(decision.investigation or "")
            if decision.fate is Fate.ANSWER:
                relaying.tell_verdict(svc, hit, other)
                _record(svc, hit, "answered", other.id)
                return ""
            if decision.fate is Fate.JOIN:
                if _joined(svc, hit, other):
                    return _unless_own(hit, other)
            elif svc.store.wait_for(hit, other.id):
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
        labels=frozenset(facts["labels"]),
        base_ref=facts["base_ref"],
        also_red=bool(facts["also_red"]),
        unfit=facts["unfit"],
        fork=facts["fork"],
        commanded=facts["commanded"],
        moved=moved,
    )


def _decision(svc: Services, hit: Hit, known_days: float, *, moved: bool) -> Decision:
    opened = svc.store.open_on(hit.repo, hit.site_key)
    # After that look: what waits for an investigation that has ended is there by now.
    unite(hit, svc.store.hit(hit.repo, hit.site_key, hit.pull))
    sight = sight_of(hit, moved=moved)
    judged = svc.store.judged_on(hit.repo, hit.site_key, hit.head_sha)
    past = list(map(_past, svc.store.ended_on(hit.repo, hit.site_key)))
    found = fanin.speaking(past, hit.pull, utcnow(), timedelta(days=known_days)) if known_days else None
    known = None if found is None else _known(svc, found)
    if known is not None and fanin.fits(sight, known) and not _still_holds(svc, hit, known, past):
        known = None
    return fanin.decide(
        sight,
        None if opened is None else Opened(opened.id, opened.pull, opened.head_sha, SETTLED in opened.facts),
        known,
        None if judged is None else _known(svc, _as_it_was(judged, hit)),
        svc.store.waiting_beside(hit.repo, hit.site_key, hit.pull),
    )


def _past(ended: Investigation) -> Past:
    kind = None if ended.verdict is None else VerdictKind(ended.verdict["kind"])
    asked = ended.facts.get("asked") or {}
    chosen = bool(asked.get("base") or asked.get("runner"))
    return Past(ended.id, ended.pull, ended.head_sha, kind, ended.finished_at or ended.created_at, chosen)


def _as_it_was(judged: Investigation, hit: Hit) -> Past:
    """An earlier try of this step may have withdrawn its noise."""
    outrun, past = judged.facts.get("outrun"), _past(judged)
    if outrun and outrun["job_url"] == hit.facts["job_url"]:
        return replace(past, kind=VerdictKind.NOISE)
    return past


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
        ceiling=_ceiling(svc.store.records(past.id), facts.get("label")),
    )


def _ceiling(records: Iterable[dict[str, Any]], label: str | None) -> float | None:
    """The largest value of the check that the red job or a rerun showed; None where no rerun showed any."""
    readings = [r for r in map(Reading.from_record, records) if label is None or r.label in (label, None)]
    shown = {arm: [r.value for r in readings if r.arm is arm and r.value is not None] for arm in Arm}
    runs = [*shown[Arm.HEAD], *shown[Arm.BASE]]
    return max([*runs, *shown[Arm.TRIGGER]]) if runs else None


def _still_holds(svc: Services, hit: Hit, known: Known, past: Sequence[Past]) -> bool:
    """Whether the code that the commit grew from is still what the verdict was about: an old fault may be
    mended by now, and a fault that was merged since is no noise. What cannot be told is a no."""
    repo = svc.repository_at(hit.event["installation"], hit.repo)
    base = svc.store.investigation(known.past.id).base_sha
    if known.past.kind is VerdictKind.OLD_REGRESSION:
        grown_from = reads.merge_base(repo, hit.facts["base_ref"], hit.head_sha)
        return grown_from is not None and reads.is_ancestor(repo, base, grown_from)
    worse = {found.pull: found for found in past if found.kind in fanin.AGAINST}
    if len(worse) > MAX_MERGES:
        return False
    for number, found in worse.items():
        pull = pulls.state_of(repo, number)
        if pull is None or (pull.state == "merged" and not reads.is_ancestor(repo, base, found.head_sha)):
            return False
    return True


def _joined(svc: Services, hit: Hit, opened: Investigation) -> bool:
    """False: its verdict stands by now."""
    facts = hit.facts
    same = (facts["test"], facts["label"]) == (opened.test, opened.facts["label"])
    test = facts["test"] if facts["test"] != opened.test else f"{facts['test']} ({facts['label']})"
    barred = fanin.elsewhere(facts["labels"], opened.facts["runner"])
    return svc.store.join(
        opened.id,
        facts["trigger"] if same else (),
        facts["also_red"] if same else [test, *facts["also_red"]],
        None if barred is None else asdict(barred),
    )


def _unless_own(hit: Hit, opened: Investigation) -> str | Refusal:
    """The job that opened it may be placed twice."""
    if opened.job_url == hit.facts["job_url"] and not hit.facts["commanded"]:
        return opened.id
    sentence = "The site is being measured for this pull request already; what this job showed counts too."
    return Refusal(fanin.ALREADY, sentence)


def _withdraw(svc: Services, hit: Hit, judged: str) -> None:
    """A verdict that a later job of its commit does not bear out; said at once where its comment stands."""
    sentence = (
        f"A later red job of this commit ({hit.facts['job_url']}) showed what these runs do not cover, so "
        "they do not answer for it."
    )
    svc.store.outrun(judged, {"code": "outrun", "sentence": sentence, "job_url": hit.facts["job_url"]})
    relaying.tell_withdrawn(svc, hit, judged)


def _record(svc: Services, hit: Hit, state: str, investigation: str) -> str:
    hit.state, hit.investigation = state, investigation
    svc.store.record_hit(hit)
    return investigation
