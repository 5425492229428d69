"""Deliveries, without I/O: is the signature right, and what happened?"""

from bot.github.events.kinds import (
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
)
from bot.github.events.parsers import BRANCH_EVENTS, NOTHING_RAN, RERUN_ACTION, RERUN_PATH, RERUN_TITLE
from bot.github.events.router import KNOWN, parse
from bot.github.events.signature import signature_is_valid

__all__ = [
    "BRANCH_EVENTS",
    "KNOWN",
    "NOTHING_RAN",
    "RERUN_ACTION",
    "RERUN_PATH",
    "RERUN_TITLE",
    "BranchMoved",
    "CheckAsked",
    "Command",
    "Event",
    "Happened",
    "Ignored",
    "InstallationChanged",
    "PullClosed",
    "PullMoved",
    "RedJob",
    "RerunDone",
    "RunDone",
    "parse",
    "signature_is_valid",
]
