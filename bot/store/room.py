"""A part of the store: what every part shares is how to open a session."""

from __future__ import annotations

from sqlalchemy.orm import Session, sessionmaker


class Room:
    """Short transactions; every write is idempotent by a natural key."""

    def __init__(self, session: sessionmaker[Session]) -> None:
        self._session = session
