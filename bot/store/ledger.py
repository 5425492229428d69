"""The ledger: every bump the bot proposed, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, select, update

from bot.store.base import utcnow
from bot.store.room import Room
from bot.store.tables import Investigation, Rerun
from bot.store.tables_ledger import Bump, BumpOutcome


class LedgerStore(Room):
    """The tables `ledger` and `bump_outcomes`."""

    def record_bump(self, bump: Bump) -> None:
        """A bump of the same site to the same value is in the ledger once; what the bot wrote last of it is
        kept."""
        with self._session.begin() as session:
            same = select(Bump).where(
                Bump.repo == bump.repo,
                Bump.site_key == bump.site_key,
                Bump.new == bump.new,
                Bump.pull == bump.pull,
            )
            known = session.scalar(same)
            if known is None:
                session.add(bump)
            else:
                known.commit, known.body_digest = bump.commit, bump.body_digest

    def wrote_bump(self, bump: int, **values: str) -> None:
        """`commit` or `body_digest` of what the bot wrote last."""
        with self._session.begin() as session:
            session.execute(update(Bump).where(Bump.id == bump).values(**values))

    def bump_of_pull(self, repo: str, pull: int) -> Bump | None:
        """The newest entry of a pull request of ours."""
        with self._session() as session:
            mine = select(Bump).where(Bump.repo == repo, Bump.pull == pull)
            return session.scalars(mine.order_by(Bump.id.desc()).limit(1)).first()

    def settle_bump(
        self, repo: str, pull: int, state: str, at: datetime, expires_at: datetime | None = None
    ) -> None:
        """What became of a pull request of ours, as last seen; `expires_at` replaces that of its entries.

        One that the bot gave up itself stays so, for GitHub shows it as closed.
        """
        with self._session.begin() as session:
            known = session.get(BumpOutcome, (repo, pull))
            if known is not None and known.state == "given_up" and state == "closed":
                return
            session.merge(BumpOutcome(repo=repo, pull=pull, state=state, at=at))
            if expires_at is not None:
                mine = update(Bump).where(Bump.repo == repo, Bump.pull == pull)
                session.execute(mine.values(expires_at=expires_at))

    def unsettled(self, repo: str) -> Sequence[int]:
        """Numbers of the pull requests of ours that were open when last seen, or not looked at since."""
        with self._session() as session:
            done = select(BumpOutcome.pull).where(BumpOutcome.repo == repo, BumpOutcome.state != "open")
            mine = select(Bump.pull).where(Bump.repo == repo, Bump.pull.not_in(done))
            return session.scalars(mine.distinct().order_by(Bump.pull)).all()

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

    def reruns_since(self, repo: str, since: datetime) -> Sequence[Rerun]:
        """Reruns of all investigations of a repository that were planned since then, oldest first."""
        with self._session() as session:
            mine = (
                select(Rerun)
                .join(Investigation, Investigation.id == Rerun.investigation)
                .where(func.lower(Investigation.repo) == repo.lower(), Rerun.created_at >= since)
                .order_by(Rerun.created_at, Rerun.request)
            )
            return session.scalars(mine).all()

    def bumped_since(self, repo: str, site_key: str, days: int, now: datetime | None = None) -> Bump | None:
        """The newest bump of the site within the cooling time."""
        since = (now or utcnow()) - timedelta(days=days)
        recent = [bump for bump in self.bumps(repo, site_key) if bump.proposed_at >= since]
        return recent[-1] if recent else None
