"""Who is to hear of a site: pull requests that went red at it, and people who commanded."""

from __future__ import annotations

from bot.store.room import Room


class HitStore(Room):
    """The table `hits`."""
