"""Which past runs a red test is compared with: those of jobs on machines like the red job's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from bot.store import Store
from bot.store.base import utcnow
from bot.verdict import Refusal

HISTORY_AGE: Final = timedelta(days=60)
GENERIC: Final = frozenset({"self-hosted", "linux", "windows", "macos", "x64", "x86", "arm", "arm64", "gpu"})
"""Labels that GitHub gives every self-hosted runner, or that tell no GPU type from another."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a test: its own `label` where the test prints several, and the runner label of reruns."""

    repo: str
    test: str
    label: str | None
    runner: str


def comparable(
    store: Store, check: Check, red_labels: Callable[[], Collection[str]], gpu: str | None
) -> list[dict[str, Any]] | Refusal:
    """Readings of past jobs that asked for the red job's runner labels, oldest first; or why none of those
    that there are may be used.

    `red_labels` costs a request and is asked only where there is a past. `gpu`: what the red job's log names.
    """
    now = utcnow()
    where = (check.repo, check.test, check.runner, now)
    span: dict[str, Any] = {"since": now - HISTORY_AGE, "label": check.label}
    if not store.history(*where, 1, **span):
        return []
    labels = {label.lower() for label in red_labels()}
    if check.runner.lower() not in labels:
        return _refusal(f"the red job did not ask for the label '{check.runner}' of the reruns")
    generic = labels <= GENERIC
    if generic and gpu is None:
        return _refusal("the labels of the red job name no type of machine and its log no GPU")
    found = store.history(*where, **span, labels=labels, gpu=gpu if generic else None)
    return found or _refusal("they ran on other runner labels than the red job, or on another GPU")


def _refusal(why: str) -> Refusal:
    return Refusal("history_not_used", f"Past runs of this test are no history here: {why}.")
