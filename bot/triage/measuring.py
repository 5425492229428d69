"""Measuring steps: what the judge still wants, the rerun that gets it, and what came back."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bot.github.actions import Actions
from bot.store import Investigation, Rerun
from bot.store.tables import utcnow
from bot.triage.opening import CONFIG_PATH
from bot.triage.services import Services
from bot.verdict import (
    ArmPlan,
    Context,
    Evidence,
    Numbers,
    Policy,
    Reading,
    Refusal,
    Verdict,
    VerdictKind,
    decide,
)
from rules import PackErrors, RepositoryConfig, repository_pack
from runners.fleets.fleet import Fleet, State, Ticket, with_lost
from runners.fleets.github_actions import GitHubActionsFleet
from runners.plan import MAX_LAUNCHES, MAX_REPEATS, RerunPlan, balanced_order

log = logging.getLogger(__name__)

COOLING_DAYS: Final = 90
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
            readings, threshold=bound_of(investigation), context=_context(svc, investigation)
        )
    except ValueError as error:  # readings that do not fit together: no retry would mend them
        sentence = f"The readings of the red job and of the reruns do not fit together ({error})."
        return Verdict(VerdictKind.REFUSED, "readings_do_not_fit", sentence, Numbers()), readings
    return decide(evidence, policy_of(config_of(investigation))), readings


def bound_of(investigation: Investigation) -> float | None:
    """The source at the failing commit is the truth; a log can state a stale bound."""
    site = investigation.facts["site"]
    value = site["value"] if site else investigation.facts["threshold"]
    return None if value is None else float(value)


def policy_of(config: RepositoryConfig) -> Policy:
    """The judge's constants with this repository's costs."""
    pack = config.pack
    policy = replace(
        Policy(),
        launch_minutes=pack.launch_minutes,
        repeat_minutes=pack.repeat_minutes,
        exact_gate=pack.exact_gate,
    )
    return policy if config.budget_minutes is None else replace(policy, budget_minutes=config.budget_minutes)


def _context(svc: Services, investigation: Investigation) -> Context:
    site = investigation.facts["site"]
    ledger = svc.store.bumps(investigation.repo, investigation.site_key)
    return Context(
        siblings=tuple(float(s["value"]) for s in site["siblings"]) if site else (),
        first_bound=ledger[0].old if ledger else None,
        bump_refusal=_bump_refusal(svc, investigation),
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
    told = [found.verdict["kind"] for found in svc.store.earlier(investigation.id) if found.verdict]
    # Lost runs said nothing about the code, so only they may be asked for again without a mark.
    if any(kind not in (VerdictKind.NOISE, VerdictKind.INFRA) for kind in told):
        sentence = f"This commit was judged before ({told[-1]}); asking again does not make it noise."
        return Refusal("asked_again", sentence)
    recent = svc.store.bumped_since(
        investigation.repo, investigation.site_key, COOLING_DAYS, investigation.created_at
    )
    if recent is not None and recent.investigation != investigation.id:
        sentence = f"A bump of this bound was proposed in #{recent.pull}, within {COOLING_DAYS} days."
        return Refusal("cooling", sentence)
    return None


def wants_runs(svc: Services, key: str) -> bool:
    verdict, _ = verdict_of(svc, svc.store.investigation(key))
    log.info("%s: %s (%s)", key, verdict.kind, verdict.reason)
    return verdict.next is not None


def plan(svc: Services, key: str, number: int) -> str:
    """Writes down the next rerun and returns its request id, which the run carries in its name."""
    investigation = svc.store.investigation(key)
    verdict, _ = verdict_of(svc, investigation)
    wanted = verdict.next.arms if verdict.next is not None else {}
    pack = config_of(investigation).pack
    request = f"{key}-r{number}"
    arms = {arm: _capped(wanted[arm]) for arm in ("head", "base") if arm in wanted}
    document = RerunPlan(
        request=request,
        test=investigation.test,
        commits={"head": investigation.head_sha, "base": investigation.base_sha},
        launches=balanced_order(
            {arm: want.launches for arm, want in arms.items()},
            {arm: want.repeats for arm, want in arms.items()},
        ),
        compare=pack.compare,
        python_path=pack.python_path,
        launch_timeout_s=pack.launch_timeout_minutes * 60,
    )
    svc.store.plan_rerun(
        request, key, {"json": document.to_json(), "runner": config_of(investigation).runner}
    )
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


def _capped(want: ArmPlan) -> ArmPlan:
    return ArmPlan(min(want.launches, MAX_LAUNCHES // 2), min(want.repeats, MAX_REPEATS))


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
