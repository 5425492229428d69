"""Opening steps: what a red job shows is placed site by site; ends in investigations, hits or a decision."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from bot.github import reads
from bot.github.runs import job_labels
from bot.source import Site
from bot.store import Hit, Investigation
from bot.triage import redjob
from bot.triage.history import Check, comparable
from bot.triage.placing import place
from bot.triage.redjob import RedRun
from bot.triage.restraint import unfit_path
from bot.triage.services import Services
from bot.triage.sites import RedSite, sites_of
from bot.verdict import Refusal
from bot.verdict.reading import number_to_json

log = logging.getLogger(__name__)

CHECK_NAME: Final = "kl-triage"


@dataclass(frozen=True, slots=True)
class Order:
    """What a command asked for: keys only, runs, launches, base, runner. `suffix` tells its investigation
    apart; a job that went red by itself has neither."""

    suffix: str
    asked: Mapping[str, Any]


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
    order = Order(suffix, asked or {})
    reds, refusals = sites_of(run, order.asked.get("only"))
    for refusal in refusals:
        note(svc, event, refusal)
    names = _check_names(svc.store.checks_of(event["repo"], event["head_sha"]), [red.key for red in reds])
    return [key for red in reds if (key := _placed(svc, run, red, order, names[red.key]))]


def reopen(svc: Services, hit: Hit) -> str | Refusal | None:
    """Opens the investigation of a pull request that waited in vain: its red job is read again."""
    run = redjob.read(svc, hit.event)
    if isinstance(run, Refusal):
        return run
    order = Order(hit.facts["suffix"], hit.facts["asked"])
    reds, _ = sites_of(run, order.asked.get("only"))
    red = next((red for red in reds if red.key == hit.site_key), None)
    if red is None:
        return Refusal("site_gone", "The red job does not show this bound crossed when it is read again.")
    names = _check_names(svc.store.checks_of(hit.repo, hit.head_sha), [red.key])
    return _open(svc, run, red, order, names[red.key], _unfit(run, red))


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


def investigation_id(repo: str, site_key: str, head_sha: str, suffix: str = "") -> str:
    """Natural key of the work on one site for one commit."""
    digest = hashlib.sha256("\n".join((repo.lower(), site_key, head_sha, suffix)).encode()).hexdigest()
    return f"kl-{digest[:20]}"


def own_id(hit: Hit) -> str:
    """Of the investigation that would measure this pull request's commit."""
    return investigation_id(hit.repo, hit.site_key, hit.head_sha, hit.facts["suffix"])


def _placed(svc: Services, run: RedRun, red: RedSite, order: Order, check_name: str) -> str:
    """The id of the investigation to start, '' where there is none."""
    unfit = _unfit(run, red)
    hit = _hit(run, red, order, unfit)
    placed = place(
        svc,
        hit,
        own_id(hit),
        run.config.known_days,
        lambda: _open(svc, run, red, order, check_name, unfit),
    )
    if not isinstance(placed, Refusal):
        return placed
    if placed.code == "already_investigated":
        svc.store.also_red(run.event["repo"], red.key, run.event["head_sha"], red.test)
    note(svc, run.event, replace(placed, sentence=f"{red.key}: {placed.sentence}"))
    return ""


def _hit(run: RedRun, red: RedSite, order: Order, unfit: Refusal | None) -> Hit:
    event, failure = run.event, red.failure
    values = [
        reading.value
        for reading in run.scanned.readings
        if (reading.test, reading.label) == (failure.test, failure.label) and reading.value is not None
    ]
    return Hit(
        repo=event["repo"],
        site_key=red.key,
        pull=run.pull.number,
        head_sha=event["head_sha"],
        event=dict(event),
        facts={
            "test": red.test,
            "label": failure.label,
            "job_url": run.job_url,
            "values": list(map(number_to_json, values)),
            "runner": order.asked.get("runner") or red.runner,
            "bound": red.bound,
            "bound_name": red.site.attribute if isinstance(red.site, Site) else "the bound",
            "base_ref": run.pull.base_ref,
            "also_red": red.also_red,
            "unfit": unfit is not None,
            "fork": run.is_fork,
            "suffix": order.suffix,
            "asked": dict(order.asked),
        },
    )


def _open(
    svc: Services, run: RedRun, red: RedSite, order: Order, check_name: str, unfit: Refusal | None
) -> str | None:
    """None: another investigation of the site is open, or was opened by another job of the commit."""
    built = _investigation(run, red, order, check_name, unfit)
    history = _history(svc, run, red, built.facts["runner"])
    return built.id if svc.store.open_investigation(built, _trigger(run, red), history) else None


def _investigation(
    run: RedRun, red: RedSite, order: Order, check_name: str, unfit: Refusal | None
) -> Investigation:
    event, facts, asked = run.event, run.facts, order.asked
    barred = _not_to_be_edited(red.site) or unfit
    base = asked.get("base") or reads.merge_base(run.repo, run.pull.base_ref, event["head_sha"])
    return Investigation(
        id=investigation_id(event["repo"], red.key, event["head_sha"], order.suffix),
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
            "also_red": red.also_red,
            "check_name": check_name,
            "runner": asked.get("runner") or red.runner,
            "base_ref": run.pull.base_ref,
            "default_branch": facts.default_branch,
            "server_url": facts.html_url.removesuffix(f"/{event['repo']}"),
            "asked": {name: asked[name] for name in ("runs", "launches", "base", "runner") if name in asked},
        },
    )


def _check_names(known: Mapping[str, str], keys: Sequence[str]) -> dict[str, str]:
    """GitHub shows one check run a name and commit: two sites under one name would hide each other."""
    names = dict(known)
    for key in keys:
        if key not in names:
            names[key] = (
                CHECK_NAME if CHECK_NAME not in names.values() else f"{CHECK_NAME}: {key.rpartition('::')[2]}"
            )
    return names


def _not_to_be_edited(site: Site | Refusal) -> Refusal | None:
    """A literal that others read bars a bump, unless the failing class can get a bound of its own."""
    if isinstance(site, Refusal):
        return site
    return site.refusal if site.override is None else None


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
        lambda: job_labels(run.repo, event["job_id"]),
        gpus.pop() if len(gpus) == 1 else None,
    )
    if isinstance(found, Refusal):
        note(svc, event, found)
        return []
    return found
