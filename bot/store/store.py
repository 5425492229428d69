"""Reading and writing the tables: short transactions, every write idempotent by a natural key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Select, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from bot.store.base import utcnow
from bot.store.check_names import check_name
from bot.store.history import HistoryStore
from bot.store.hits import HitStore, unseen
from bot.store.installed import InstalledStore
from bot.store.ledger import LedgerStore
from bot.store.tables import Decision, Investigation, Rerun, StoredReading

Json = Mapping[str, Any]
MAX_NEWEST: Final = 200
SETTLED: Final = "settled"
"""The fact of an investigation whose verdict stands while it is being told."""


class Store(HistoryStore, HitStore, InstalledStore, LedgerStore):
    """All access to the tables but the webhook's own transaction (bot/triage/intake.py)."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(sessionmaker(engine, expire_on_commit=False))

    def note(self, repo: str, subject: str, code: str, sentence: str) -> None:
        """One line in the log of decisions; the same line twice is written once (steps may run again)."""
        with self._session.begin() as session:
            same = select(Decision).where(
                Decision.repo == repo,
                Decision.subject == subject,
                Decision.code == code,
                Decision.sentence == sentence,
            )
            if session.scalar(same) is None:
                session.add(Decision(repo=repo, subject=subject, code=code, sentence=sentence))

    def decisions(self, limit: int = 200) -> Sequence[Decision]:
        with self._session() as session:
            return session.scalars(select(Decision).order_by(Decision.id.desc()).limit(limit)).all()

    def forget_decisions(self, before: datetime) -> None:
        with self._session.begin() as session:
            session.execute(delete(Decision).where(Decision.at < before))

    def open_investigation(
        self, investigation: Investigation, trigger: Iterable[Json], history: Iterable[Json] = ()
    ) -> bool:
        """False when another job opened it already, or another one of the same site is still open.

        True again for the same job: the step that opens it may run twice. Its check run is named here, where
        no other site of the commit can take the same name meanwhile.
        """
        try:
            with self._session.begin() as session:
                known = session.get(Investigation, investigation.id)
                if known is not None:
                    return known.job_url == investigation.job_url
                session.add(investigation)
                session.flush()  # from here on this is the one writer
                names = _check_names(session, investigation)
                name = check_name(investigation.site_key, names)
                investigation.facts = {**investigation.facts, "check_name": name}
                _add_readings(session, investigation.id, "trigger", trigger)
                _add_readings(session, investigation.id, "history", history)
        except IntegrityError:  # the index that allows one open investigation a site
            return False
        return True

    def investigation(self, key: str) -> Investigation:
        """Raises KeyError for an unknown id."""
        with self._session() as session:
            found = session.get(Investigation, key)
            if found is None:
                raise KeyError(key)
            return found

    def investigations(self, limit: int = 100) -> Sequence[Investigation]:
        with self._session() as session:
            newest = select(Investigation).order_by(Investigation.created_at.desc()).limit(limit)
            return session.scalars(newest).all()

    def investigations_of(self, repo: str, pull: int) -> Sequence[Investigation]:
        """The newest of a pull request, newest first."""
        mine = select(Investigation).where(Investigation.repo == repo, Investigation.pull == pull)
        return self._newest(mine)

    def investigations_at(self, repo: str, head_sha: str) -> Sequence[Investigation]:
        """The newest of a commit, newest first."""
        mine = select(Investigation).where(Investigation.repo == repo, Investigation.head_sha == head_sha)
        return self._newest(mine)

    def _newest(self, mine: Select[Investigation]) -> Sequence[Investigation]:
        with self._session() as session:
            newest = mine.order_by(Investigation.created_at.desc(), Investigation.id).limit(MAX_NEWEST)
            return session.scalars(newest).all()

    def open_ones(self) -> Sequence[Investigation]:
        with self._session() as session:
            return session.scalars(select(Investigation).where(Investigation.state == "open")).all()

    def join(
        self,
        key: str,
        trigger: Iterable[Json],
        also_red: Iterable[str],
        barred: Json | None = None,
    ) -> bool:
        """Another job of the commit went red at the site while it is measured: what it showed counts too.

        A job, the `source` of its readings, counts once; `barred`: why no bump may follow. False: too late,
        the verdict stands or was told already.
        """
        with self._session.begin() as session:
            found = _locked(session, key)
            if found.state != "open" or SETTLED in found.facts:
                return False
            known = found.facts["also_red"]
            more = [test for test in dict.fromkeys(also_red) if test not in known]
            bar = found.facts["bump_refusal"] or (None if barred is None else dict(barred))
            found.facts = {**found.facts, "also_red": [*known, *more], "bump_refusal": bar}
            records = session.scalars(select(StoredReading.record).where(StoredReading.investigation == key))
            fresh = unseen(trigger, (record for record in records if record["arm"] == "trigger"))
            for source in dict.fromkeys(record["source"] for record in fresh):
                _add_readings(session, key, source, (r for r in fresh if r["source"] == source))
            return True

    def settle(self, key: str, told: Json) -> None:
        """The verdict stands as it is: no reading joins any more, nothing halts the investigation.

        `told`: what the judge was told beside the readings. Settling again changes nothing.
        """
        with self._session.begin() as session:
            found = _locked(session, key)
            found.facts = {SETTLED: dict(told), **found.facts}

    def outrun(self, key: str, why: Json) -> None:
        """A later job of the commit showed more than this ended investigation covers, so its verdict is
        withdrawn. `why`: code, sentence and the job's job_url."""
        with self._session.begin() as session:
            found = _locked(session, key)
            stands = {"kind": "refused", "reason": why["code"], "sentence": why["sentence"]}
            found.facts = {**found.facts, "outrun": dict(why)}
            found.verdict = {**(found.verdict or {}), **stands, "proposal": None, "trace": []}

    def earlier(self, key: str) -> Sequence[Investigation]:
        """Finished investigations of the same site on the same commit that began before it, oldest first."""
        with self._session() as session:
            this = session.get_one(Investigation, key)
            mine = select(Investigation).where(
                Investigation.repo == this.repo,
                Investigation.site_key == this.site_key,
                Investigation.head_sha == this.head_sha,
                Investigation.state == "done",
                Investigation.created_at < this.created_at,
            )
            return session.scalars(mine.order_by(Investigation.created_at)).all()

    def remember(self, key: str, **facts: Any) -> None:
        """Adds to the facts of an investigation."""
        with self._session.begin() as session:
            found = _locked(session, key)
            found.facts = {**found.facts, **facts}

    def remember_more(self, key: str, **items: str) -> None:
        """Adds an item to lists among the facts of an investigation, where it is not in them yet."""
        with self._session.begin() as session:
            found = _locked(session, key)
            lists = {name: found.facts.get(name) or [] for name in items}
            more = {name: [*lists[name], item] for name, item in items.items() if item not in lists[name]}
            found.facts = {**found.facts, **more}

    def remember_once(self, key: str, **facts: Any) -> bool:
        """Adds facts of an open investigation that has none of these names and is not settled yet; False: it
        stays as it is."""
        with self._session.begin() as session:
            found = _locked(session, key)
            if found.state != "open" or found.facts.keys() & {*facts, SETTLED}:
                return False
            found.facts = {**found.facts, **facts}
            return True

    def finish(self, key: str, verdict: Json | None) -> None:
        with self._session.begin() as session:
            found = session.get_one(Investigation, key)
            found.state, found.finished_at = "done", utcnow()
            found.verdict = None if verdict is None else dict(verdict)

    def plan_rerun(self, request: str, investigation: str, plan: Json) -> Rerun:
        """The rerun of this request, made if it is not there yet."""
        with self._session.begin() as session:
            found = session.get(Rerun, request)
            if found is None:
                found = Rerun(request=request, investigation=investigation, plan=dict(plan))
                session.add(found)
            return found

    def update_rerun(self, request: str, **values: Any) -> None:
        with self._session.begin() as session:
            found = session.get_one(Rerun, request)
            for name, value in values.items():
                setattr(found, name, value)

    def reruns(self, investigation: str) -> Sequence[Rerun]:
        with self._session() as session:
            mine = (
                select(Rerun)
                .where(Rerun.investigation == investigation)
                .order_by(Rerun.created_at, Rerun.request)
            )
            return session.scalars(mine).all()

    def left_out(self, states: Collection[str], since: datetime, limit: int) -> Sequence[Rerun]:
        """Reruns in one of these states whose investigation has ended since then, the oldest first."""
        with self._session() as session:
            ended = select(Investigation.id).where(Investigation.finished_at >= since)
            mine = select(Rerun).where(Rerun.state.in_(states), Rerun.investigation.in_(ended))
            return session.scalars(mine.order_by(Rerun.created_at, Rerun.request).limit(limit)).all()

    def rerun(self, request: str) -> Rerun | None:
        with self._session() as session:
            return session.get(Rerun, request)

    def add_readings(self, investigation: str, source: str, records: Iterable[Json]) -> None:
        """Collecting the same source again adds nothing."""
        with self._session.begin() as session:
            _add_readings(session, investigation, source, records)

    def records(self, investigation: str) -> list[dict[str, Any]]:
        with self._session() as session:
            mine = (
                select(StoredReading)
                .where(StoredReading.investigation == investigation)
                .order_by(StoredReading.id)
            )
            return [dict(row.record) for row in session.scalars(mine)]


def _locked(session: Session, key: str) -> Investigation:
    """The row, kept from other writers until the transaction ends: two that add facts at once both count."""
    row = Investigation.id == key
    session.execute(update(Investigation).where(row).values(state=Investigation.state))
    return session.get_one(Investigation, key)


def _check_names(session: Session, this: Investigation) -> dict[str, str]:
    """Name of the check run of each site that was or is judged on the commit of this investigation."""
    others = select(Investigation).where(
        Investigation.repo == this.repo, Investigation.head_sha == this.head_sha, Investigation.id != this.id
    )
    return {found.site_key: found.facts["check_name"] for found in session.scalars(others)}


def _add_readings(session: Session, investigation: str, source: str, records: Iterable[Json]) -> None:
    there = select(StoredReading.number).where(
        StoredReading.investigation == investigation, StoredReading.source == source
    )
    known = set(session.scalars(there))
    session.add_all(
        StoredReading(investigation=investigation, source=source, number=number, record=dict(record))
        for number, record in enumerate(records)
        if number not in known
    )
