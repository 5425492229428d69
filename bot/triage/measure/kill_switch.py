"""The kill switch: an open issue with one label, or the operator's own. What cannot be read is a stop."""

from __future__ import annotations

import math
import time
from typing import Final

from github import GithubException
from github.Repository import Repository

from bot.github import issues, writes
from bot.triage.services import Services
from bot.verdict import Refusal

LABEL: Final = "kl-triage-stop"
OPERATOR: Final = "operator_stop"
THROWN: Final = "kill_switch"
UNREADABLE: Final = "kill_switch_unreadable"
CODES: Final = frozenset({OPERATOR, THROWN, UNREADABLE})
KEPT_S: Final = 30.0
_answers: Final[dict[str, tuple[float, Refusal | None]]] = {}
"""By the address of a repository: when it was asked (monotonic seconds), and what was found."""


def thrown(svc: Services, repo: Repository) -> Refusal | None:
    """Why the bot starts, says and proposes nothing in this repository; None where it may.

    Raises on an outage and on a spent rate limit, so that the step that asks does nothing either.
    """
    return thrown_in(repo, by_operator=svc.settings.stop)


def thrown_of_late(svc: Services, repo: Repository) -> Refusal | None:
    """The same, asked once in KEPT_S for all who wait there. No answer is not kept."""
    at, known = _answers.get(repo.url, (-math.inf, None))
    if time.monotonic() - at >= KEPT_S:
        known = thrown(svc, repo)
        _answers[repo.url] = (time.monotonic(), known)
    return known


def thrown_in(repo: Repository, *, by_operator: bool) -> Refusal | None:
    """Only somebody who may write throws it: an issue form sets labels for strangers too."""
    if by_operator:
        return Refusal(OPERATOR, "The operator of this bot has stopped it (KL_TRIAGE_STOP).")
    try:
        for issue in issues.labelled(repo, LABEL):
            if issue.by_writer is not False:
                return Refusal(
                    THROWN,
                    f"The bot is stopped here by the label '{LABEL}' of issue #{issue.number} ({issue.url}); "
                    "close the issue or take the label off to let it work.",
                )
    except GithubException as error:
        if not writes.is_final(error):
            raise
        return Refusal(
            UNREADABLE,
            f"The kill switch (issues with the label '{LABEL}') cannot be read (HTTP {error.status}), so "
            "nothing is done; the GitHub App needs the permission issues: write.",
        )
    return None
