"""Who is to hear of a site: pull requests that went red at it, and the investigations that answer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, Select, func, select, update
from sqlalchemy.orm import Session

from bot.store.room import Room
from bot.store.tables import Hit, Investigation

WAITING = "waiting"
STOPPED = "stopped"
ANSWERED = "answered"
MAX_PAST = 50
MAX_VALUES = 200
"""Readings that are kept of a commit beside those of one job: a CI run again and again must not fill the
table."""


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
        """False: that investigation has ended, so nobody would answer. What an earlier job of the same commit
        showed is kept beside what this one did.

        It cannot end between the look and the write: who ends it finds every hit that waits.
        """
        with self._session.begin() as session:
            if not _held_open(session, investigation):
                return False
            unite(hit, session.get(Hit, (hit.repo, hit.site_key, hit.pull)))
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

    def answered_of(self, repo: str, pull: int) -> Sequence[Hit]:
        """The sites at which a pull request was answered with the verdict of another."""
        with self._session() as session:
            mine = select(Hit).where(Hit.repo == repo, Hit.pull == pull, Hit.state == ANSWERED)
            return session.scalars(mine.order_by(Hit.site_key)).all()

    def stop_waits(self, repo: str, pull: int, comment_id: int) -> Sequence[Hit]:
        """The waits of a pull request end; those that this comment ended, also when it is asked again."""
        stopped = f"{STOPPED}:{comment_id}"
        with self._session.begin() as session:
            mine = update(Hit).where(Hit.repo == repo, Hit.pull == pull, Hit.state == WAITING)
            session.execute(mine.values(state=stopped))
            ended = select(Hit).where(Hit.repo == repo, Hit.pull == pull, Hit.state == stopped)
            return session.scalars(ended.order_by(Hit.site_key)).all()

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

    def opened_by(self, key: str) -> str | None:
        """The address of the job that opened this investigation, open or ended; None where there is none."""
        with self._session() as session:
            found = session.get(Investigation, key)
            return None if found is None else found.job_url

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


def unite(hit: Hit, earlier: Hit | None) -> None:
    """Adds to `hit` what an earlier job of the same commit showed that waits still.

    A milder job does not hide a worse one, and one that nobody asked for does not replace a command.
    """
    if earlier is None or earlier.state != WAITING or earlier.head_sha != hit.head_sha:
        return
    if earlier.facts["commanded"] and not hit.facts["commanded"]:
        hit.event, hit.facts = earlier.event, _united(earlier.facts, hit.facts)
    else:
        hit.facts = _united(hit.facts, earlier.facts)


def _united(facts: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """`facts` with the readings of another job of the commit; what does not go together bars an answer."""
    more = unseen(other["trigger"], facts["trigger"])
    also_red = [*facts["also_red"], *other["also_red"]]
    if (facts["test"], facts["label"]) != (other["test"], other["label"]) or len(more) > MAX_VALUES:
        also_red.append(other["test"])
        more = []
    return {
        **facts,
        "trigger": [*facts["trigger"], *more],
        "values": [*facts["values"], *(r["value"] for r in more if r.get("value") is not None)],
        "also_red": list(dict.fromkeys(also_red)),
        "unfit": facts["unfit"] or other["unfit"],
        "labels": [label for label in facts["labels"] if label in other["labels"]],
        "bound": facts["bound"] if facts["bound"] == other["bound"] else None,
    }


def unseen(records: Iterable[Mapping[str, Any]], known: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The readings of jobs that are not among the known ones.

    A job that GitHub carried over to another attempt of its run has another id and shows the very same.
    """
    seen = list(known)
    sources, shown = {record.get("source") for record in seen}, [_without_source(record) for record in seen]
    return [
        dict(record)
        for record in records
        if record.get("source") not in sources and _without_source(record) not in shown
    ]


def _without_source(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "source"}


def _of(repo: str, site_key: str) -> Select[Investigation]:
    return select(Investigation).where(Investigation.repo == repo, Investigation.site_key == site_key)


def _held_open(session: Session, investigation: str) -> bool:
    """An update that changes nothing, but that whoever wants to end the investigation has to wait for."""
    row = update(Investigation).where(Investigation.id == investigation, Investigation.state == "open")
    held = session.execute(row.values(state="open"))
    return isinstance(held, CursorResult) and held.rowcount == 1
