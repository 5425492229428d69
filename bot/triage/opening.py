"""Opening steps: what went red, whose it is, where its bound lives; ends in investigations or a decision."""

from __future__ import annotations

import fnmatch
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads
from bot.logs import Failure, ScanResult, scan
from bot.source import Site, locate
from bot.store import Investigation
from bot.triage.services import Services
from bot.verdict import Reading, Refusal
from rules import Mode, PackErrors, RepositoryConfig, repository_pack

log = logging.getLogger(__name__)

CONFIG_PATH: Final = ".github/kl-triage.yml"
# Without these there is nothing that could be measured; every other refusal only bars a bump.
UNMEASURABLE: Final = frozenset({"file_not_found", "does_not_parse", "class_not_found"})


def open_investigations(svc: Services, event: Mapping[str, Any], suffix: str) -> list[str]:
    """Reads the log of a red job and opens one investigation per site over its bound; returns their ids."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    subject = f"job {event['job_id']}"

    def refuse(refusal: Refusal) -> list[str]:
        log.info("%s %s: %s: %s", event["repo"], subject, refusal.code, refusal.sentence)
        svc.store.note(event["repo"], subject, refusal.code, refusal.sentence)
        return []

    config = read_config(repo)
    if isinstance(config, Refusal):
        return refuse(config)
    scanned = _scan_log(repo, event["job_id"], config)
    if isinstance(scanned, Refusal):
        return refuse(scanned)
    failures = [f for f in scanned.failures if f.kind == "bound" and not f.recovered and f.test]
    if not failures:
        return refuse(Refusal("no_kl_failure", "The log of this job shows no KL value over its bound."))
    if config.mode in (Mode.OFF, Mode.OBSERVE):
        return refuse(
            Refusal("mode", f"A KL test went red; mode '{config.mode}' of {CONFIG_PATH} runs nothing.")
        )
    pull = reads.open_pull(repo, event["head_sha"])
    if pull is None:
        return refuse(
            Refusal(
                "no_pull_request",
                "The commit is not the head of exactly one open pull request; not covered yet.",
            )
        )
    if pull.head_repo != event["repo"] and not suffix:
        return refuse(
            Refusal(
                "fork", "The pull request comes from a fork: its code runs only after /rerun-kl by a writer."
            )
        )
    context = _Context(svc, repo, event, config, pull, scanned)
    opened = [context.open(group, suffix) for group in _by_site(context, failures)]
    return [key for key in opened if key is not None]


def read_config(repo: Repository) -> RepositoryConfig | Refusal:
    """The repository's own settings from its default branch; without them the bot does nothing."""
    text = reads.file_at(repo, CONFIG_PATH, reads.facts(repo).default_branch)
    if text is None:
        return Refusal("not_set_up", f"The default branch has no {CONFIG_PATH}; `kl-triage init` writes one.")
    config = repository_pack(text, CONFIG_PATH)
    if isinstance(config, PackErrors):
        return Refusal("bad_config", f"{CONFIG_PATH} has errors: {'; '.join(map(str, config.errors))}"[:500])
    return config


def tree_path(printed: str, patterns: Sequence[str]) -> str | None:
    """The path inside the tree of a path as CI prints it: its longest tail that is a KL test of the pack."""
    parts = PurePosixPath(printed).parts
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        if ".." not in parts and any(fnmatch.fnmatchcase(tail, pattern) for pattern in patterns):
            return tail
    return None


