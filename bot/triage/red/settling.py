"""Settling steps: when an investigation has ended, whoever waited for it is placed again."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from github.Repository import Repository

from bot.github import reads
from bot.store import Hit
from bot.store.base import utcnow
from bot.triage.configured import CONFIG_PATH, read_config
from bot.triage.measure import halting, kill_switch
from bot.triage.red import fanin, opening, relaying
from bot.triage.red.placing import place
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import RepositoryConfig

SETTLED_WITHIN: Final = timedelta(minutes=10)
WAITS_AT_MOST: Final = timedelta(days=3)
"""After the end of what it waited for: whoever could not be settled in that time never can be."""

log = logging.getLogger(__name__)


def waiting(svc: Services, key: str) -> list[int]:
    """The pull requests that wait for this investigation, first come first; none while it is open."""
    if svc.store.investigation(key).state == "open":
        return []
    return [hit.pull for hit in svc.store.waiting_for(key)]


def left_over(svc: Services) -> dict[str, str]:
    """Ended investigations that somebody still waits for, since a step failed or a crash came between, by the
    id of the workflow that is to settle them: however many ask for that, one does it an hour."""
    now = utcnow()
    return {f"settle:{key}:{now:%Y%m%d%H}": key for key in svc.store.left_waiting(now - SETTLED_WITHIN)}


def settle(svc: Services, key: str, pull: int) -> str:
    """Answers one pull request that waited, or opens its own investigation: the id to start, or ''.

    The first that needs one opens it; those behind it wait for that one.
    """
    ended = svc.store.investigation(key)
    hit = svc.store.hit(ended.repo, ended.site_key, pull)
    if hit is None:
        return ""
    if hit.state == "measured":
        return _unless_ended(svc, hit)
    if hit.state != "waiting" or hit.investigation != key:
        return ""
    if ended.finished_at is not None and utcnow() - ended.finished_at > WAITS_AT_MOST:
        return _drop(svc, hit, Refusal("never_settled", "It waited for days and could not be answered."))
    stopped = halting.halted(ended.facts)
    if stopped is not None and stopped.code == halting.UNINSTALLED:  # nothing there may be asked any more
        return _drop(svc, hit, stopped)
    repo = svc.repository_at(hit.event["installation"], hit.repo)
    there = reads.pull(repo, pull)
    if there is None:
        return _drop(svc, hit, Refusal("pull_closed", "The pull request that waited is not open any more."))
    stopped = kill_switch.thrown(svc, repo)
    if stopped is not None:  # nothing is said, and it is left over until the switch is lifted
        svc.store.note(hit.repo, f"pull {pull}", stopped.code, stopped.sentence)
        return ""
    config = _config(repo)
    if isinstance(config, Refusal):
        relaying.tell_no_answer(svc, hit, config.sentence)
        return _drop(svc, hit, config)
    placed = place(
        svc,
        hit,
        config.known_days,
        lambda: opening.reopen(svc, hit),
        moved=there.head_sha != hit.head_sha,
    )
    if not isinstance(placed, Refusal):
        return placed
    if ended.pull == pull and ended.head_sha == hit.head_sha:  # it waited for its own verdict to be told
        hit.state = "measured"
        svc.store.record_hit(hit)
        svc.store.note(hit.repo, f"pull {pull}", placed.code, placed.sentence)
        return ""
    if placed.code != fanin.ALREADY:  # then the comment is that investigation's
        relaying.tell_no_answer(svc, hit, placed.sentence)
    return _drop(svc, hit, placed)


def _config(repo: Repository) -> RepositoryConfig | Refusal:
    """What holds in the repository today, which may be that nothing is measured."""
    found = read_config(repo, reads.facts(repo).default_branch)
    if isinstance(found, Refusal):
        return found
    if found[0].mode in ("off", "observe"):
        return Refusal("mode", f"The mode in {CONFIG_PATH} is '{found[0].mode}'.")
    return found[0]


def _unless_ended(svc: Services, hit: Hit) -> str:
    """An earlier try of this step may have opened it and not told."""
    own = svc.store.investigation(hit.investigation or "")
    return own.id if own.state == "open" else ""


def _drop(svc: Services, hit: Hit, why: Refusal) -> str:
    log.info("%s #%d waits no more: %s", hit.repo, hit.pull, why.sentence)
    svc.store.note(hit.repo, f"pull {hit.pull}", why.code, why.sentence)
    svc.store.drop_hit(hit.repo, hit.site_key, hit.pull)
    return ""
