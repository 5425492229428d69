"""Halting: an investigation stops for a reason outside its readings, and says which."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from dbos import DBOS, error
from github.Repository import Repository

from bot.github import pulls
from bot.store import Investigation
from bot.triage.configured import CONFIG_PATH, read_config
from bot.triage.measure import kill_switch
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import RepositoryConfig

log = logging.getLogger(__name__)

UNINSTALLED: Final = "uninstalled"
SILENT: Final = kill_switch.CODES | {UNINSTALLED}
"""Reasons after which no comment and no pull request is written."""


def halt(svc: Services, key: str, refusal: Refusal) -> None:
    """Ends an open investigation: the first reason stays, and a workflow that waits for a rerun wakes.

    Its own workflow then cancels what is out and concludes; nothing is written to GitHub here.
    """
    svc.store.remember_once(key, halt=asdict(refusal))
    investigation = svc.store.investigation(key)
    if halted(investigation.facts) == refusal:
        log.info("%s is halted: %s: %s", key, refusal.code, refusal.sentence)
        svc.store.note(investigation.repo, key, refusal.code, refusal.sentence)
    for rerun in svc.store.reruns(key):
        if rerun.state in ("sending", "queued", "running"):
            _wake(key, rerun.request)


def halted(facts: Mapping[str, Any]) -> Refusal | None:
    """Why the investigation with these facts was halted; None where it goes on."""
    stored = facts.get("halt")
    return None if stored is None else Refusal(**stored)


def is_uninstalled(svc: Services, key: str) -> bool:
    """Asks nobody: where the App is no more, nothing would be answered."""
    stopped = halted(svc.store.investigation(key).facts)
    return stopped is not None and stopped.code == UNINSTALLED


def is_halted(svc: Services, key: str) -> bool:
    """By what is known: asks nobody either."""
    return halted(svc.store.investigation(key).facts) is not None


def check(svc: Services, key: str) -> str:
    """The code of the reason to stop, "" where there is none; one that is found halts the investigation."""
    investigation = svc.store.investigation(key)
    found = allowed(svc, investigation)
    return _stopped(svc, key, found if isinstance(found, Refusal) else None)


def check_switch(svc: Services, key: str) -> str:
    """The same by the kill switch alone: events tell of everything else."""
    investigation = svc.store.investigation(key)
    why = halted(investigation.facts) or kill_switch.thrown(svc, svc.repository(investigation))
    return _stopped(svc, key, why)


def check_waiting(svc: Services, key: str) -> str:
    """The same while a rerun is out, at every poll: all that wait in a repository share the answer."""
    investigation = svc.store.investigation(key)
    why = halted(investigation.facts) or kill_switch.thrown_of_late(svc, svc.repository(investigation))
    return _stopped(svc, key, why)


def allowed(svc: Services, investigation: Investigation) -> RepositoryConfig | Refusal:
    """The settings in force at this moment, or why nothing more of the investigation may be done."""
    stopped = halted(investigation.facts)
    if stopped is not None:
        return stopped
    repo = svc.repository(investigation)
    stopped = kill_switch.thrown(svc, repo) or _pull_gone(repo, investigation)
    if stopped is not None:
        return stopped
    found = read_config(repo, investigation.facts["default_branch"])
    if isinstance(found, Refusal):
        return found
    config, _ = found
    if config.mode in ("off", "observe"):
        sentence = f"The mode in {CONFIG_PATH} of the default branch became '{config.mode}'."
        return Refusal("mode", sentence)
    return config


def _pull_gone(repo: Repository, investigation: Investigation) -> Refusal | None:
    """Closed unmerged; or from a fork and pushed to, for what a writer looked at was another commit."""
    pull = pulls.state_of(repo, investigation.pull)
    if pull is None or pull.state == "closed":
        return Refusal("pull_closed", f"The pull request #{investigation.pull} was closed.")
    fork = pull.head_repo.lower() != investigation.repo.lower()
    if pull.state == "open" and fork and pull.head_sha != investigation.head_sha:
        return fork_moved(investigation.head_sha)
    return None


def fork_moved(head_sha: str) -> Refusal:
    return Refusal(
        "head_moved",
        f"The fork was pushed to after {head_sha[:7]} was asked for; its code runs only when a writer names "
        "its SHA.",
    )


def _stopped(svc: Services, key: str, why: Refusal | None) -> str:
    if why is None:
        return ""
    halt(svc, key, why)
    return (halted(svc.store.investigation(key).facts) or why).code


def _wake(key: str, request: str) -> None:
    try:
        DBOS.send(key, {"halted": True}, topic=request, idempotency_key=f"halt:{request}")
    except error.DBOSException:  # its poll notices
        log.warning("%s could not be woken", key, exc_info=True)
