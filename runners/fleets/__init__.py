"""Fleets: where a rerun plan can be measured, behind one small interface."""

from __future__ import annotations

from runners.fleets.artifact import read_artifact, read_folder
from runners.fleets.fleet import Collected, Fleet, Progress, State, Ticket
from runners.fleets.github_actions import ActionsApi, DispatchRefused, GitHubActionsFleet, RunState
from runners.fleets.local import LocalFleet

__all__ = [
    "ActionsApi",
    "Collected",
    "DispatchRefused",
    "Fleet",
    "GitHubActionsFleet",
    "LocalFleet",
    "Progress",
    "RunState",
    "State",
    "Ticket",
    "read_artifact",
    "read_folder",
]
