"""Who is to hear of a site: pull requests that went red at it, and the investigations that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import CursorResult, Select, func, select, update
from sqlalchemy.orm import Session

from bot.store.room import Room
from bot.store.tables import Hit, Investigation

WAITING = "waiting"
MAX_PAST = 50


class HitStore(Room):
    """The table `hits`, and what is known of a site."""

    def hit(self, repo: str, site_key: str, pull: int) -> Hit | None:
        with self._session() as session:
            return session.get(Hit, (repo, site_key, pull))

    def record_hit(self, hit: Hit) -> None:
        """One row a pull request and site: the newest red job counts."""
        with self._session.begin() as session:
            session.merge(hit)

    def wait_for(self, hit: Hit, investigation: str) -> bool:
        """False: that investigation has ended, so nobody would answer.

        It cannot end between the look and the write: who ends it finds every hit that waits.
        """
        with self._session.begin() as session:
            if not _held_open(session, investigation):
                return False
            hit.state, hit.investigation = WAITING, investigation
            session.merge(hit)
            return True

    def drop_hit(self, repo: str, site_key: str, pull: int) -> None:
        with self._session.begin() as session:
            found = session.get(Hit, (repo, site_key, pull))
            if found is not None:
                session.delete(found)

    def waiting_for(self, investigation: str) -> Sequence[Hit]:
        """Who came first comes first."""
        with self._session() as session:
            mine = select(Hit).where(Hit.investigation == investigation, Hit.state == WAITING)
            return session.scalars(mine.order_by(Hit.at, Hit.pull)).all()

    def waits_of(self, repo: str, pull: int) -> Sequence[Hit]:
        """The sites for whose verdict a pull request waits."""
        with self._session() as session:
            mine = select(Hit).where(Hit.repo == repo, Hit.pull == pull, Hit.state == WAITING)
            return session.scalars(mine.order_by(Hit.site_key)).all()

    def waiting_beside(self, repo: str, site_key: str, pull: int) -> int:
        """How many other pull requests wait for a verdict on the site."""
        with self._session() as session:
            others = select(func.count()).where(
                Hit.repo == repo, Hit.site_key == site_key, Hit.pull != pull, Hit.state == WAITING
            )
            return session.scalar(others) or 0

    def left_waiting(self, before: datetime) -> list[str]:
        """Investigations that ended before then and that hits still wait for."""
        with self._session() as session:
            ended = select(Investigation.id).where(Investigation.finished_at < before)
            lost = select(Hit.investigation).where(Hit.state == WAITING, Hit.investigation.in_(ended))
            return sorted({found for found in session.scalars(lost) if found is not None})

    def was_opened_by(self, key: str, job_url: str) -> bool:
        """Whether this investigation is there, open or ended, and this job opened it."""
        with self._session() as session:
            found = session.get(Investigation, key)
            return found is not None and found.job_url == job_url

    def open_on(self, repo: str, site_key: str) -> Investigation | None:
        """The one open investigation of a site."""
        with self._session() as session:
            return session.scalar(_of(repo, site_key).where(Investigation.state == "open"))

    def ended_on(self, repo: str, site_key: str) -> Sequence[Investigation]:
        """The newest ended investigations of a site, newest first."""
        with self._session() as session:
            ended = _of(repo, site_key).where(Investigation.finished_at.is_not(None))
            newest = ended.order_by(Investigation.finished_at.desc(), Investigation.id).limit(MAX_PAST)
            return session.scalars(newest).all()

    def judged_on(self, repo: str, site_key: str, head_sha: str) -> Investigation | None:
        """An ended investigation of the site on this commit."""
        with self._session() as session:
            ended = _of(repo, site_key).where(
                Investigation.head_sha == head_sha, Investigation.finished_at.is_not(None)
            )
            return session.scalar(ended.order_by(Investigation.finished_at.desc()).limit(1))


def _of(repo: str, site_key: str) -> Select[Investigation]:
    return select(Investigation).where(Investigation.repo == repo, Investigation.site_key == site_key)


def _held_open(session: Session, investigation: str) -> bool:
    """An update that changes nothing, but that whoever wants to end the investigation has to wait for."""
    row = update(Investigation).where(Investigation.id == investigation, Investigation.state == "open")
    held = session.execute(row.values(state="open"))
    return isinstance(held, CursorResult) and held.rowcount == 1
