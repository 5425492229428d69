"""The bot's own bumps beside the moves that git shows: rows of one site's ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bot.cli.inputs import InputError
from bot.report.ledger import Row
from bot.report.markdown import one_line
from bot.source import Site
from bot.source.history import BoundChange, BoundHistory, factor_over

if TYPE_CHECKING:
    from bot.cli.git_history import GitHistory
    from bot.store import Bump, BumpOutcome

MAX_SUBJECT: Final = 60
_ORIGIN: Final = re.compile(r"[/:]([A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?/?$")


class OwnBumps:
    """Bumps of one repository and what became of their pull requests; none without a database."""

    def __init__(self, bumps: Sequence[Bump], outcomes: Mapping[int, BumpOutcome]) -> None:
        self._bumps = bumps
        self._outcomes = outcomes

    def rows(self, site: Site, moves: BoundHistory, cap: float, expiry: datetime | None) -> list[Row]:
        """Every move of the site's literal in the order of the commits, and between them, by date, bumps that
        did not become one.

        `expiry`: what the comment beside the bound says; a bump in the database knows its own.
        """
        mine = [bump for bump in self._bumps if bump.site_key == site.key]
        taken: set[int] = set()
        dated: list[tuple[datetime, Row]] = []
        latest = datetime.min.replace(tzinfo=UTC)
        for change in moves.changes:
            bump = self._bump_of(change, mine, taken)
            if bump is not None:
                taken.add(bump.pull)
            last = change is moves.changes[-1]
            until = bump.expires_at if bump is not None else expiry
            latest = max(latest, change.commit.at)  # a rebased commit may be older than those before it
            dated.append((latest, self._moved(change, bump, until if last else None, cap)))
        for bump in mine:
            if bump.pull not in taken:
                dated.append((bump.proposed_at, self._unmoved(bump, moves.first)))
        return [row for _, row in sorted(dated, key=lambda pair: pair[0])]

    def _bump_of(self, change: BoundChange, bumps: Sequence[Bump], taken: set[int]) -> Bump | None:
        """The merged bump that made this change."""
        for bump in bumps:
            outcome = self._outcomes.get(bump.pull)
            declined = outcome is not None and outcome.state == "closed"
            same = (bump.old, bump.new) == (change.old, change.new) and bump.proposed_at <= change.commit.at
            if same and not declined and bump.pull not in taken:
                return bump
        return None

    def _moved(self, change: BoundChange, bump: Bump | None, until: datetime | None, cap: float) -> Row:
        commit = change.commit
        marks = ["over the cap"] if change.factor is not None and change.factor > cap * (1 + 1e-9) else []
        if until is not None:
            marks.append("expired" if until < datetime.now(UTC) else f"expires {until:%Y-%m-%d}")
        return Row(
            date=f"{commit.at:%Y-%m-%d}",
            old=change.old,
            new=change.new,
            factor=change.factor,
            commit=commit.sha,
            subject=one_line(commit.subject, MAX_SUBJECT),
            pull=None if bump is None else bump.pull,
            certain=change.certain,
            marks=tuple(marks),
        )

    def _unmoved(self, bump: Bump, first: float | None) -> Row:
        outcome = self._outcomes.get(bump.pull)
        state = outcome.state if outcome is not None else "proposed"
        mark = {"closed": "declined", "merged": "merged elsewhere"}.get(state, state)
        factor = factor_over(first, bump.new)
        date = f"{bump.proposed_at:%Y-%m-%d}"
        return Row(date, bump.old, bump.new, factor, pull=bump.pull, marks=(mark,))


def own_bumps(database: str | None, repository: str | None, git: GitHistory) -> OwnBumps:
    """Those of this repository. Raises InputError for a database that is not there or does not say which."""
    if database is None:
        return OwnBumps((), {})
    from sqlalchemy.exc import DatabaseError

    from bot.store import Store, open_database, sqlite_file
    from bot.verdict import Refusal

    file = sqlite_file(database)
    if isinstance(file, Refusal):
        raise InputError(file.sentence)
    if not file.is_file():
        raise InputError(f"{file} is not there; give the database that `kl-triage serve` works on.")
    try:
        store = Store(open_database(database))
        bumps = store.ledger()
    except DatabaseError:
        raise InputError(f"{file} cannot be read as the bot's database.") from None
    known = {bump.repo.lower(): bump.repo for bump in bumps}
    wanted = (repository or _origin(git) or (next(iter(known)) if len(known) == 1 else "")).lower()
    if known and not wanted:
        raise InputError(
            "The database holds several repositories; name this one with --repository OWNER/REPO."
        )
    name = known.get(wanted, "")
    return OwnBumps([bump for bump in bumps if bump.repo == name], store.outcomes(name))


def _origin(git: GitHistory) -> str:
    found = _ORIGIN.search(git.origin)
    return found[1] if found is not None else ""
