"""The case file: what the texts need to know about an investigation, gathered from the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot import __version__
from bot.report import line
from bot.report.facts import BoundMove, Case, EvidenceLinks, Ledger, PullLink, RedTest, Touched
from bot.report.overview import verdict_label
from bot.source import Site
from bot.store import Investigation, Rerun
from bot.triage.configured import config_of
from bot.triage.measure.barring import bound_of
from bot.triage.measure.ledger import expires
from bot.triage.measure.measuring import planned, policy_of_case
from bot.triage.measure.restraint import COOLING_DAYS
from bot.triage.services import Services
from bot.verdict import Arm, Reading


def case_file(svc: Services, investigation: Investigation, *, gpu_minutes: float | None = None) -> Case:
    """Reads the store only; addresses are those GitHub gave."""
    facts, reruns = investigation.facts, svc.store.reruns(investigation.id)
    config = config_of(investigation)
    readings = [Reading.from_record(record) for record in svc.store.records(investigation.id)]
    measured = [reading for reading in readings if reading.arm in (Arm.HEAD, Arm.BASE)]
    evidence, proposal = facts.get("evidence"), facts.get("proposal")
    hit = svc.store.hit(investigation.repo, investigation.site_key, investigation.pull)
    return Case(
        key=investigation.site_key,
        repo=investigation.repo,
        test=investigation.test,
        head_sha=investigation.head_sha,
        base_sha=investigation.base_sha,
        bot_version=__version__,
        bound=bound_of(investigation),
        attribute=facts["site"]["attribute"] if facts["site"] else None,
        site=_site(investigation),
        pull=investigation.pull,
        current_head=facts.get("current_head"),
        default_branch=facts["default_branch"],
        server_url=facts["server_url"],
        job_url=investigation.job_url,
        run_urls=tuple(rerun.url for rerun in reruns if rerun.url),
        runner=config.runner,
        hosts=_named(reading.host for reading in measured),
        gpus=_named(reading.gpu for reading in measured),
        runs_done=sum(1 for reading in measured if reading.status == "ok"),
        runs_planned=sum(map(planned, reruns)),
        rounds=len(reruns),
        gpu_minutes=gpu_minutes,
        budget_minutes=policy_of_case(investigation).budget_minutes,
        rules=config.pack.name,
        evidence=EvidenceLinks(**evidence) if evidence else None,
        no_evidence_because=facts.get("evidence_refusal"),
        proposal_pull=PullLink(**proposal) if proposal else None,
        also_red=tuple(RedTest(test) for test in facts["also_red"]),
        not_measured=(*_troubles(reruns), *_red_again(investigation)),
        no_pull_because=facts.get("proposal_refusal"),
        from_fork=bool(hit and hit.facts.get("fork")),
        stopped_in=facts.get("stopped_in"),
        earlier=_earlier(svc, investigation),
        open_bump=_open_bump(svc, investigation),
        declined_for_days=COOLING_DAYS,
        ledger=_ledger(investigation),
        expires=f"{expires(investigation):%Y-%m-%d}",
    )


def _earlier(svc: Services, investigation: Investigation) -> str | None:
    """The newest verdict on this commit before this one."""
    judged = [found.verdict for found in svc.store.earlier(investigation.id) if found.verdict]
    return verdict_label(judged[-1]) if judged else None


def _open_bump(svc: Services, investigation: Investigation) -> PullLink | None:
    """As the ledger knows it; GitHub is not asked."""
    outcomes = svc.store.outcomes(investigation.repo)
    for bump in reversed(svc.store.bumps(investigation.repo, investigation.site_key)):
        outcome = outcomes.get(bump.pull)
        if outcome is None or outcome.state == "open":
            url = f"{investigation.facts['server_url']}/{investigation.repo}/pull/{bump.pull}"
            return PullLink(bump.pull, url)
    return None


def _troubles(reruns: Iterable[Rerun]) -> Iterator[str]:
    return (f"Rerun {number}: {rerun.trouble}" for number, rerun in enumerate(reruns, 1) if rerun.trouble)


def _red_again(investigation: Investigation) -> Iterator[str]:
    """A newer commit of the same pull request, which this verdict answers too."""
    again = investigation.facts.get("red_again")
    if again:
        yield line.red_again(again["commit"], map(float, again["values"]), bound_of(investigation))


def _site(investigation: Investigation) -> Site | None:
    stored = investigation.facts["site"]
    return Site.from_stored(stored) if stored else None


def _ledger(investigation: Investigation) -> Ledger | None:
    stored = investigation.facts.get("ledger")
    if not stored:
        return None
    return Ledger(
        first=stored["first"],
        moves=tuple(BoundMove(**move) for move in stored["moves"]),
        versions=stored["versions"],
        complete=stored["complete"],
        touched=tuple(Touched(**commit) for commit in stored["touched"]),
    )


def _named(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))
