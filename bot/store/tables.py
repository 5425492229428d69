"""The tables. Times are UTC. Everything here can be rebuilt from GitHub but the ledger and raw readings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


def utcnow() -> datetime:
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """SQLite forgets time zones; a time read back is made aware again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[str]: JSON}  # noqa: RUF012


class Delivery(Base):
    """One webhook delivery; its GUID makes a redelivery harmless."""

    __tablename__ = "deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    event: Mapped[str]
    outcome: Mapped[str]
    received_at: Mapped[datetime] = mapped_column(default=utcnow)


class Investigation(Base):
    """All work on one (repository, site), begun by one red commit."""

    __tablename__ = "investigations"
    __table_args__ = (
        Index("one_open_per_site", "repo", "site_key", unique=True, sqlite_where=text("state = 'open'")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    repo: Mapped[str] = mapped_column(index=True)
    installation: Mapped[int]
    pull: Mapped[int]
    test: Mapped[str]
    """path::Class.method"""
    site_key: Mapped[str] = mapped_column(index=True)
    head_sha: Mapped[str]
    base_sha: Mapped[str]
    job_url: Mapped[str]
    facts: Mapped[dict[str, Any]]
    """What was found on the way: site, refusals, other red tests, comment, evidence, proposal."""
    state: Mapped[str] = mapped_column(default="open")
    verdict: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]


class Rerun(Base):
    """One dispatched rerun job: its plan, its run, and how it ended."""

    __tablename__ = "reruns"

    request: Mapped[str] = mapped_column(primary_key=True)
    investigation: Mapped[str] = mapped_column(ForeignKey("investigations.id"), index=True)
    plan: Mapped[dict[str, Any]]
    run_id: Mapped[int | None]
    url: Mapped[str | None]
    state: Mapped[str] = mapped_column(default="planned")
    trouble: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class StoredReading(Base):
    """A reading as its JSON record; (investigation, source, number) makes collecting idempotent."""

    __tablename__ = "readings"
    __table_args__ = (UniqueConstraint("investigation", "source", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    investigation: Mapped[str] = mapped_column(ForeignKey("investigations.id"), index=True)
    source: Mapped[str]
    number: Mapped[int]
    record: Mapped[dict[str, Any]]


class Decision(Base):
    """One line per thing the bot decided, most of all when it decided to do nothing."""

    __tablename__ = "decisions"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utcnow)
    repo: Mapped[str]
    subject: Mapped[str]
    code: Mapped[str]
    sentence: Mapped[str]


class Bump(Base):
    """The ledger: every bump this bot proposed."""

    __tablename__ = "ledger"
    __table_args__ = (UniqueConstraint("repo", "site_key", "new", "pull"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    repo: Mapped[str] = mapped_column(index=True)
    site_key: Mapped[str] = mapped_column(index=True)
    investigation: Mapped[str]
    old: Mapped[float]
    new: Mapped[float]
    pull: Mapped[int]
    evidence: Mapped[str]
    proposed_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    """From then on the comment beside the bound asks for another look at it."""


class BumpOutcome(Base):
    """What became of a bump's pull request; looked up on GitHub when the next one is considered."""

    __tablename__ = "bump_outcomes"

    repo: Mapped[str] = mapped_column(primary_key=True)
    pull: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    """open | merged | closed (a person declined it)"""
    at: Mapped[datetime]


class HarvestedRun(Base):
    """One attempt of a past run; `done` when each of its jobs is settled, so that it is not listed again."""

    __tablename__ = "past_runs"

    repo: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    """done | open"""
    reader: Mapped[str]
    """Digest of the pack and the reader that settled its jobs; for another one it is open."""


class HarvestedJob(Base):
    """A job of a past run of the default branch. `repo` is in lower case here and below."""

    __tablename__ = "past_jobs"
    __table_args__ = (Index("jobs_of_a_run", "repo", "run_id"),)

    repo: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    run_id: Mapped[int] = mapped_column(BigInteger)
    attempt: Mapped[int]
    name: Mapped[str]
    labels: Mapped[list[str]]
    runner: Mapped[str | None]
    commit: Mapped[str]
    started_at: Mapped[datetime]
    completed_at: Mapped[datetime | None]
    state: Mapped[str]
    """stored | nothing (no KL reading in the log) | expired | unreadable (asked for again) | skipped (no KL
    job)"""
    complete: Mapped[bool] = mapped_column(default=True)
    """The log was seen to its end."""
    readings: Mapped[int] = mapped_column(default=0)
    reader: Mapped[str]
    """Digest of the pack and the reader that it was last read with; another one asks for it again."""


class HistoryReading(Base):
    """A reading of a past run as its JSON record (arm `history`)."""

    __tablename__ = "past_readings"
    __table_args__ = (Index("past_of_a_test", "repo", "test", "at"),)

    repo: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    test: Mapped[str]
    """path::Class.method, the path as it is in the tree."""
    label: Mapped[str | None]
    runner_labels: Mapped[str]
    """All that the job asked for: sorted, in lower case, each between line ends, so that a whole label is
    found by LIKE."""
    at: Mapped[datetime]
    """When its job started: the order of past runs."""
    record: Mapped[dict[str, Any]]
