"""What bars a bump whatever the readings say, and what else the judge is told beside them."""

from __future__ import annotations

from collections.abc import Sequence

from bot.store import Investigation
from bot.triage import ledger
from bot.triage.halting import halted
from bot.triage.ledger import UNREADABLE
from bot.triage.restraint import COOLING_DAYS, other_bound
from bot.triage.services import Services
from bot.verdict import Context, Reading, Refusal, VerdictKind


def bound_of(investigation: Investigation) -> float | None:
    """The source at the failing commit is the truth; a log can state a stale bound."""
    site = investigation.facts["site"]
    value = site["value"] if site else investigation.facts["threshold"]
    return None if value is None else float(value)


def context(svc: Services, investigation: Investigation, readings: Sequence[Reading]) -> Context:
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
    against = [(found.verdict or {})["kind"] for found in earlier if not _may_be_asked_again(found)]
    if against:
        kind = against[-1]
        sentence = f"This commit was judged before ({kind}); asking again does not make it noise."
        return Refusal("asked_again", sentence)
    return ledger.refusal(facts) or _proposed_lately(svc, investigation)


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


def _may_be_asked_again(earlier: Investigation) -> bool:
    """Lost runs, an unread history and an end before the first run said nothing about the code."""
    verdict = earlier.verdict or {}
    runs = verdict.get("numbers", {}).get("runs", {})
    if halted(earlier.facts) and not any(runs.get(arm, {}).get("ok") for arm in ("head", "base")):
        return True
    return verdict["kind"] in (VerdictKind.NOISE, VerdictKind.INFRA) or verdict.get("reason") == UNREADABLE
