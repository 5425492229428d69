"""Opening the database. SQLite in a file; Postgres is refused until its sweeper is there."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from bot.store.base import Base
from bot.verdict.answer import Refusal

OPENING_TRIES: Final = 5


def sqlite_file(url: str) -> Path | Refusal:
    """The file behind an SQLite address, or why the address cannot be used."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return Refusal(
            "bad_database_url", "The database address is not understood; use sqlite:///kl-triage.sqlite."
        )
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
        return Refusal(
            "unsupported_database",
            "Only an SQLite file works as the database today: sqlite:///kl-triage.sqlite.",
        )
    return Path(parsed.database)


def open_database(url: str) -> Engine:
    """An engine with the tables made, WAL on, and a 30 s busy time-out."""
    engine = create_engine(url, connect_args={"timeout": 30})
    event.listen(engine, "connect", _pragmas)
    for left in reversed(range(OPENING_TRIES)):
        try:
            Base.metadata.create_all(engine)
            break
        except OperationalError:  # another process makes the same tables, or sets WAL, at this moment
            if not left:
                raise
            time.sleep(0.2)
    return engine


def _pragmas(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
