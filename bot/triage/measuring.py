"""Measuring steps: what the judge still wants, the rerun that gets it, and what came back."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from bot.github.actions import Actions
from bot.store import Investigation, Rerun
from bot.store.base import utcnow
from bot.triage import ledger
from bot.triage.ledger import UNREADABLE
from bot.triage.opening import CONFIG_PATH
from bot.triage.plans import plan_of, policy_of
from bot.triage.restraint import COOLING_DAYS, other_bound
from bot.triage.services import Services
from bot.verdict import (
    ArmPlan,
    Context,
    Evidence,
    Numbers,
    Reading,
    Refusal,
    Verdict,
    VerdictKind,
    decide,
)
from rules import PackErrors, RepositoryConfig, repository_pack
from runners.fleets.fleet import Fleet, State, Ticket, with_lost
from runners.fleets.github_actions import GitHubActionsFleet
from runners.plan import RerunPlan

log = logging.getLogger(__name__)

APPEARS_WITHIN: Final = timedelta(minutes=2)
PLANNED: Final = "planned"
SENDING: Final = "sending"
REFUSED: Final = "refused"


def config_of(investigation: Investigation) -> RepositoryConfig:
    """The settings in force when the investigation was opened; they were read without error then."""
    config = repository_pack(investigation.facts["config"], CONFIG_PATH)
    if isinstance(config, PackErrors):
        raise RuntimeError(f"stored settings of {investigation.id} no longer parse")
    return config.model_copy(update={"runner": investigation.facts.get("runner", config.runner)})


def verdict_of(svc: Services, investigation: Investigation) -> tuple[Verdict, list[Reading]]:
    """Judges all readings there are; pure apart from reading the store, so every step may ask."""
    readings = [Reading.from_record(record) for record in svc.store.records(investigation.id)]
    try:
        evidence = Evidence.from_records(
            readings, threshold=bound_of(investigation), context=_context(svc, investigation, readings)
        )
    except ValueError as error:  # readings that do not fit together: no retry would mend them
        sentence = f"The readings of the red job and of the reruns do not fit together ({error})."
        return Verdict(VerdictKind.REFUSED, "readings_do_not_fit", sentence, Numbers()), readings
    config = config_of(investigation)
    verdict = decide(evidence, policy_of(config.pack, config.budget_minutes))
    document = None if verdict.next is None else _document(investigation, config, verdict.next.arms, "r")
    if isinstance(document, Refusal):
        return Verdict(VerdictKind.REFUSED, document.code, document.sentence, verdict.numbers), readings
    return verdict, readings


def bound_of(investigation: Investigation) -> float | None:
    """The source at the failing commit is the truth; a log can state a stale bound."""
    site = investigation.facts["site"]
    value = site["value"] if site else investigation.facts["threshold"]
    return None if value is None else float(value)


def _context(svc: Services, investigation: Investigation, readings: Sequence[Reading]) -> Context:
    site = investigation.facts["site"]
    bumps = svc.store.bumps(investigation.repo, investigation.site_key)
    # The file's history knows moves by people too, the table bumps from before a history that was cut.
    firsts = [ledger.first_bound(investigation.facts), bumps[0].old if bumps else None]
    return Context(
        siblings=tuple(float(s["value"]) for s in site["siblings"]) if site else (),
        first_bound=min((first for first in firsts if first), default=None),
        bump_refusal=other_bound(readings, bound_of(investigation)) or _bump_refusal(svc, investigation),
    )


def _bump_refusal(svc: Services, investigation: Investigation) -> Refusal | None:
    """Why no bound may move because of this investigation, whatever the readings say."""
    facts = investigation.facts
    if facts["bump_refusal"]:
        return Refusal(**facts["bump_refusal"])
    if facts["also_red"]:
        others = ", ".join(test.rpartition(".")[2] for test in facts["also_red"])
        return Refusal(
            "other_red_tests", f"The same bound was exceeded in {others} too, which was not measured."
        )
    earlier = [found.verdict for found in svc.store.earlier(investigation.id) if found.verdict]
    if not all(map(_may_be_asked_again, earlier)):
        kind = earlier[-1]["kind"]
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
    where = f"{investigation.facts['server_url']}/{investigation.repo}/pull/{recent.pull}"
    told = f"A bump of this bound was proposed in #{recent.pull} on {recent.proposed_at:%Y-%m-%d} ({where})"
    return Refusal("cooling", f"{told}, within {COOLING_DAYS} days.")


def _may_be_asked_again(verdict: Mapping[str, Any]) -> bool:
    """Lost runs and an unread history said nothing about the code."""
    return verdict["kind"] in (VerdictKind.NOISE, VerdictKind.INFRA) or verdict.get("reason") == UNREADABLE


def wants_runs(svc: Services, key: str) -> bool:
    """Once nothing more is wanted the ledger is read and the judge asked again: it may bar the bump."""
    investigation = svc.store.investigation(key)
    verdict, _ = verdict_of(svc, investigation)
    if verdict.next is None:
        ledger.remember(svc, investigation, config_of(investigation).pack)
        verdict, _ = verdict_of(svc, svc.store.investigation(key))
    log.info("%s: %s (%s)", key, verdict.kind, verdict.reason)
    return verdict.next is not None


def plan(svc: Services, key: str, number: int) -> str:
    """Writes down the next rerun and returns its request id, which the run carries in its name."""
    investigation = svc.store.investigation(key)
    verdict, _ = verdict_of(svc, investigation)
    wanted = verdict.next.arms if verdict.next is not None else {}
    config = config_of(investigation)
    request = f"{key}-r{number}"
    document = _document(investigation, config, wanted, request)
    if isinstance(document, Refusal):  # wants_runs said no to it already
        raise RuntimeError(document.sentence)
    svc.store.plan_rerun(request, key, {"json": document.to_json(), "runner": config.runner})
    return request


def dispatch(svc: Services, request: str) -> bool:
    """Sends the rerun out, or finds the run that carries this request; False: it could not be sent."""
    rerun = _rerun(svc, request)
    if rerun.run_id is not None or rerun.state == REFUSED:
        return rerun.run_id is not None
    # Written before the write: a step that runs again knows that the dispatch may be out already.
    svc.store.update_rerun(request, state=SENDING)
    ticket = _fleet(svc, rerun).dispatch(_plan(rerun), maybe_sent=rerun.state != PLANNED)
    if isinstance(ticket, Refusal):
        svc.store.update_rerun(request, state=REFUSED, trouble=ticket.sentence)
        return False
    svc.store.update_rerun(request, state=State.QUEUED, run_id=_run_id(ticket), url=ticket.url)
    return True


def progress(svc: Services, request: str) -> str:
    """'queued' or 'running'; 'finished' or 'lost' when nothing more will come."""
    rerun = _rerun(svc, request)
    seen = _fleet(svc, rerun).progress(_ticket(rerun))
    state = seen.state
    if state is State.LOST and utcnow() - rerun.created_at < APPEARS_WITHIN:
        state = State.QUEUED  # GitHub gave the id but does not show the run yet
    if (state, seen.url) != (rerun.state, rerun.url):
        svc.store.update_rerun(request, state=str(state), url=seen.url or rerun.url)
    return str(state)


def limits(svc: Services) -> dict[str, float]:
    """Seconds between polls, and how long a rerun may be queued or run; fixed when the waiting begins."""
    settings = svc.settings
    return {"poll": settings.poll_s, "queued": settings.queue_deadline_s, "running": settings.run_deadline_s}


def cancel_open_reruns(svc: Services, key: str) -> None:
    """When an investigation is given up, nothing of it goes on costing GPU time."""
    for rerun in svc.store.reruns(key):
        if rerun.state in (SENDING, State.QUEUED, State.RUNNING):
            _fleet(svc, rerun).cancel(_ticket(rerun))


def planned(rerun: Rerun) -> int:
    """Readings that a rerun was asked for."""
    return _plan(rerun).planned


def give_up(svc: Services, request: str, state: str) -> None:
    """A deadline passed: end the run ourselves and say which runner it waited for."""
    rerun = _rerun(svc, request)
    _fleet(svc, rerun).cancel(_ticket(rerun))
    label = rerun.plan["runner"]
    trouble = (
        f"no runner with the label '{label}' took the job in time"
        if state == State.QUEUED
        else f"the job did not end in time on the runner with the label '{label}'"
    )
    svc.store.update_rerun(request, trouble=trouble)


def collect(svc: Services, request: str) -> int:
    """Stores what the run measured; planned repeats that did not come back are stored as lost."""
    rerun = _rerun(svc, request)
    if rerun.state == REFUSED:
        readings = with_lost(_plan(rerun), (), rerun.trouble or "the rerun could not be started")
        trouble = rerun.trouble
    else:
        collected = _fleet(svc, rerun).collect(_ticket(rerun))
        readings, trouble = collected.readings, rerun.trouble or collected.missing
    source = rerun.url or request
    svc.store.add_readings(
        rerun.investigation, request, (replace(reading, source=source).as_record() for reading in readings)
    )
    svc.store.update_rerun(request, state=str(State.FINISHED), trouble=trouble)
    return len(readings)


def finish(svc: Services, key: str) -> str:
    """Closes the investigation with its verdict."""
    verdict, _ = verdict_of(svc, svc.store.investigation(key))
    svc.store.finish(key, verdict.as_dict())
    return str(verdict.kind)


def _document(
    investigation: Investigation, config: RepositoryConfig, wanted: Mapping[str, ArmPlan], request: str
) -> RerunPlan | Refusal:
    commits = {"head": investigation.head_sha, "base": investigation.base_sha}
    return plan_of(config.pack, request=request, test=investigation.test, commits=commits, wanted=wanted)


def _rerun(svc: Services, request: str) -> Rerun:
    found = svc.store.rerun(request)
    if found is None:
        raise KeyError(request)
    return found


def _plan(rerun: Rerun) -> RerunPlan:
    return RerunPlan.from_json(rerun.plan["json"])


def _ticket(rerun: Rerun) -> Ticket:
    return Ticket(_plan(rerun), None if rerun.run_id is None else str(rerun.run_id), rerun.url)


def _run_id(ticket: Ticket) -> int | None:
    return None if ticket.handle is None else int(ticket.handle)


def _fleet(svc: Services, rerun: Rerun) -> Fleet:
    investigation = svc.store.investigation(rerun.investigation)
    api = Actions(svc.repository(investigation))
    return GitHubActionsFleet(api, ref=investigation.facts["default_branch"], runner=rerun.plan["runner"])
