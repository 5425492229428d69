"""The only place that talks to GitHub: connections, reads, writes, events, permissions."""

from bot.github.connect import (
    BOT_USER_AGENT,
    AppCredentials,
    Connection,
    Installations,
    TokenCredentials,
    connect,
)
from bot.github.events import (
    BranchMoved,
    CheckAsked,
    Command,
    Event,
    Happened,
    Ignored,
    InstallationChanged,
    PullClosed,
    PullMoved,
    RedJob,
    RerunDone,
    RunDone,
    parse,
    signature_is_valid,
)

__all__ = [
    "BOT_USER_AGENT",
    "AppCredentials",
    "BranchMoved",
    "CheckAsked",
    "Command",
    "Connection",
    "Event",
    "Happened",
    "Ignored",
    "InstallationChanged",
    "Installations",
    "PullClosed",
    "PullMoved",
    "RedJob",
    "RerunDone",
    "RunDone",
    "TokenCredentials",
    "connect",
    "parse",
    "signature_is_valid",
]
