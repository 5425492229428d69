"""The command line of the harness. Exit codes: 0 the plan is done, 1 it cannot run, 2 it is incomplete."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from runners.harness.descendants import adopt_orphans
from runners.harness.process import Stop
from runners.harness.run import CannotRun, run
from runners.plan import PlanError, RerunPlan

MAX_PLAN_BYTES = 1_000_000


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Usage errors are exit code 1: 2 means that measurements are missing."""
        self.exit(1, f"kl-triage: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the plan; SIGTERM, SIGINT and SIGHUP end the running launch and keep what was measured."""
    parser = _Parser(
        prog="python -m runners.harness", description="Measures a KL rerun plan on this machine."
    )
    parser.add_argument("--plan", type=Path, required=True, help="the plan, a JSON file")
    parser.add_argument(
        "--repo", type=Path, required=True, help="a clone; its own working tree is not touched"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for readings-*.jsonl and summary.json"
    )
    parser.add_argument("--python", default=sys.executable, help="the measured project's interpreter")
    parser.add_argument("--resume", action="store_true", help="go on with the same plan in --out")
    options = parser.parse_args(argv)
    stop = Stop()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.requested = True

    adopt_orphans()
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        plan = _plan(options.plan)
        python = shutil.which(options.python)
        if python is None:
            raise CannotRun(f"--python {options.python}: no such interpreter on this machine")
        # Not resolved: an interpreter of a virtual environment is a link, and what it links to is not it.
        interpreter = Path(python).absolute()
        folders = options.repo.resolve(), options.out.resolve()
        complete = run(plan, *folders, interpreter, stop, resumed=options.resume)
    except (CannotRun, PlanError) as error:
        print(f"kl-triage: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"kl-triage: stopped, what was measured is kept: {error}", file=sys.stderr)
        return 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0 if complete else 2


def _plan(path: Path) -> RerunPlan:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise CannotRun(f"--plan {path}: {error.strerror}") from None
    if len(text) > MAX_PLAN_BYTES:
        raise CannotRun(f"--plan {path}: larger than {MAX_PLAN_BYTES} bytes")
    return RerunPlan.from_json(text.decode("utf-8", errors="replace"))
