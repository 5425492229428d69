"""Opening steps: what a red job shows is placed site by site; ends in investigations, hits or a decision."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from bot.github import reads
from bot.source import Site
from bot.store import Hit, Investigation
from bot.triage.measure.restraint import unfit_path
from bot.triage.red import fanin, redjob
from bot.triage.red.comparable import Check, comparable
from bot.triage.red.placing import investigation_id, own_id, place
from bot.triage.red.redjob import RedRun
from bot.triage.red.sites import RedSite, sites_of
from bot.triage.services import Services
from bot.verdict import Refusal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """What a command asked for: keys only, runs, launches, base, runner. `suffix` tells its investigation
    apart; a job that went red by itself has neither, and one that finds that investigation opened by another
    job of the commit is no command any more."""

    suffix: str
    asked: Mapping[str, Any]
    commanded: bool


def open_investigations(
    svc: Services, event: Mapping[str, Any], suffix: str, asked: Mapping[str, Any] | None = None
) -> list[str]:
    """Places each site over its bound; returns the ids of the investigations to start.

    `asked`: {} or keys only (the Class.method), runs and launches (per arm), base (SHA), runner (label).
    """
    run = redjob.read(svc, event)
    if isinstance(run, Refusal):
        note(svc, event, run)
        return []
    order = Order(suffix, asked or {}, bool(suffix))
    reds, refusals = sites_of(run, order.asked.get("only"))
    for refusal in refusals:
        note(svc, event, refusal)
    return [key for red in reds if (key := _placed(svc, run, red, order))]


def reopen(svc: Services, hit: Hit) -> str | Refusal | None:
    """Opens the investigation of a pull request that waited in vain: its red job is read again."""
    run = redjob.read(svc, hit.event)
    if isinstance(run, Refusal):
        return run
    reds, _ = sites_of(run, hit.facts["asked"].get("only"))
    red = next((red for red in reds if red.key == hit.site_key), None)
    if red is None:
        return Refusal("site_gone", "The red job does not show this bound crossed when it is read again.")
    return _open(svc, run, red, hit, _unfit(run, red))


def note_failure(svc: Services, event: Mapping[str, Any]) -> None:
    """After GitHub or its log store failed for an hour."""
    note(
        svc,
        event,
        Refusal("unreadable", "The red job could not be read; /rerun-kl on the pull request asks again."),
    )


def note(svc: Services, event: Mapping[str, Any], refusal: Refusal) -> None:
    """One line in the log of decisions."""
    subject = f"job {event['job_id']}"
    log.info("%s %s: %s: %s", event["repo"], subject, refusal.code, refusal.sentence)
    svc.store.note(event["repo"], subject, refusal.code, refusal.sentence)


def _placed(svc: Services, run: RedRun, red: RedSite, order: Order) -> str:
    """The id of the investigation to start, '' where there is none."""
    unfit = _unfit(run, red)
    hit = _hit(run, red, _told_apart(svc, run, red, order), unfit)
    placed = place(svc, hit, run.config.known_days, lambda: _open(svc, run, red, hit, unfit))
    if not isinstance(placed, Refusal):
        return placed
    note(svc, run.event, replace(placed, sentence=f"{red.key}: {placed.sentence}"))
    return ""


def _hit(run: RedRun, red: RedSite, order: Order, unfit: Refusal | None) -> Hit:
    event, trigger = run.event, _trigger(run, red)
    return Hit(
        repo=event["repo"],
        site_key=red.key,
        pull=run.pull.number,
        head_sha=event["head_sha"],
        event=dict(event),
        facts={
            "test": red.test,
            "label": red.failure.label,
            "job_url": run.job_url,
            "trigger": trigger,
            "values": [record["value"] for record in trigger if record.get("value") is not None],
            "labels": sorted(run.labels),
            "runner": order.asked.get("runner") or red.runner,
            "bound": red.bound,
            "bound_name": red.site.attribute if isinstance(red.site, Site) else "the bound",
            "base_ref": run.pull.base_ref,
            "also_red": red.also_red,
            "unfit": unfit is not None,
            "fork": run.is_fork,
            "commanded": order.commanded,
            "suffix": order.suffix,
            "asked": dict(order.asked),
        },
    )


def _told_apart(svc: Services, run: RedRun, red: RedSite, order: Order) -> Order:
    """Where another job of the commit opened the investigation, this job's own would be another one."""
    event = run.event
    opened_by = svc.store.opened_by(investigation_id(event["repo"], red.key, event["head_sha"], order.suffix))
    if opened_by in (None, run.job_url):
        return order
    return Order(f"{order.suffix}-j{event['job_id']}", order.asked, commanded=False)


