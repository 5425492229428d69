"""Code owners of the edited file are asked to review a bump; a draft does not ask them by itself."""

from __future__ import annotations

import logging
from typing import Final

from bot.github import pulls, reads
from bot.source.owners import PLACES, Owners, owners
from bot.store import Investigation
from bot.triage.services import Services

log = logging.getLogger(__name__)

MAX_ASKED: Final = 15
"""GitHub asks no more for one pull request."""


def ask(svc: Services, investigation: Investigation, path: str, number: int) -> None:
    """Asks once; whoever cannot be asked is written down, and the bump stands all the same."""
    if investigation.facts.get("owners_asked"):
        return
    found = _owners(svc, investigation, path)
    repo, own = svc.repository(investigation), svc.installations.login().lower()
    people = [login for login in found.people if login.lower() != own][:MAX_ASKED]
    teams = found.teams[: MAX_ASKED - len(people)]
    refused = pulls.ask_for_review(repo, number, people, teams) if people or teams else ()
    if refused:
        names = ", ".join(refused)
        sentence = (
            f"GitHub did not let the bot ask {names} to review #{number}: a code owner needs write access."
        )
        log.info("%s: %s", investigation.id, sentence)
        svc.store.note(investigation.repo, investigation.id, "owners_not_asked", sentence)
    svc.store.remember(investigation.id, owners_asked=True)


def _owners(svc: Services, investigation: Investigation, path: str) -> Owners:
    repo, branch = svc.repository(investigation), investigation.facts["default_branch"]
    for place in PLACES:
        data = reads.file_at(repo, place, branch)
        if data is not None:
            return owners(data, path, investigation.repo.partition("/")[0])
    return Owners()
