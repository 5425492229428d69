"""The red job as GitHub shows it: the settings in force, its log, and the pull request it belongs to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads
from bot.github.blobs import job_log
from bot.github.patience import NotYet
from bot.github.pulls import OWN_BRANCHES
from bot.github.runs import job_ended, job_labels
from bot.logs import Failure, ScanResult, scan
from bot.store.base import utcnow
from bot.triage.configured import CONFIG_PATH, read_config
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import Pack, RepositoryConfig

LOG_PAUSES_S: Final = (5.0, 0.0)
LOG_LAGS: Final = timedelta(minutes=15)
"""So long after the end of its job a log may still come."""
LOG_WAIT: Final = timedelta(seconds=60)


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
    labels: frozenset[str]
    """What the job asked of its runner, in lower case; none where GitHub does not show it."""

    @property
    def job_url(self) -> str:
        return f"{self.facts.html_url}/actions/runs/{self.event['run_id']}/job/{self.event['job_id']}"

    @property
    def is_fork(self) -> bool:
        return self.pull.head_repo.lower() != str(self.event["repo"]).lower()


def read(svc: Services, event: Mapping[str, Any]) -> RedRun | Refusal:
    """Few requests and the cheapest refusals first: most red jobs are none of ours. Raises NotYet for a log
    that may still come."""
    repo = svc.repository_at(event["installation"], event["repo"])
    facts = reads.facts(repo)
    found = read_config(repo, facts.default_branch)
    if isinstance(found, Refusal):
        return found
    config, text = found
    if config.mode == "off":
        return Refusal("mode", f"The mode in {CONFIG_PATH} is 'off'.")
    if event.get("name") and not config.pack.is_job(event["name"]):
        return Refusal("other_job", "By its name this job holds no KL tests, so its log is not read.")
    scanned = _scanned(repo, event["job_id"], config.pack)
    if scanned is None:
        _await_log(repo, event["job_id"])
        return Refusal("log_gone", "GitHub does not have the log of this job.")
    if not any(counts(failure) for failure in scanned.failures):
        return Refusal("no_kl_failure", "The log of this job shows no KL value over its bound.")
    if config.mode == "observe":
        return Refusal("mode", f"A KL test went red; with mode 'observe' in {CONFIG_PATH} nothing is rerun.")
    pull = _pull(repo, event)
    if isinstance(pull, Refusal):
        return pull
    labels = frozenset(label.lower() for label in job_labels(repo, event["job_id"]))
    return RedRun(event, repo, facts, config, text, pull, scanned, labels)


def counts(failure: Failure) -> bool:
    """A KL value that crossed its bound and stayed there, in a test that can be named."""
    return failure.kind == "bound" and not failure.recovered and failure.test is not None


def _pull(repo: Repository, event: Mapping[str, Any]) -> reads.Pull | Refusal:
    """A command names its pull request; a job's is the only open one with its commit as head."""
    found: tuple[reads.Pull, ...]
    if event.get("pull"):
        named = reads.pull(repo, event["pull"])
        found = (named,) if named is not None and named.head_sha == event["head_sha"] else ()
    else:
        found = reads.open_pulls(repo, event["head_sha"], event["run_id"])
    if not found:
        return Refusal("no_pull_request", "The commit is not the head of an open pull request.")
    if len(found) > 1:
        numbers = ", ".join(f"#{pull.number}" for pull in found[:5])
        sentence = f"The commit is the head of several open pull requests ({numbers}), so none is answered."
        return Refusal("several_pull_requests", sentence)
    if found[0].head_ref.startswith(OWN_BRANCHES) and found[0].head_repo.lower() == event["repo"].lower():
        return Refusal("own_branch", "The pull request is the bot's own; triaging it could loop.")
    return found[0]


def _await_log(repo: Repository, job_id: int) -> None:
    ended, now = job_ended(repo, job_id), utcnow()
    if ended is not None and now < ended + LOG_LAGS:
        raise NotYet(now + LOG_WAIT, f"the log of job {job_id} is not there yet")


def _scanned(repo: Repository, job_id: int, pack: Pack) -> ScanResult | None:
    """Logs can lag a little behind the end of their job."""
    for pause in LOG_PAUSES_S:
        with job_log(repo, job_id) as stream:
            if stream is not None:
                return scan(stream, pack.scan_forms)
        time.sleep(pause)
    return None
