"""The ledger of one site: how its bound moved on the default branch, and what became of our own bumps.

Read once, when the measuring is over, and kept in the investigation's facts: whatever is resumed later
decides from the same ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from github import GithubException
from github.Repository import Repository

from bot.github import history as past
from bot.github import pulls, reads, writes
from bot.report import pull_request
from bot.source import Site, locate
from bot.source.history import BoundChange, BoundHistory, Commit, history
from bot.store import Investigation
from bot.store.base import utcnow
from bot.triage.measure import own_bumps
from bot.triage.measure.restraint import COOLING, COOLING_DAYS, EXPIRES
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import Pack

log = logging.getLogger(__name__)

UNREADABLE: Final = "history_unreadable"
MAX_VERSIONS: Final = 30
"""Versions of the file that are read: the oldest and the newest ones, one request each."""
LATE_LANDING: Final = timedelta(days=730)
"""A commit older than that is not asked about: no branch is merged so late."""
RELATED_AGE: Final = timedelta(days=60)
MAX_RELATED: Final = 10
MAX_RELATED_FILES: Final = 6

Json = dict[str, Any]


def remember(svc: Services, investigation: Investigation, pack: Pack) -> None:
    """Reads the ledger into the facts, once."""
    if investigation.facts["site"] and "ledger" not in investigation.facts:
        svc.store.remember(investigation.id, ledger=_read(svc, investigation, pack))


def bar(svc: Services, key: str) -> None:
    """After it could not be read for an hour: the measuring stands, and the bound is not moved."""
    svc.store.remember_once(key, ledger=_barred(_unreadable("no answer for an hour")))


def refusal(facts: Mapping[str, Any]) -> Refusal | None:
    """Why the ledger bars a bump; None where it does not, or was not read yet."""
    stored = (facts.get("ledger") or {}).get("refusal")
    return None if stored is None else Refusal(**stored)


def first_bound(facts: Mapping[str, Any]) -> float | None:
    first = (facts.get("ledger") or {}).get("first")
    return None if first is None else float(first)


def expires(investigation: Investigation) -> datetime:
    """When a bump of this investigation asks for another look; the same however often a step runs."""
    return investigation.created_at + EXPIRES


def _read(svc: Services, investigation: Investigation, pack: Pack) -> Json:
    """What GitHub does not let us read bars the bump: what is not known is not assumed. An outage or a spent
    rate limit is raised."""
    try:
        return _ledger(svc, investigation, pack, utcnow())
    except GithubException as error:
        if not writes.is_final(error):
            raise
        log.warning("%s: the history of the bound could not be read", investigation.id, exc_info=True)
        return _barred(_unreadable(f"HTTP {error.status}"))


def _unreadable(why: str) -> Refusal:
    told = f"GitHub did not give the earlier moves of this bound ({why})"
    return Refusal(UNREADABLE, f"{told}, so it is not moved; /rerun-kl asks again.")


def _barred(why: Refusal) -> Json:
    return {
        "first": None,
        "moves": [],
        "versions": 0,
        "complete": False,
        "touched": [],
        "refusal": asdict(why),
    }


def _ledger(svc: Services, investigation: Investigation, pack: Pack, now: datetime) -> Json:
    repo = svc.repository(investigation)
    head = reads.branch_head(repo, investigation.facts["default_branch"])
    if head is None:
        return _barred(Refusal(UNREADABLE, "The default branch could not be read, so no bound is moved."))
    there, seen = reads.reader(repo, head), dict[str, None]()

    def read(path: str) -> bytes | None:
        data = there(path)
        if data is not None:
            seen[path] = None
        return data

    file, _, name = investigation.test.partition("::")
    method = name.partition("[")[0]  # pytest's parameters stand in brackets
    site = locate(file, method, read, pack.attributes, pack.exact_gate)
    if isinstance(site, Refusal):
        sentence = f"The bound is not to be found on the default branch: {site.sentence}"
        return _barred(Refusal("not_on_default_branch", sentence))
    listed = past.file_history(repo, site.path, head)
    moves = history(
        _versions(repo, listed), site.path, f"{file}::{method}", read, pack.attributes, pack.exact_gate
    )
    urls = {commit.sha: commit.url for commit in listed.commits}
    first_known = listed.complete and moves.reaches_back
    barred = _objection(svc, repo, investigation, site, now)
    barred = barred or (None if first_known else _first_unknown(moves))
    barred = barred or _moved_lately(repo, moves, urls, now)
    return {
        "first": moves.first if first_known else None,
        "moves": [_move(change, urls) for change in moves.changes],
        "versions": len(listed.commits),
        "complete": listed.complete and len(listed.commits) <= MAX_VERSIONS and not moves.gaps,
        "touched": _related(repo, list(seen), head, now),
        "refusal": None if barred is None else asdict(barred),
    }


def _versions(repo: Repository, listed: past.FileHistory) -> Iterator[tuple[Commit, bytes | Refusal | None]]:
    """Oldest first; of too many the oldest, which has the first bound, and the newest."""
    skipped = Refusal("too_many_versions", f"Only {MAX_VERSIONS} versions of a file are read.")
    commits = listed.commits[::-1]
    for place, commit in enumerate(commits):
        wanted = place == 0 or len(commits) - place < MAX_VERSIONS
        data = past.version(repo, commit) if wanted else skipped
        yield Commit(commit.sha, commit.at, commit.subject), data


def _objection(
    svc: Services, repo: Repository, investigation: Investigation, site: Site, now: datetime
) -> Refusal | None:
    """What became of our own bumps of the site: found by their branches, as the table may be a new one."""
    if site.key != investigation.site_key:
        sentence = f"On the default branch the bound is that of {site.key}, another one than was measured."
        return Refusal("site_moved", sentence)
    prefix = pull_request.branch_prefix(site)
    bumps = past.bump_pulls(repo, svc.installations.login(), prefix, now - COOLING)
    if bumps is None:
        sentence = f"More than {past.MAX_BUMP_PULLS} bumps were opened or closed within {COOLING_DAYS} days."
        return Refusal("too_many_bumps", sentence)
    for bump in bumps:
        svc.store.settle_bump(investigation.repo, bump.number, bump.state, bump.at)
    outcomes = svc.store.outcomes(investigation.repo)
    declined = next((bump for bump in bumps if outcomes[bump.number].state == "closed"), None)
    if declined is not None:
        return Refusal(
            "declined",
            f"A person closed the bump of this bound unmerged in #{declined.number} on {_day(declined.at)} "
            f"({declined.url}), so none is proposed before {_day(declined.at + COOLING)}.",
        )
    still_open = next((bump for bump in bumps if bump.state == "open"), None)
    if still_open is not None and not _may_be_replaced(svc, repo, investigation, still_open.number):
        return Refusal(
            "bump_is_open",
            f"A bump of this bound is open in #{still_open.number} since {_day(still_open.at)} "
            f"({still_open.url}); merge or close that first.",
        )
    return None


def _may_be_replaced(svc: Services, repo: Repository, investigation: Investigation, number: int) -> bool:
    """An open bump that is as the bot left it takes another value."""
    bump, pull = svc.store.bump_of_pull(investigation.repo, number), pulls.state_of(repo, number)
    return bump is not None and pull is not None and own_bumps.touched(svc, repo, bump, pull) is None


def _first_unknown(moves: BoundHistory) -> Refusal:
    """The cap counts from the first bound, so without it none is moved."""
    why = moves.gaps[0].why.sentence if moves.gaps else "Not every commit of its file could be listed."
    return Refusal(UNREADABLE, f"The first bound is not known, so none is moved: {why}")


def _moved_lately(
    repo: Repository, moves: BoundHistory, urls: Mapping[str, str], now: datetime
) -> Refusal | None:
    """Whoever moved it. A commit counts from the day it reached the branch; a date to come is today."""
    last = moves.changes[-1] if moves.changes else None
    if last is None:
        return None
    at = min(last.commit.at, now)
    if now - LATE_LANDING <= at < now - COOLING:
        at = min(max(at, past.landed(repo, last.commit.sha) or at), now)
    if at < now - COOLING:
        return None
    return Refusal(
        "cooling",
        f"The bound was moved {last.old:g} → {last.new:g} on {_day(at)} in {last.commit.sha[:7]} "
        f"({urls[last.commit.sha]}), so it is not moved again before {_day(at + COOLING)}.",
    )


def _move(change: BoundChange, urls: Mapping[str, str]) -> Json:
    return {
        "date": _day(change.commit.at),
        "old": change.old,
        "new": change.new,
        "factor": change.factor,
        "commit": change.commit.sha,
        "url": urls[change.commit.sha],
        "certain": change.certain,
    }


def _related(repo: Repository, paths: list[str], head: str, now: datetime) -> list[Json]:
    """The newest commits to the files that the bound's lineage led to."""
    found = [
        commit
        for path in paths[:MAX_RELATED_FILES]
        for commit in past.recent_commits(repo, path, head, now - RELATED_AGE, MAX_RELATED)
    ]
    newest = sorted(found, key=lambda commit: commit.at, reverse=True)[:MAX_RELATED]
    return [{"path": c.path, "commit": c.sha, "url": c.url, "date": _day(c.at)} for c in newest]


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
