"""The tables of past runs; all of it can be read from GitHub again while GitHub keeps its logs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index
from sqlalchemy.orm import Mapped, mapped_column

from bot.store.base import Base


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
