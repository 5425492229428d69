"""What the bot remembers: deliveries, investigations, reruns, readings, history, decisions, the ledger."""

from bot.store.database import open_database, sqlite_file
from bot.store.store import Store
from bot.store.tables import Bump, BumpOutcome, Decision, Delivery, HarvestedJob, Investigation, Rerun

__all__ = [
    "Bump",
    "BumpOutcome",
    "Decision",
    "Delivery",
    "HarvestedJob",
    "Investigation",
    "Rerun",
    "Store",
    "open_database",
    "sqlite_file",
]