def _open(svc: Services, run: RedRun, red: RedSite, hit: Hit, unfit: Refusal | None) -> str | Refusal | None:
    """None: another investigation of the site is open, or was opened by another job of the commit."""
    base = hit.facts["asked"].get("base")
    base = base or reads.merge_base(run.repo, run.pull.base_ref, run.event["head_sha"])
    if base is None:
        sentence = f"The commit has none in common with {run.pull.base_ref}, so there is no base to measure."
        return Refusal("no_common_base", sentence)
    built = _investigation(run, red, hit, unfit, base)
    history = _history(svc, run, red, built.facts["runner"])
    return built.id if svc.store.open_investigation(built, hit.facts["trigger"], history) else None


def _investigation(run: RedRun, red: RedSite, hit: Hit, unfit: Refusal | None, base: str) -> Investigation:
    """`hit` may hold what other jobs of the commit showed too."""
    event, facts, asked = run.event, run.facts, hit.facts["asked"]
    runner = hit.facts["runner"]
    barred = (
        _not_to_be_edited(red.site) or unfit or _chosen(asked) or fanin.elsewhere(hit.facts["labels"], runner)
    )
    return Investigation(
        id=own_id(hit),
        repo=event["repo"],
        installation=event["installation"],
        pull=run.pull.number,
        test=red.test,
        site_key=red.key,
        head_sha=event["head_sha"],
        base_sha=base,
        job_url=run.job_url,
        facts={
            "config": run.config_text,
            "site": asdict(red.site) if isinstance(red.site, Site) else None,
            "bump_refusal": None if barred is None else asdict(barred),
            "threshold": red.failure.threshold,
            "label": red.failure.label,
            "also_red": hit.facts["also_red"],
            "runner": runner,
            "base_ref": run.pull.base_ref,
            "default_branch": facts.default_branch,
            "server_url": facts.html_url.removesuffix(f"/{event['repo']}"),
            "asked": {name: asked[name] for name in ("runs", "launches", "base", "runner") if name in asked},
        },
    )


def _not_to_be_edited(site: Site | Refusal) -> Refusal | None:
    """A literal that others read bars a bump, unless the failing class can get a bound of its own."""
    if isinstance(site, Refusal):
        return site
    return site.refusal if site.override is None else None


def _chosen(asked: Mapping[str, Any]) -> Refusal | None:
    """Beside another base, or on another machine, almost anything can be made to look like noise."""
    how = " and ".join(f"{name} {asked[name]}" for name in ("base", "runner") if asked.get(name))
    if not how:
        return None
    return Refusal("chosen_measurement", f"It was measured as a person chose ({how}), which moves no bound.")


def _unfit(run: RedRun, red: RedSite) -> Refusal | None:
    """A pull request that changes the test or what it rests on is judged, but never leads to a bump."""
    changed = reads.changed_paths(run.repo, run.pull.number)
    if changed is None:
        return Refusal(
            "too_many_files", "The pull request changes too many files to rule out the test's own."
        )
    unfit = unfit_path(run.config.pack, red.test.partition("::")[0], changed)
    if unfit is None:
        return None
    return Refusal("unfit_run", f"The pull request changes {unfit}, on which the test rests.")


def _trigger(run: RedRun, red: RedSite) -> list[dict[str, object]]:
    """The attempts of the red test, as readings of the trigger arm."""
    source, commit = f"job {run.event['job_id']}", run.event["head_sha"]
    return [
        replace(reading, test=red.test, commit=commit, source=source).as_record()
        for reading in run.scanned.readings
        if (reading.test, reading.label) == (red.failure.test, red.failure.label)
    ]


def _history(svc: Services, run: RedRun, red: RedSite, runner: str) -> list[dict[str, Any]]:
    """What past runs of the default branch measured of this check, on machines like the red job's."""
    if red.failure.threshold is None and isinstance(red.site, Refusal):
        return []  # the bound would be one that history states, not the code
    event, check = run.event, Check(run.event["repo"], red.test, red.failure.label, runner)
    gpus = {reading.gpu for reading in run.scanned.readings}
    found = comparable(
        svc.store,
        check,
        lambda: run.labels,
        gpus.pop() if len(gpus) == 1 else None,
    )
    if isinstance(found, Refusal):
        note(svc, event, found)
        return []
    return found
