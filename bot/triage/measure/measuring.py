"""Measuring steps: what the judge still wants, the rerun that gets it, and what came back."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Final

from github import GithubException

from bot.github.actions import Actions
from bot.github.patience import limited_until
from bot.store import Investigation, Rerun
from bot.store.base import utcnow
from bot.triage.configured import config_of
from bot.triage.measure import barring, budget, halting, ledger
from bot.triage.measure.plans import as_asked, plan_of, policy_of
from bot.triage.services import Services
from bot.verdict import (
    ArmPlan,
    Evidence,
    Numbers,
    Plan,
    Policy,
    Reading,
    Refusal,
    Verdict,
    VerdictKind,
    decide,
)
from rules import RepositoryConfig
from runners.fleets.fleet import Fleet, State, Ticket, with_lost
from runners.fleets.github_actions import GitHubActionsFleet
from runners.plan import RerunPlan

log = logging.getLogger(__name__)

APPEARS_WITHIN: Final = timedelta(minutes=2)
"""GitHub told the id of a run and does not show it before."""
STARTS_WITHIN: Final = timedelta(minutes=10)
"""A dispatch that nothing was seen of by then has started nothing."""
NOT_STARTED: Final = "GitHub answered the dispatch with an error and started no run"
PLANNED: Final = "planned"
SENDING: Final = "sending"
REFUSED: Final = "refused"
LEFT: Final = "left"
"""It was collected, and its run was not seen to end."""
OUT: Final = (SENDING, State.QUEUED, State.RUNNING, State.LOST, LEFT)
"""A run of it may be going on."""


def verdict_of(svc: Services, investigation: Investigation) -> tuple[Verdict, list[Reading]]:
    """Judges all readings there are; pure apart from reading the store, so every step may ask. An
    investigation that was halted, or whose verdict was withdrawn, has the reason for a verdict, beside the
    numbers so far."""
    readings = [Reading.from_record(record) for record in svc.store.records(investigation.id)]
    verdict = _judged(svc, investigation, readings)
    stopped = halting.halted(investigation.facts) or _withdrawn(investigation)
    if stopped is not None:
        return Verdict(VerdictKind.REFUSED, stopped.code, stopped.sentence, verdict.numbers), readings
    return verdict, readings


def _withdrawn(investigation: Investigation) -> Refusal | None:
    """A later job of the commit showed more than what was measured covers."""
    outrun = investigation.facts.get("outrun")
    return None if outrun is None else Refusal(outrun["code"], outrun["sentence"])


def _judged(svc: Services, investigation: Investigation, readings: Sequence[Reading]) -> Verdict:
    try:
        evidence = Evidence.from_records(
            readings,
            threshold=barring.bound_of(investigation),
            context=barring.context(svc, investigation, readings),
        )
    except ValueError as error:  # readings that do not fit together: no retry would mend them
        sentence = f"The readings of the red job and of the reruns do not fit together ({error})."
        return Verdict(VerdictKind.REFUSED, "readings_do_not_fit", sentence, Numbers())
    config = config_of(investigation)
    verdict = decide(evidence, policy_of_case(investigation))
    document = None if verdict.next is None else _document(investigation, config, verdict.next.arms, "r")
    if isinstance(document, Refusal):
        return Verdict(VerdictKind.REFUSED, document.code, document.sentence, verdict.numbers)
    return verdict


def wants_runs(svc: Services, key: str) -> bool:
    """Once nothing more is wanted the ledger is read and the judge asked again: it may bar the bump."""
    investigation = svc.store.investigation(key)
    verdict, _ = verdict_of(svc, investigation)
    if verdict.next is None:
        ledger.remember(svc, investigation, config_of(investigation).pack)
        verdict, _ = verdict_of(svc, svc.store.investigation(key))
    log.info("%s: %s (%s)", key, verdict.kind, verdict.reason)
    return verdict.next is not None


def settle(svc: Services, key: str) -> str:
    """From here on the verdict stays what it is, so that all that is told and proposed is of one verdict; the
    code of what halted it, "" where nothing did."""
    investigation = svc.store.investigation(key)
    readings = [Reading.from_record(record) for record in svc.store.records(key)]
    svc.store.settle(key, asdict(barring.context(svc, investigation, readings)))
    stopped = halting.halted(svc.store.investigation(key).facts)
    return "" if stopped is None else stopped.code


def plan(svc: Services, key: str, number: int) -> str:
    """Writes down the next rerun and returns its request id, which the run carries in its name."""
    investigation = svc.store.investigation(key)
    verdict, _ = verdict_of(svc, investigation)
    wanted = verdict.next or Plan({})
    if number == 0:
        wanted = first_round(investigation, wanted)
    config = config_of(investigation)
    request = f"{key}-r{number}"
    document = _document(investigation, config, wanted.arms, request)
    if isinstance(document, Refusal):  # wants_runs said no to it already
        raise RuntimeError(document.sentence)
    minutes = budget.estimate(document, config.pack)
    svc.store.plan_rerun(
        request, key, {"json": document.to_json(), "runner": config.runner, "minutes": minutes}
    )
    return request


def first_round(investigation: Investigation, wanted: Plan) -> Plan:
    """What the judge wants, as the person who asked for the measurement wanted it."""
    asked = investigation.facts.get("asked") or {}
    policy = policy_of_case(investigation)
    return Plan(as_asked(wanted.arms, runs=asked.get("runs"), launches=asked.get("launches"), policy=policy))


def policy_of_case(investigation: Investigation) -> Policy:
    config = config_of(investigation)
    return policy_of(config.pack, config.budget_minutes)


def dispatch(svc: Services, request: str) -> bool:
    """Sends the rerun out, or finds the run that carries this request; False: it could not be sent."""
    rerun = _rerun(svc, request)
    if rerun.run_id is not None or rerun.state == REFUSED:
        return rerun.run_id is not None
    held = _held(svc, rerun)
    if held is not None:
        halting.halt(svc, rerun.investigation, held)
        if rerun.state != PLANNED:
            return True  # it may be out: whoever waits for it cancels it once it is seen
        _refuse(svc, rerun, held)
        return False
    # Written before the write: a step that runs again knows that the dispatch may be out already.
    svc.store.update_rerun(request, state=SENDING, sent_at=utcnow())
    ticket = _fleet(svc, rerun).dispatch(_plan(rerun), maybe_sent=rerun.state != PLANNED)
    if isinstance(ticket, Refusal):
        _refuse(svc, rerun, ticket)
        return False
    svc.store.update_rerun(request, state=State.QUEUED, run_id=_run_id(ticket), url=ticket.url)
    return True


def _held(svc: Services, rerun: Rerun) -> Refusal | None:
    """Why the rerun is not sent, as GitHub and the day's budget are right before it would be."""
    investigation = svc.store.investigation(rerun.investigation)
    config = halting.allowed(svc, investigation)
    if isinstance(config, Refusal):
        return config
    return budget.of_today(svc, investigation.repo, rerun, config.budget_minutes_per_day)