class _Context:
    """What the failures of one job share."""

    def __init__(
        self,
        svc: Services,
        repo: Repository,
        event: Mapping[str, Any],
        config: RepositoryConfig,
        pull: reads.Pull,
        scanned: ScanResult,
    ) -> None:
        self.svc, self.repo, self.event, self.config = svc, repo, event, config
        self.pull, self.scanned = pull, scanned

    def site(self, failure: Failure) -> tuple[str, Site | Refusal]:
        """The test as path::Class.method inside the tree, and the site of its bound at the failing commit."""
        printed, _, name = (failure.test or "").partition("::")
        path = tree_path(printed, self.config.pack.tests)
        if path is None or "." not in name:
            return failure.test or "", Refusal(
                "file_not_found", "The log does not say which KL test of this repository went red."
            )

        def read(wanted: str) -> bytes | None:
            return reads.file_at(self.repo, wanted, self.event["head_sha"])

        return f"{path}::{name}", locate(path, name, read, tuple(self.config.pack.attributes))

    def open(self, group: _Group, suffix: str) -> str | None:
        """Opens the investigation of one site; None, with a decision, when there is one already."""
        key = investigation_id(self.event["repo"], group.key, self.event["head_sha"], suffix)
        base_sha = reads.merge_base(self.repo, self.pull.base_ref, self.event["head_sha"])
        investigation = Investigation(
            id=key,
            repo=self.event["repo"],
            installation=self.event["installation"],
            pull=self.pull.number,
            test=group.test,
            site_key=group.key,
            head_sha=self.event["head_sha"],
            base_sha=base_sha,
            job_url=f"{reads.facts(self.repo).html_url}/actions/runs/{self.event['run_id']}/job/{self.event['job_id']}",
            also_red={"tests": group.also_red},
            facts=self._facts(group),
        )
        if self.svc.store.open_investigation(investigation, self._trigger(group)):
            return key
        self.svc.store.note(
            self.event["repo"],
            f"job {self.event['job_id']}",
            "already_investigated",
            f"{group.key} is under investigation, or this commit was judged; /rerun-kl asks again.",
        )
        return None

    def _facts(self, group: _Group) -> dict[str, Any]:
        refusal = group.site if isinstance(group.site, Refusal) else self._unfit()
        return {
            "config": self.config.text,
            "site": asdict(group.site) if isinstance(group.site, Site) else None,
            "bump_refusal": None if refusal is None else asdict(refusal),
            "label": group.failure.label,
            "threshold": group.failure.threshold,
            "author": self.pull.author,
            "fork": self.pull.head_repo != self.event["repo"],
            "default_branch": reads.facts(self.repo).default_branch,
            "server_url": reads.facts(self.repo).html_url.rpartition(f"/{self.event['repo']}")[0],
        }

    def _unfit(self) -> Refusal | None:
        """A pull request that changes the test or what it rests on is judged, but never leads to a bump."""
        changed = reads.changed_paths(self.repo, self.pull.number)
        if changed is None:
            return Refusal(
                "too_many_files", "The pull request changes too many files to rule out the test's own."
            )
        for path in changed:
            if any(fnmatch.fnmatchcase(path, pattern) for pattern in self.config.pack.unfit_paths):
                return Refusal("unfit_run", f"The pull request changes {path}, on which the test rests.")
        return None

    def _trigger(self, group: _Group) -> list[dict[str, object]]:
        """The attempts of the red test, as readings of the trigger arm."""
        wanted = (group.failure.test, group.failure.label)
        return [
            replace(
                reading, test=group.test, commit=self.event["head_sha"], source=f"job {self.event['job_id']}"
            ).as_record()
            for reading in self.scanned.readings
            if _identity(reading) == wanted
        ]


class _Group:
    """Failures of one site: the first is measured, the others are named."""

    def __init__(self, key: str, test: str, failure: Failure, site: Site | Refusal) -> None:
        self.key, self.test, self.failure, self.site = key, test, failure, site
        self.also_red: list[str] = []


def _by_site(context: _Context, failures: Sequence[Failure]) -> list[_Group]:
    groups: dict[str, _Group] = {}
    for failure in failures:
        test, site = context.site(failure)
        if isinstance(site, Refusal) and site.code in UNMEASURABLE:
            context.svc.store.note(
                context.event["repo"],
                f"job {context.event['job_id']}",
                site.code,
                f"{test[:200]}: {site.sentence}",
            )
            continue
        key = site.key if isinstance(site, Site) else test.rpartition(".")[0]
        if key in groups:
            groups[key].also_red.append(test)
        else:
            groups[key] = _Group(key, test, failure, site)
    return list(groups.values())


def investigation_id(repo: str, site_key: str, head_sha: str, suffix: str = "") -> str:
    """Natural key of the work on one site for one commit; a command adds its own suffix."""
    digest = hashlib.sha256("\n".join((repo.lower(), site_key, head_sha, suffix)).encode()).hexdigest()
    return f"kl-{digest[:20]}"


def _identity(reading: Reading) -> tuple[str, str | None]:
    return reading.test, reading.label


def _scan_log(repo: Repository, job_id: int, config: RepositoryConfig) -> ScanResult | Refusal:
    with reads.job_log(repo, job_id) as stream:
        if stream is None:
            return Refusal("log_gone", "GitHub no longer has the log of this job.")
        return scan(stream, config.pack.compiled_forms())
