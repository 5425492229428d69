"""What the bot remembers: deliveries, investigations, reruns, readings, history, decisions, the ledger."""

from bot.store.database import open_database, outdated, sqlite_file, workflow_engine
from bot.store.installed import see_installed
from bot.store.store import Store
from bot.store.tables import Decision, Delivery, Hit, Installed, Investigation, Obeyed, Rerun
from bot.store.tables_history import HarvestedJob
from bot.store.tables_ledger import Bump, BumpOutcome

__all__ = [
    "Bump",
    "BumpOutcome",
    "Decision",
    "Delivery",
    "HarvestedJob",
    "Hit",
    "Installed",
    "Investigation",
    "Obeyed",
    "Rerun",
    "Store",
    "open_database",
    "outdated",
    "see_installed",
    "sqlite_file",
    "workflow_engine",
]
