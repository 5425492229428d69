"""The commands of a plan that make an arm's tree ready, each a process of its own without a shell."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.verdict.reading import Status
from bot.verdict.redaction import redacted
from runners.harness.launch import CANCELLED, POLL_S, Limit, Outcome
from runners.harness.process import Process, Stop
from runners.plan import RerunPlan

LAST_LINES: Final = 3
LAST_BYTES: Final = 4096


def prepare(
    plan: RerunPlan,
    arm: str,
    tree: Path,
    *,
    python: Path,
    environment: Mapping[str, str],
    mark: str,
    log: Path,
    limit: Limit,
    stop: Stop,
) -> Outcome | None:
    """Runs them in order; None when all went well, else why nothing of this plan is started.

    `log` is named after the arm; each command adds its number.
    """
    seconds = plan.prepare_timeout_s
    own = Limit(time.monotonic() + seconds, f"preparing {arm} took longer than its limit of {seconds:g} s")
    limit = min(own, limit, key=lambda each: each.at)
    for number, words in enumerate(plan.prepare, 1):
        command = [word.replace("{python}", str(python)).replace("{tree}", str(tree)) for word in words]
        said = log.with_name(f"{log.stem}-{number}.log")
        try:
            with Process(command, cwd=tree, environment=environment, mark=mark, log=said) as process:
                process.tell()
                while (code := process.ended(POLL_S)) is None:
                    if stop.requested:
                        return CANCELLED
                    if time.monotonic() > limit.at:
                        return Outcome(Status.TIMEOUT, limit.why)
        except OSError as error:
            return Outcome(Status.ERROR, f"preparing {arm}: {words[0]}: {error.strerror or error}")
        if code != 0:
            ended = f"preparing {arm}: '{redacted(' '.join(words))[:120]}' ended with exit code {code}"
            return Outcome(Status.ERROR, f"{ended}: {_last(said)}")
    return None


def _last(log: Path) -> str:
    """The last lines of a log, as one."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return redacted(" | ".join(lines[-LAST_LINES:]))[-200:] or "it said nothing"
