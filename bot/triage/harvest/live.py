"""Harvest steps of the durable workflow: a run of the default branch ended just now."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from github import UnknownObjectException
from github.Repository import Repository

from bot.github import reads
from bot.github.patience import patiently
from bot.github.runs import PastJob
from bot.triage.configured import CONFIG_PATH, read_config
from bot.triage.harvest import steps
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import PackErrors, repository_pack

log = logging.getLogger(__name__)

RESERVE: Final = 0.2
"""Share of the installation's rate limit that stays for investigations."""
LOG_PAUSES_S: Final = (5.0, 10.0, 20.0)


def jobs_to_read(svc: Services, event: Mapping[str, Any]) -> dict[str, Any]:
    """{"config": the settings in force, "jobs", "running"}; {} where the bot is not set up or switched off,
    or GitHub does not show the run: `kl-triage harvest` asks again. Raises RateLimited."""
    repo = _repository(svc, event)
    branch = patiently(repo, lambda: reads.facts(repo), reserve=RESERVE).default_branch
    settings = patiently(repo, lambda: read_config(repo, branch), reserve=RESERVE)
    if isinstance(settings, Refusal) or settings[0].mode == "off":
        return {}
    source = _source(svc, event, settings[1])
    try:
        jobs, running = steps.jobs_to_read(source, event["run_id"], event["attempt"])
    except UnknownObjectException:
        log.warning("GitHub does not show the jobs of run %d of %s", event["run_id"], event["repo"])
        return {}
    return {"config": settings[1], "jobs": [job.as_dict() for job in jobs], "running": running}


def read_job(svc: Services, event: Mapping[str, Any], config: str, job: Mapping[str, Any]) -> int:
    """How many readings were stored. Raises RateLimited."""
    source = _source(svc, event, config)
    return steps.read_job(source, PastJob.from_dict(job), LOG_PAUSES_S).readings


def close_run(svc: Services, event: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    jobs = [PastJob.from_dict(job) for job in found["jobs"]]
    source = _source(svc, event, found["config"])
    steps.close_run(source, event["run_id"], event["attempt"], jobs, running=found["running"])


def _repository(svc: Services, event: Mapping[str, Any]) -> Repository:
    return svc.installations.repository(event["installation"], event["repo"], retries=False)


def _source(svc: Services, event: Mapping[str, Any], config: str) -> steps.Source:
    settings = repository_pack(config, CONFIG_PATH)
    if isinstance(settings, PackErrors):
        raise RuntimeError(f"the settings of {event['repo']} no longer parse")
    return steps.Source(_repository(svc, event), event["repo"], settings.pack, svc.store, RESERVE)
