"""The ledger: every bump the bot proposed, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select

from bot.store.base import utcnow
from bot.store.room import Room
from bot.store.tables_ledger import Bump, BumpOutcome


class LedgerStore(Room):
    """The tables `ledger` and `bump_outcomes`."""

    def record_bump(self, bump: Bump) -> None:
        """A bump of the same site to the same value is in the ledger once."""
        with self._session.begin() as session:
            same = select(Bump).where(
                Bump.repo == bump.repo,
                Bump.site_key == bump.site_key,
                Bump.new == bump.new,
                Bump.pull == bump.pull,
            )
            if session.scalar(same) is None:
                session.add(bump)

    def settle_bump(self, repo: str, pull: int, state: str, at: datetime) -> None:
        """What became of a pull request of ours, as last seen."""
        with self._session.begin() as session:
            session.merge(BumpOutcome(repo=repo, pull=pull, state=state, at=at))

    def outcomes(self, repo: str) -> dict[int, BumpOutcome]:
        """By the number of the pull request."""
        with self._session() as session:
            mine = select(BumpOutcome).where(BumpOutcome.repo == repo)
            return {found.pull: found for found in session.scalars(mine)}

    def ledger(self) -> Sequence[Bump]:
        """Every bump of every repository, oldest first."""
        with self._session() as session:
            return session.scalars(select(Bump).order_by(Bump.proposed_at, Bump.id)).all()

    def bumps(self, repo: str, site_key: str) -> Sequence[Bump]:
        """The ledger of a site, oldest first."""
        with self._session() as session:
            mine = select(Bump).where(Bump.repo == repo, Bump.site_key == site_key).order_by(Bump.proposed_at)
            return session.scalars(mine).all()

    def bumped_since(self, repo: str, site_key: str, days: int, now: datetime | None = None) -> Bump | None:
        """The newest bump of the site within the cooling time."""
        since = (now or utcnow()) - timedelta(days=days)
        recent = [bump for bump in self.bumps(repo, site_key) if bump.proposed_at >= since]
        return recent[-1] if recent else None
