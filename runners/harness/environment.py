"""What the harness keeps of the environment it was started with.

The measured code may come from a fork, and a process of the same user can read the environment of the
harness in /proc: what must not be seen there is not in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from bot.verdict.redaction import USERINFO

PARALLEL: Final = "KL_TRIAGE_PARALLEL"
"""Set to 1 where reruns of one machine have GPUs and ports of their own."""
# The job's address for the readings, its folder, and the mark by which a runner finds a job's processes.
_KEPT: Final = frozenset(
    {
        *("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"),
        *("RUNNER_NAME", "RUNNER_TEMP", "RUNNER_TRACKING_ID", PARALLEL),
    }
)
_HELD_BACK: Final = ("KL_TRIAGE_", "ACTIONS_", "GITHUB_", "RUNNER_", "GH_", "AWS_")
_SECRET: Final = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "_KEY", "_CREDENTIALS")


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Without credentials, by their names, and without user and password in URLs whatever the name: pip's
    index, a proxy, a database.

    The address stays: without it pip would look for a private package on the public index. Commands that
    prepare a tree run its code too, so they get no more; an index must let the machine in by itself.
    """
    return {
        name: USERINFO.sub("", value)
        for name, value in environment.items()
        if name in _KEPT or not (name.startswith(_HELD_BACK) or name.upper().endswith(_SECRET))
    }


def start_scrubbed() -> None:
    """Starts this program once more, as the same process, where its environment holds what it must not."""
    kept = scrubbed(os.environ)
    if kept != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)  # noqa: S606
