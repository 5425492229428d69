"""A step of the sweep: runs that outlived their investigation are cancelled until they end."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

import requests
from github import GithubException

from bot.github.patience import RateLimited, reason
from bot.store.base import utcnow
from bot.triage.measure import measuring
from bot.triage.services import Services

log = logging.getLogger(__name__)

LOOKED_AFTER: Final = timedelta(days=1)
"""A job of GitHub's own ends by itself long before."""
MAX_LEFT: Final = 50
"""Of one sweep."""


def end_left_runs(svc: Services) -> list[str]:
    """The requests whose runs go on. No trouble of one holds up the others; the next sweep looks again."""
    going = []
    for rerun in svc.store.left_out(measuring.OUT, utcnow() - LOOKED_AFTER, MAX_LEFT):
        try:
            if measuring.progress(svc, rerun.request) in ("queued", "running"):
                going.append(rerun.request)
                measuring.cancel(svc, rerun.request)
        except (GithubException, requests.RequestException, RateLimited) as trouble:
            log.warning("%s may still run: %s", rerun.request, reason(trouble))
    return going
