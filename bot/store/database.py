"""Opening the database. SQLite in a file; Postgres is refused until its sweeper is there."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event, inspect, make_url
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


def open_database(url: str, *, busy_s: float = 30.0) -> Engine:
    """An engine with the tables made and WAL on; it waits `busy_s` seconds for a locked database."""
    engine = create_engine(url, connect_args={"timeout": busy_s}, pool_timeout=busy_s)
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


def workflow_engine(url: str) -> Engine:
    """An engine for DBOS as DBOS itself would make it, but that a commit does not wait for the disk while it
    holds the one write lock: that made deliveries wait for seconds. What only a power cut can take away, a
    step's result or a delivery, is done again or found by the sweep."""
    engine = create_engine(
        url, connect_args={"timeout": 30.0}, pool_size=20, max_overflow=0, pool_timeout=30, pool_pre_ping=True
    )
    event.listen(engine, "connect", _pragmas)
    event.listen(engine, "connect", _immediate)
    return engine


def outdated(engine: Engine) -> Refusal | None:
    """Why an opened file cannot be used: an earlier version made it, with fewer columns."""
    found = inspect(engine)
    for table in Base.metadata.sorted_tables:
        there = {column["name"] for column in found.get_columns(table.name)}
        lacking = next((column.name for column in table.columns if column.name not in there), None)
        if lacking is not None:
            return Refusal(
                "old_database",
                f"{engine.url.database} was made by an earlier kl-triage (table {table.name} has no column "
                f"{lacking}); set KL_TRIAGE_DATABASE_URL to a fresh file, for instance "
                "sqlite:///kl-triage-2.sqlite.",
            )
    return None


def _immediate(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = "IMMEDIATE"


def _pragmas(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
