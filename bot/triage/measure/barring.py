"""What bars a bump whatever the readings say, and what else the judge is told beside them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from bot.report.overview import is_barred, verdict_label
from bot.store import Investigation
from bot.store.store import SETTLED
from bot.triage.configured import config_of
from bot.triage.measure import ledger
from bot.triage.measure.halting import halted
from bot.triage.measure.ledger import UNREADABLE
from bot.triage.measure.restraint import COOLING_DAYS, other_bound
from bot.triage.red.fanin import AGAINST
from bot.triage.services import Services
from bot.verdict import Context, Reading, Refusal, VerdictKind

FAULTS: Final = AGAINST | {VerdictKind.OLD_REGRESSION}
"""Verdicts after which noise on another commit of the pull request moves no bound."""
A_WEEK: Final = timedelta(days=7)


def bound_of(investigation: Investigation) -> float | None:
    """The source at the failing commit is the truth; a log can state a stale bound."""
    site = investigation.facts["site"]
    value = site["value"] if site else investigation.facts["threshold"]
    return None if value is None else float(value)


def context(svc: Services, investigation: Investigation, readings: Sequence[Reading]) -> Context:
    """Once the investigation is settled, what the judge was told then."""
    told = investigation.facts.get(SETTLED)
    if told is not None:
        barred = told["bump_refusal"]
        return Context(
            siblings=tuple(told["siblings"]),
            first_bound=told["first_bound"],
            bump_refusal=None if barred is None else Refusal(**barred),
        )
    site = investigation.facts["site"]
    bumps = svc.store.bumps(investigation.repo, investigation.site_key)
    # The file's history knows moves by people too, the table bumps from before a history that was cut.
    firsts = [ledger.first_bound(investigation.facts), bumps[0].old if bumps else None]
    return Context(
        siblings=tuple(float(s["value"]) for s in site["siblings"]) if site else (),
        first_bound=min((first for first in firsts if first), default=None),
        bump_refusal=other_bound(readings, bound_of(investigation)) or bump_refusal(svc, investigation),
    )


def bump_refusal(svc: Services, investigation: Investigation) -> Refusal | None:
    """Why no bound may move because of this investigation, whatever the readings say."""
    facts = investigation.facts
    if facts["bump_refusal"]:
        return Refusal(**facts["bump_refusal"])
    if facts["also_red"]:
        others = ", ".join(test.rpartition(".")[2] for test in facts["also_red"])
        return Refusal(
            "other_red_tests", f"The same bound was exceeded in {others} too, which was not measured."
        )
    earlier = [found for found in svc.store.earlier(investigation.id) if found.verdict]
    against = [found for found in earlier if not _may_be_asked_again(found)]
    if against:
        return Refusal("asked_again", f"{_before(against[-1])}.")
    by_itself = sorted(
        {found.test.rpartition(".")[2] for found in earlier if found.test != investigation.test}
    )
    if by_itself:
        sentence = f"The same bound was exceeded in {by_itself[0]} too, which was measured by itself."
        return Refusal("other_red_tests", sentence)
    return _faulty_before(svc, investigation) or ledger.refusal(facts) or _proposed_lately(svc, investigation)


def _faulty_before(svc: Services, investigation: Investigation) -> Refusal | None:
    """Another commit of the same pull request was shown to be at fault: an empty commit does not mend it."""
    since = investigation.created_at - _remembered(investigation)
    for found in svc.store.ended_on(investigation.repo, investigation.site_key):
        ended = found.finished_at or found.created_at
        kind = (found.verdict or {}).get("kind")
        if found.pull == investigation.pull and kind in FAULTS and since <= ended <= investigation.created_at:
            return Refusal(
                "faulty_before",
                f"Commit {found.head_sha[:7]} of this pull request was judged {kind} on {ended:%Y-%m-%d}; "
                "another commit does not make it noise, so only a person may move the bound.",
            )
    return None


def _remembered(investigation: Investigation) -> timedelta:
    """As long as verdicts answer others here, and not shorter where they answer nobody."""
    return max(timedelta(days=config_of(investigation).known_days), A_WEEK)


def _proposed_lately(svc: Services, investigation: Investigation) -> Refusal | None:
    """What the bot's own table knows, also before GitHub was asked."""
    recent = svc.store.bumped_since(
        investigation.repo, investigation.site_key, COOLING_DAYS, investigation.created_at
    )
    if recent is None or recent.investigation == investigation.id:
        return None
    outcome = svc.store.outcomes(investigation.repo).get(recent.pull)
    if outcome is not None and outcome.state in ("open", "given_up"):
        return None  # GitHub was asked: an open one takes another value, or was objected to by the ledger
    where = f"{investigation.facts['server_url']}/{investigation.repo}/pull/{recent.pull}"
    told = f"A bump of this bound was proposed in #{recent.pull} on {recent.proposed_at:%Y-%m-%d} ({where})"
    return Refusal("cooling", f"{told}, within {COOLING_DAYS} days.")


def _before(earlier: Investigation) -> str:
    verdict = earlier.verdict or {}
    if halted(earlier.facts):
        runs = verdict.get("numbers", {}).get("runs", {})
        seen = sum(runs.get(arm, {}).get("ok", 0) for arm in ("head", "base"))
        return f"A measurement of this commit was stopped after {seen} run{'s' if seen != 1 else ''} before"
    return f"This commit was judged {verdict_label(verdict)} before"


def _may_be_asked_again(earlier: Investigation) -> bool:
    """Lost runs, an unread history and an end before the first run said nothing about the code, and noise
    that moved no bound is noise."""
    verdict = earlier.verdict or {}
    runs = verdict.get("numbers", {}).get("runs", {})
    if halted(earlier.facts) and not any(runs.get(arm, {}).get("ok") for arm in ("head", "base")):
        return True
    if verdict["kind"] in (VerdictKind.NOISE, VerdictKind.INFRA) or verdict.get("reason") == UNREADABLE:
        return True
    return is_barred(verdict)
