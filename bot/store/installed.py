"""Where the bot is installed, and what was accepted from whom."""

from __future__ import annotations

from bot.store.room import Room


class InstalledStore(Room):
    """The tables `installed` and `obeyed`."""
