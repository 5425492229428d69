"""What the bot remembers: deliveries, investigations, reruns, readings, decisions, the ledger of bumps."""

from bot.store.database import open_database, sqlite_file
from bot.store.store import Store
from bot.store.tables import Bump, Decision, Delivery, Investigation, Rerun

__all__ = ["Bump", "Decision", "Delivery", "Investigation", "Rerun", "Store", "open_database", "sqlite_file"]
