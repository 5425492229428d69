"""Opening steps: what went red, whose it is, where its bound lives; ends in investigations or a decision."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads
from bot.github.blobs import job_log
from bot.github.runs import job_labels
from bot.logs import Failure, ScanResult, scan
from bot.source import Site, locate
from bot.source.registrations import registrations
from bot.store import Investigation
from bot.triage.history import Check, comparable
from bot.triage.paths import tree_path
from bot.triage.restraint import unfit_path
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import Pack, PackErrors, RepositoryConfig, repository_pack

log = logging.getLogger(__name__)

CONFIG_PATH: Final = ".github/kl-triage.yml"
CHECK_NAME: Final = "kl-triage"
OWN_BRANCHES: Final = "kl-triage/"
LOG_PAUSES_S: Final = (5.0, 5.0, 0.0)
# Without these there is nothing that could be measured; every other refusal only bars a bump.
UNMEASURABLE: Final = frozenset({"file_not_found", "does_not_parse", "class_not_found"})


@dataclass(frozen=True, slots=True)
class RedRun:
    """A red job with all that was read about it."""

    event: Mapping[str, Any]
    repo: Repository
    facts: reads.RepositoryFacts
    config: RepositoryConfig
    config_text: str
    pull: reads.Pull
    scanned: ScanResult


@dataclass(slots=True)
class RedSite:
    """The failures of one site: the first is measured, the others are named."""

    key: str
    test: str
    """path::Class.method, the path as it is in the tree."""
    failure: Failure
    site: Site | Refusal
    runner: str
    """The label that reruns ask for."""
    also_red: list[str] = field(default_factory=list)


def open_investigations(svc: Services, event: Mapping[str, Any], suffix: str) -> list[str]:
    """One investigation per site over its bound; returns their ids. `suffix` tells a command's apart."""
    run = _read(svc, event, commanded=bool(suffix))
    if isinstance(run, Refusal):
        _note(svc, event, run)
        return []
    reds = _sites(svc, run)
    names = _check_names(svc.store.checks_of(event["repo"], event["head_sha"]), [red.key for red in reds])
    built = [(red, _investigation(run, red, suffix, names[red.key])) for red in reds]
    opened = []
    for red, investigation in built:
        if svc.store.open_investigation(investigation, _trigger(run, red), _history(svc, run, red)):
            opened.append(investigation.id)
        else:
            svc.store.also_red(event["repo"], red.key, event["head_sha"], red.test)
            sentence = (
                f"{red.key} is under investigation, or was judged on this commit; /rerun-kl asks again."
            )
            _note(svc, event, Refusal("already_investigated", sentence))
    return opened


