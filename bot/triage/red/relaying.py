"""What pull requests hear that were not measured themselves: the waiting text, the line, or a plain no."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from github import GithubException
from github.Repository import Repository

from bot.github import reads, writes
from bot.report import comment, line
from bot.report.facts import EvidenceLinks, PullLink
from bot.store import Hit, Investigation
from bot.triage.measure import kill_switch
from bot.triage.services import Services
from bot.triage.tell import telling
from bot.verdict import VerdictKind
from bot.verdict.answer import Exceedance, Ratio

log = logging.getLogger(__name__)


def tell_waiting(svc: Services, hit: Hit, opened: Investigation) -> None:
    """At once, before anything is measured. An older commit of its own has the comment to itself."""
    if opened.pull == hit.pull or _silent(svc, hit):
        return
    body = line.waiting(red_of(svc, hit), _comment_of(opened))
    with writes.one_at_a_time(_repository(svc, hit), hit.pull, comment.marker_prefix(hit.site_key)):
        if _still_waits(svc, hit, opened.id):
            _tell(svc, hit, body)


def _still_waits(svc: Services, hit: Hit, opened: str) -> bool:
    """Once the investigation has ended the answer is on its way, or there: this text must not go over it."""
    now = svc.store.hit(hit.repo, hit.site_key, hit.pull)
    waits = now is not None and (now.state, now.investigation) == ("waiting", opened)
    return waits and svc.store.investigation(opened).state == "open"


def tell_verdict(svc: Services, hit: Hit, known: Investigation) -> None:
    """The line; where an older commit of the same pull request was measured, its comment says so."""
    if _silent(svc, hit):
        return
    if known.pull == hit.pull:
        again = {"commit": hit.head_sha, "values": hit.facts["values"], "job_url": hit.facts["job_url"]}
        svc.store.remember(known.id, red_again=again)
        telling.tell_again(svc, known.id)
    else:
        _tell(svc, hit, line.answered(red_of(svc, hit), verdict_for_others(known)))


def tell_no_answer(svc: Services, hit: Hit, why: str) -> None:
    """To those who were told to wait."""
    _tell(svc, hit, line.unanswered(red_of(svc, hit), why))


def tell_withdrawn(svc: Services, hit: Hit, judged: str) -> None:
    """The comment, if no newer one stands in its place, and the check of a verdict that holds no more."""
    if _silent(svc, hit):
        return
    stands = svc.store.hit(hit.repo, hit.site_key, svc.store.investigation(judged).pull)
    if stands is None or stands.investigation == judged:
        telling.tell_again(svc, judged)
    telling.close_check(svc, judged)


def _silent(svc: Services, hit: Hit) -> bool:
    """The kill switch is thrown."""
    stopped = kill_switch.thrown(svc, _repository(svc, hit))
    if stopped is not None:
        svc.store.note(hit.repo, f"pull {hit.pull}", stopped.code, stopped.sentence)
    return stopped is not None


def red_of(svc: Services, hit: Hit) -> line.Red:
    """The head is compared right before posting: a result for an older commit says that it is one."""
    facts = hit.facts
    pull = reads.pull(_repository(svc, hit), hit.pull)
    return line.Red(
        key=hit.site_key,
        test=facts["test"],
        head_sha=hit.head_sha,
        job_url=facts["job_url"],
        values=tuple(map(float, facts["values"])),
        bound=facts["bound"],
        bound_name=facts["bound_name"],
        current_head=pull.head_sha if pull else None,
        fork=facts["fork"],
    )


def verdict_for_others(known: Investigation) -> line.Verdict:
    """As it was stored when the investigation ended, whatever the judge would say of the readings today."""
    stored: Mapping[str, Any] = known.verdict or {}
    numbers, facts = stored.get("numbers", {}), known.facts
    ratio = numbers.get("ratio")
    change = numbers.get("change_point") or {}
    return line.Verdict(
        pull=_comment_of(known),
        kind=VerdictKind(stored["kind"]),
        head_sha=known.head_sha,
        base_sha=known.base_sha,
        day=f"{known.finished_at or known.created_at:%Y-%m-%d}",
        rates={arm: Exceedance(**rate) for arm, rate in numbers.get("exceedance", {}).items()},
        ratio=None if ratio is None else _ratio(ratio),
        min_detectable_ratio=_number(numbers.get("min_detectable_ratio")),
        since=change.get("first_after"),
        evidence=EvidenceLinks(**facts["evidence"]) if facts.get("evidence") else None,
        proposal=PullLink(**facts["proposal"]) if facts.get("proposal") else None,
    )


def _comment_of(investigation: Investigation) -> PullLink:
    """Its comment, or the pull request before there is one."""
    facts = investigation.facts
    pull = f"{facts['server_url']}/{investigation.repo}/pull/{investigation.pull}"
    return PullLink(investigation.pull, facts.get("comment_url") or pull)


def _tell(svc: Services, hit: Hit, body: str) -> None:
    try:
        writes.upsert_comment(
            _repository(svc, hit),
            hit.pull,
            marker=comment.marker_prefix(hit.site_key),
            author=svc.installations.login(),
            body=body,
        )
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.warning("no comment on #%d of %s", hit.pull, hit.repo, exc_info=True)
        sentence = f"GitHub refused the comment (HTTP {refused.status})."
        svc.store.note(hit.repo, f"pull {hit.pull}", "comment_refused", sentence)


def _repository(svc: Services, hit: Hit) -> Repository:
    return svc.repository_at(hit.event["installation"], hit.repo)


def _ratio(stored: Mapping[str, Any]) -> Ratio:
    """Infinite ends travel as text."""
    low, high = float(stored["low"]), float(stored["high"])
    return Ratio(float(stored["estimate"]), low, high, float(stored["confidence"]), stored["method"])


def _number(stored: Any) -> float | None:
    return None if stored is None else float(stored)
