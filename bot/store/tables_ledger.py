"""The ledger's tables, which nothing can rebuild."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from bot.store.base import Base, utcnow


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
    commit: Mapped[str | None]
    """Head of the bot's branch after its last write; another head is a person's work."""
    body_digest: Mapped[str | None]
    """Of the title and text the bot wrote last; another is a person's work."""


class BumpOutcome(Base):
    """What became of a bump's pull request; looked up on GitHub when the next one is considered."""

    __tablename__ = "bump_outcomes"

    repo: Mapped[str] = mapped_column(primary_key=True)
    pull: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    """open | merged | closed (a person declined it) | given_up (by the bot: the bound went elsewhere)"""
    at: Mapped[datetime]
