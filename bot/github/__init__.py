"""The only place that talks to GitHub: connections, reads, writes, events, permissions."""

from bot.github.connect import BOT_USER_AGENT, AppCredentials, Installations
from bot.github.events import Command, Event, Ignored, RedJob, RerunDone, RunDone, parse, signature_is_valid

__all__ = [
    "BOT_USER_AGENT",
    "AppCredentials",
    "Command",
    "Event",
    "Ignored",
    "Installations",
    "RedJob",
    "RerunDone",
    "RunDone",
    "parse",
    "signature_is_valid",
]
