"""The plan from its first launch to its last: worktrees, launches in order, everything recorded."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Final

from bot.verdict.reading import Status
from runners.harness.launch import Outcome, launch
from runners.harness.machine import this_machine
from runners.harness.process import Stop
from runners.harness.record import Recorder
from runners.harness.worktrees import GitError, Worktrees, check_clone
from runners.plan import RerunPlan
from runners.probe import PROBE

CANCELLED: Final = Outcome(Status.CANCELLED, "the rerun was cancelled")
# Credentials of a bot or of the job that runs us: the measured code may come from a fork.
_KEPT_BACK: Final = ("KL_TRIAGE_", "ACTIONS_", "GITHUB_TOKEN", "GH_TOKEN")


class CannotRun(Exception):
    """The plan cannot be started here; the message is one line and says what to change."""


def run(plan: RerunPlan, repo: Path, out: Path, python: Path, stop: Stop) -> bool:
    """Measures the plan into `out`; True when every planned repeat has a value.

    Raises CannotRun before anything was started, OSError when `out` cannot be written any more.
    """
    start = time.monotonic()
    try:
        check_clone(repo)
    except GitError as error:
        raise CannotRun(f"--repo {repo}: {error}") from None
    if next(out.glob("readings-*.jsonl"), None) is not None:
        raise CannotRun(f"--out {out}: already holds readings; give an empty folder")
    try:
        (out / "logs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(f"--out {out}: {error.strerror}") from None
    with (
        Recorder(plan, out, this_machine()) as recorder,
        tempfile.TemporaryDirectory(
            prefix="kl-triage-", dir=os.environ.get("RUNNER_TEMP"), ignore_cleanup_errors=True
        ) as folder,
        Worktrees(repo, Path(folder)) as trees,
    ):
        _launches(plan, trees, recorder, Path(folder), python, stop)
        return recorder.summary(time.monotonic() - start, cancelled=stop.requested)


def _launches(
    plan: RerunPlan, trees: Worktrees, recorder: Recorder, folder: Path, python: Path, stop: Stop
) -> None:
    outcome: Outcome | None = None
    try:
        folders = {arm: trees.add(arm, commit) for arm, commit in plan.commits.items()}
    except GitError as error:
        # One arm alone decides nothing, so nothing is started.
        outcome = Outcome(Status.ERROR, str(error))
    for number, planned in enumerate(plan.launches, 1):
        if outcome is not None or stop.requested:
            recorder.ended(number, CANCELLED if outcome is None else outcome)
            continue
        start = time.monotonic()
        events = folder / f"launch-{number}.jsonl"
        ended = launch(
            _command(plan, planned.repeats, python, events),
            cwd=folders[planned.arm],
            environment=_environment(plan, folders[planned.arm]),
            name=plan.launch_id(number),
            events=events,
            log=recorder.log(number),
            timeout_s=plan.launch_timeout_s,
            stop=stop,
            on_event=lambda event, number=number: recorder.repeat(number, event),  # type: ignore[misc]
        )
        recorder.ended(number, ended, time.monotonic() - start)


def _command(plan: RerunPlan, repeats: int, python: Path, events: Path) -> list[str]:
    # Option and value in one argument: a test whose path begins with a dash stays a value.
    command = [
        str(python),
        "-u",
        str(PROBE),
        f"--test={plan.test}",
        f"--repeats={repeats}",
        f"--out={events}",
    ]
    return command if plan.compare is None else [*command, f"--compare={plan.compare}"]


def _environment(plan: RerunPlan, tree: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_KEPT_BACK)}
    inherited = environment.get("PYTHONPATH")
    folders = [str(tree / folder) for folder in plan.python_path]
    environment["PYTHONPATH"] = os.pathsep.join(folders + ([inherited] if inherited else []))
    return environment
