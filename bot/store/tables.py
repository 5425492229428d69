"""The tables of the story. Times are UTC. Everything here can be rebuilt from GitHub but raw readings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from bot.store.base import Base, utcnow


class Delivery(Base):
    """One webhook delivery; its GUID makes a redelivery harmless."""

    __tablename__ = "deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    event: Mapped[str]
    outcome: Mapped[str]
    workflow: Mapped[str | None] = mapped_column(index=True)
    """The workflow it queued."""
    state: Mapped[str] = mapped_column(default="accepted")
    """accepted | failed: its work could not be done, so that a redelivery does it again"""
    tries: Mapped[int] = mapped_column(default=1)
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
    sent_at: Mapped[datetime | None]
    """When its dispatch was sent, or tried, last."""


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
    __table_args__ = (Index("decisions_by_subject", "repo", "subject", "code"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utcnow)
    repo: Mapped[str]
    subject: Mapped[str]
    code: Mapped[str]
    sentence: Mapped[str]


class Hit(Base):
    """A pull request whose CI went red at a site: who is to hear of what is found there."""

    __tablename__ = "hits"

    repo: Mapped[str] = mapped_column(primary_key=True)
    site_key: Mapped[str] = mapped_column(primary_key=True)
    pull: Mapped[int] = mapped_column(primary_key=True)
    head_sha: Mapped[str]
    event: Mapped[dict[str, Any]]
    """The red job as `bot.github.events.RedJob`, so that it can be looked at again."""
    facts: Mapped[dict[str, Any]]
    """What the red jobs of the commit showed and how it is to be measured (bot/triage/red/opening.py)."""
    investigation: Mapped[str | None]
    """The one whose verdict it gets."""
    state: Mapped[str]
    """measured (its own commit is or was) | waiting (for another's verdict) | answered (with another's) |
    stopped:<comment id> (by a command, while it waited)"""
    at: Mapped[datetime] = mapped_column(default=utcnow)


class Installed(Base):
    """A repository that the bot was installed on, as events told; the sweep looks at the active ones."""

    __tablename__ = "installed"

    repo: Mapped[str] = mapped_column(primary_key=True)
    installation: Mapped[int]
    active: Mapped[bool] = mapped_column(default=True)
    changed_at: Mapped[datetime | None]
    """When GitHub changed it last: events come in any order, and the newest holds."""
    swept_at: Mapped[datetime | None]
    """Up to when lost events were looked for."""


class Obeyed(Base):
    """A command that was accepted: the cooldown of people on the allow list is counted from it."""

    __tablename__ = "obeyed"

    repo: Mapped[str] = mapped_column(primary_key=True)
    comment_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    author: Mapped[str]
    writer: Mapped[bool]
    at: Mapped[datetime] = mapped_column(default=utcnow)