def _refuse(svc: Services, rerun: Rerun, why: Refusal) -> None:
    """What never ran costs nothing."""
    plan = {**rerun.plan, "minutes": 0.0}
    svc.store.update_rerun(rerun.request, state=REFUSED, trouble=why.sentence, plan=plan)


def progress(svc: Services, request: str) -> str:
    """'queued' or 'running'; 'finished' or 'lost' when nothing more will come. What is lost is cancelled
    all the same."""
    rerun = _rerun(svc, request)
    seen = _fleet(svc, rerun).progress(_ticket(rerun))
    state, trouble = seen.state, rerun.trouble
    waited = utcnow() - (rerun.sent_at or rerun.created_at)
    if state is State.LOST and waited < APPEARS_WITHIN:
        state = State.QUEUED
    elif rerun.run_id is None and seen.url is None and waited >= STARTS_WITHIN:
        state, trouble = State.LOST, trouble or NOT_STARTED
    if state is State.LOST:
        cancel(svc, request)
    if (state, seen.url) != (rerun.state, rerun.url):
        svc.store.update_rerun(request, state=str(state), url=seen.url or rerun.url, trouble=trouble)
    return str(state)


def limits(svc: Services) -> dict[str, float]:
    """Seconds between polls, and how long a rerun may be queued or run; fixed when the waiting begins."""
    settings = svc.settings
    return {"poll": settings.poll_s, "queued": settings.queue_deadline_s, "running": settings.run_deadline_s}


def cancel_open_reruns(svc: Services, key: str) -> None:
    """When an investigation is given up, nothing of it goes on costing GPU time."""
    for rerun in svc.store.reruns(key):
        if rerun.state in OUT:
            cancel(svc, rerun.request)


def cancel(svc: Services, request: str) -> None:
    """Asks for the end of a rerun that is out. Where GitHub refuses that, who waits for it asks again, and
    then the sweep. Raises for a spent rate limit."""
    rerun = _rerun(svc, request)
    try:
        _fleet(svc, rerun).cancel(_ticket(rerun))
    except GithubException as error:
        if limited_until(error, utcnow()) is not None:
            raise
        log.warning("%s could not be cancelled", request, exc_info=True)


def planned(rerun: Rerun) -> int:
    """Readings that a rerun was asked for."""
    return _plan(rerun).planned


def give_up(svc: Services, request: str, state: str) -> None:
    """A deadline passed: end the run ourselves and say which runner it waited for."""
    rerun = _rerun(svc, request)
    cancel(svc, request)
    label = rerun.plan["runner"]
    if state != State.QUEUED:
        trouble = f"the job did not end in time on the runner with the label '{label}'"
    elif rerun.run_id is None and rerun.url is None:
        trouble = NOT_STARTED
    else:
        trouble = f"no runner with the label '{label}' took the job in time"
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
    plan = rerun.plan
    if rerun.state != REFUSED:
        pack = config_of(svc.store.investigation(rerun.investigation)).pack
        plan = {**plan, "minutes": budget.taken(_plan(rerun), readings, pack)}
    state = State.FINISHED if rerun.state in (REFUSED, State.FINISHED) else LEFT
    svc.store.update_rerun(request, state=str(state), trouble=trouble, plan=plan)
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
