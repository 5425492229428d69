"""Where the bot is installed, and what was accepted from whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, delete, func, not_, or_, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session

from bot.store.room import Room
from bot.store.tables import Delivery, Installed, Obeyed

OBEYED_KEPT: Final = timedelta(days=30)


def see_installed(session: Session, repo: str, installation: int) -> None:
    """An event of a repository came, so the bot is there. A late one of an installation that has ended does
    not bring it back; one of a later installation, whose id is larger, does."""
    row = insert(Installed).values(repo=repo, installation=installation)
    later = row.excluded.installation > Installed.installation
    session.execute(
        row.on_conflict_do_update(
            index_elements=["repo"],
            set_={"installation": row.excluded.installation, "active": True},
            where=later,
        )
    )


class InstalledStore(Room):
    """The tables `installed`, `obeyed`, and what became of `deliveries`."""

    def active_repositories(self) -> Sequence[Installed]:
        """The one that was swept longest ago comes first."""
        with self._session() as session:
            active = select(Installed).where(Installed.active)
            return session.scalars(active.order_by(Installed.swept_at, Installed.repo)).all()

    def installed(self, repo: str) -> Installed | None:
        with self._session() as session:
            return session.get(Installed, repo)

    def swept(self, repo: str, at: datetime) -> None:
        with self._session.begin() as session:
            session.execute(update(Installed).where(Installed.repo == repo).values(swept_at=at))

    def change_installation(
        self, installation: int, repos: Sequence[str], *, active: bool, at: datetime
    ) -> None:
        """What an event of that time says, unless a later one spoke. No `repos`: all that are known."""
        with self._session.begin() as session:
            for repo in repos:
                see_installed(session, repo, installation)
            mine = update(Installed).where(
                Installed.installation == installation,
                or_(Installed.changed_at.is_(None), Installed.changed_at <= at),
            )
            if repos:
                mine = mine.where(Installed.repo.in_(repos))
            session.execute(mine.values(active=active, changed_at=at))

    def left(self, installation: int) -> set[str]:
        """The repositories of an installation where the bot is no more."""
        with self._session() as session:
            gone = select(Installed.repo).where(Installed.installation == installation, ~Installed.active)
            return set(session.scalars(gone))

    def delivery_failed(self, workflow: str) -> None:
        """The work of a delivery could not be done: a redelivery does it again. Work that a sweep queued had
        no delivery, and gets a row of its own."""
        with self._session.begin() as session:
            mine = update(Delivery).where(Delivery.workflow == workflow).values(state="failed")
            if session.scalar(mine.returning(Delivery.guid)) is None:
                row = insert(Delivery).values(
                    guid=workflow, event="sweep", outcome="", workflow=workflow, state="failed"
                )
                session.execute(row.on_conflict_do_nothing())

    def failed_deliveries(self, since: datetime) -> Sequence[Delivery]:
        """Those whose work failed, and was not done again."""
        with self._session() as session:
            failed = select(Delivery).where(Delivery.state == "failed", Delivery.received_at >= since)
            return session.scalars(failed.order_by(Delivery.received_at)).all()

    def done_again(self, workflow: str, by: str) -> None:
        """The work of these deliveries was queued once more, as the workflow `by`."""
        with self._session.begin() as session:
            mine = update(Delivery).where(Delivery.workflow == workflow, Delivery.state == "failed")
            session.execute(mine.values(state="accepted", workflow=by, tries=Delivery.tries + 1))

    def forget_deliveries(self, before: datetime) -> None:
        """GitHub sends none again that is older than three days."""
        with self._session.begin() as session:
            session.execute(delete(Delivery).where(Delivery.received_at < before))

    def obey(
        self, repo: str, comment_id: int, author: str, at: datetime, *, cooldown: timedelta | None
    ) -> datetime | None:
        """Notes a command of a comment as it stood at `at`. Within `cooldown` of another of the author's that
        was under one, nothing is noted and the end of the cooldown comes back. None: a writer, who has none.
        """
        who, repo = author.lower(), repo.lower()
        with self._session.begin() as session:
            # A write comes first: it takes SQLite's one write lock, so that what is read after it holds.
            old = Obeyed.at < at - max(OBEYED_KEPT, cooldown or OBEYED_KEPT)
            session.execute(delete(Obeyed).where(Obeyed.repo == repo, old))
            if cooldown is not None:
                this = and_(Obeyed.comment_id == comment_id, Obeyed.at == at)  # the step may run again
                others = select(func.max(Obeyed.at)).where(
                    Obeyed.repo == repo, Obeyed.author == who, ~Obeyed.writer, not_(this)
                )
                last = session.scalar(others)
                if last is not None and at < last + cooldown:
                    return last + cooldown
            writer = cooldown is None
            session.merge(Obeyed(repo=repo, comment_id=comment_id, author=who, writer=writer, at=at))
        return None

    def disobey(self, repo: str, comment_id: int, at: datetime) -> None:
        """Takes back what `obey` noted of the comment as it stood at `at`: nothing came of it."""
        this = and_(Obeyed.repo == repo.lower(), Obeyed.comment_id == comment_id, Obeyed.at == at)
        with self._session.begin() as session:
            session.execute(delete(Obeyed).where(this))
