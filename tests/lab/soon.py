"""Pauses that let a real GitHub catch up, cut to what a test can wait."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bot.github import patience, writes
from bot.triage.harvest import live
from bot.triage.measure import kill_switch
from bot.triage.red import redjob
from runners.fleets import github_actions

LOOK_EVERY_S = 0.05
APPEARS_WITHIN_S = 0.5


def quicken(set_: Callable[[object, str, object], None] = setattr) -> None:
    """`set_`: a monkeypatch's, where the values must come back."""
    set_(github_actions, "LOOK_EVERY_S", LOOK_EVERY_S)
    set_(github_actions, "APPEARS_WITHIN_S", APPEARS_WITHIN_S)
    set_(redjob, "LOG_PAUSES_S", (0.05, 0.05, 0.0))
    set_(redjob, "LOG_LAGS", timedelta(0))
    set_(writes, "LOOK_EVERY_S", LOOK_EVERY_S)
    set_(live, "LOG_PAUSES_S", (0.05, 0.05))
    set_(kill_switch, "KEPT_S", 0.0)
    set_(patience, "PAUSES_S", (0.01, 0.01))