def note_failure(svc: Services, event: Mapping[str, Any]) -> None:
    """After GitHub or its log store failed for an hour."""
    _note(
        svc,
        event,
        Refusal("unreadable", "The red job could not be read; /rerun-kl on the pull request asks again."),
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


def investigation_id(repo: str, site_key: str, head_sha: str, suffix: str = "") -> str:
    """Natural key of the work on one site for one commit."""
    digest = hashlib.sha256("\n".join((repo.lower(), site_key, head_sha, suffix)).encode()).hexdigest()
    return f"kl-{digest[:20]}"


def read_config(repo: Repository, default_branch: str) -> tuple[RepositoryConfig, str] | Refusal:
    """The repository's own settings and their text; without them the bot does nothing."""
    data = reads.file_at(repo, CONFIG_PATH, default_branch)
    if data is None:
        return Refusal("not_set_up", f"The default branch has no {CONFIG_PATH}; `kl-triage init` writes one.")
    config = repository_pack(data, CONFIG_PATH)
    if isinstance(config, PackErrors):
        return Refusal("bad_config", f"{CONFIG_PATH} has errors: {'; '.join(config.errors)}"[:500])
    return config, data.decode()


def _read(svc: Services, event: Mapping[str, Any], *, commanded: bool) -> RedRun | Refusal:
    repo = svc.installations.repository(event["installation"], event["repo"])
    facts = reads.facts(repo)
    found = read_config(repo, facts.default_branch)
    if isinstance(found, Refusal):
        return found
    config, text = found
    if config.mode == "off":
        return Refusal("mode", f"The mode in {CONFIG_PATH} is 'off'.")
    scanned = _scanned(repo, event["job_id"], config.pack)
    if scanned is None:
        return Refusal("log_gone", "GitHub does not have the log of this job.")
    if not any(_counts(failure) for failure in scanned.failures):
        return Refusal("no_kl_failure", "The log of this job shows no KL value over its bound.")
    if config.mode == "observe":
        return Refusal("mode", f"A KL test went red; with mode 'observe' in {CONFIG_PATH} nothing is rerun.")
    pull = reads.open_pull(repo, event["head_sha"])
    if pull is None:
        return Refusal(
            "no_pull_request", "The commit is not the head of exactly one open pull request; not covered yet."
        )
    refusal = _not_ours_to_run(pull, event["repo"], commanded=commanded)
    return refusal or RedRun(event, repo, facts, config, text, pull, scanned)


def _not_ours_to_run(pull: reads.Pull, repo: str, *, commanded: bool) -> Refusal | None:
    if pull.head_repo.lower() != repo.lower():
        if commanded:
            return None  # a writer named the commit they looked at
        return Refusal(
            "fork", "The pull request is from a fork: its code runs only when a writer names its SHA."
        )
    if pull.head_ref.startswith(OWN_BRANCHES):
        return Refusal("own_branch", "The pull request is the bot's own; triaging it could loop.")
    return None


def _scanned(repo: Repository, job_id: int, pack: Pack) -> ScanResult | None:
    """Logs can lag a little behind the end of their job."""
    for pause in LOG_PAUSES_S:
        with job_log(repo, job_id) as stream:
            if stream is not None:
                return scan(stream, pack.scan_forms)
        time.sleep(pause)
    return None


def _counts(failure: Failure) -> bool:
    return failure.kind == "bound" and not failure.recovered and failure.test is not None


def _sites(svc: Services, run: RedRun) -> list[RedSite]:
    sites: dict[str, RedSite] = {}
    for failure in filter(_counts, run.scanned.failures):
        test, site = _locate(run, failure.test or "")
        if isinstance(site, Refusal) and site.code in UNMEASURABLE:
            _note(svc, run.event, Refusal(site.code, f"{test[:200]}: {site.sentence}"))
            continue
        key = site.key if isinstance(site, Site) else test.rpartition(".")[0]
        if key in sites:
            sites[key].also_red.append(test)
        else:
            sites[key] = RedSite(key, test, failure, site, _runner(run, test))
    return list(sites.values())


def _locate(run: RedRun, printed: str) -> tuple[str, Site | Refusal]:
    """At the failing commit: the source there is the truth about the bound."""
    path, _, name = printed.partition("::")
    pack = run.config.pack
    inside = tree_path(path, pack)
    if inside is None or "." not in name:
        sentence = "The log does not say which KL test of this repository went red."
        return printed, Refusal("file_not_found", sentence)

    def read(wanted: str) -> bytes | None:
        return reads.file_at(run.repo, wanted, run.event["head_sha"])

    method = name.partition("[")[0]  # pytest's parameters stand in brackets
    return f"{inside}::{name}", locate(inside, method, read, pack.attributes, pack.exact_gate)


def _runner(run: RedRun, test: str) -> str:
    config = run.config
    calls = {rule.call for rule in config.pack.registrations}
    if config.runner_is_fixed or not calls:
        return config.runner
    data = reads.file_at(run.repo, test.partition("::")[0], run.event["head_sha"])
    return config.runner_for(registrations(data or b"", calls))


def _investigation(run: RedRun, red: RedSite, suffix: str, check_name: str) -> Investigation:
    event, facts = run.event, run.facts
    barred = _not_to_be_edited(red.site) or _unfit(run, red)
    return Investigation(
        id=investigation_id(event["repo"], red.key, event["head_sha"], suffix),
        repo=event["repo"],
        installation=event["installation"],
        pull=run.pull.number,
        test=red.test,
        site_key=red.key,
        head_sha=event["head_sha"],
        base_sha=reads.merge_base(run.repo, run.pull.base_ref, event["head_sha"]),
        job_url=f"{facts.html_url}/actions/runs/{event['run_id']}/job/{event['job_id']}",
        facts={
            "config": run.config_text,
            "site": asdict(red.site) if isinstance(red.site, Site) else None,
            "bump_refusal": None if barred is None else asdict(barred),
            "threshold": red.failure.threshold,
            "also_red": red.also_red,
            "check_name": check_name,
            "runner": red.runner,
            "base_ref": run.pull.base_ref,
            "default_branch": facts.default_branch,
            "server_url": facts.html_url.removesuffix(f"/{event['repo']}"),
        },
    )


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


def _history(svc: Services, run: RedRun, red: RedSite) -> list[dict[str, Any]]:
    """What past runs of the default branch measured of this check, on machines like the red job's."""
    if red.failure.threshold is None and isinstance(red.site, Refusal):
        return []  # the bound would be one that history states, not the code
    event, check = run.event, Check(run.event["repo"], red.test, red.failure.label, red.runner)
    gpus = {reading.gpu for reading in run.scanned.readings}
    found = comparable(
        svc.store,
        check,
        lambda: job_labels(run.repo, event["job_id"]),
        gpus.pop() if len(gpus) == 1 else None,
    )
    if isinstance(found, Refusal):
        _note(svc, event, found)
        return []
    return found


def _note(svc: Services, event: Mapping[str, Any], refusal: Refusal) -> None:
    """One line in the log of decisions."""
    subject = f"job {event['job_id']}"
    log.info("%s %s: %s: %s", event["repo"], subject, refusal.code, refusal.sentence)
    svc.store.note(event["repo"], subject, refusal.code, refusal.sentence)
