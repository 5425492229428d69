"""Whether the checks of a bump start: one whose commit nothing tests would wait for ever."""

from __future__ import annotations

import logging

import requests
from github import GithubException

from bot.github import pulls
from bot.report import bump_notes
from bot.triage.measure import own_bumps
from bot.triage.services import Services

log = logging.getLogger(__name__)


def have_started(svc: Services, key: str) -> bool:
    """Whether a check of anybody's has appeared on the bump that was opened; True where there is none."""
    investigation = svc.store.investigation(key)
    if "proposal" not in investigation.facts:
        return True
    repo = svc.repository(investigation)
    pull = pulls.state_of(repo, investigation.facts["proposal"]["number"])
    if pull is None or pull.state != "open":
        return True
    return pulls.checks_seen(repo, pull.head_sha, svc.installations.login())


def note_none(svc: Services, key: str) -> None:
    """Says in the pull request that nothing has started and how to start it, unless people wrote the text."""
    if have_started(svc, key):
        return
    investigation = svc.store.investigation(key)
    repo = svc.repository(investigation)
    number = investigation.facts["proposal"]["number"]
    pull, bump = pulls.state_of(repo, number), svc.store.bump_of_pull(investigation.repo, number)
    sentence = f"No check has started on the bump #{number} within two minutes."
    svc.store.note(investigation.repo, key, "no_checks", sentence)
    if pull is None or bump is None:
        return
    noted = bump_notes.with_note(pull.body, bump_notes.NO_CHECKS)
    if noted == pull.body or own_bumps.digest(pull.title, pull.body) != bump.body_digest:
        return
    try:
        pulls.edit_body(repo, number, noted)
    except (GithubException, requests.RequestException):
        log.warning("the text of #%d could not be edited", number, exc_info=True)  # it is a courtesy
    else:
        svc.store.wrote_bump(bump.id, body_digest=own_bumps.digest(pull.title, noted))
