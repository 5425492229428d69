"""The plan from its first launch to its last: worktrees, launches in order, everything recorded."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bot.verdict.reading import Status
from bot.verdict.redaction import redacted
from runners.harness.earlier import Earlier, resume
from runners.harness.environment import scrubbed
from runners.harness.fingerprint import fingerprint, notes
from runners.harness.imports import OTHER_TREES, check_imports, other_trees, without
from runners.harness.launch import CANCELLED, Launch, Limit, Outcome
from runners.harness.leftovers import Leftovers, still_taken
from runners.harness.locks import Busy, alone
from runners.harness.prepare import prepare
from runners.harness.process import Stop, Watcher
from runners.harness.record import Recorder
from runners.harness.worktrees import PREFIX, GitError, Worktrees, check_clone
from runners.plan import PlanError, RerunPlan
from runners.probe import PROBE

MAX_LOGPROB_BYTES: Final = 64 << 20


class CannotRun(Exception):
    """The plan cannot be started here; the message is one line and says what to change."""


def run(plan: RerunPlan, repo: Path, out: Path, python: Path, stop: Stop, *, resumed: bool = False) -> bool:
    """Measures the plan into `out`; True when every planned repeat has a value.

    `resumed`: `out` may hold readings of the same plan; what is missing there is measured.
    Raises CannotRun before anything was started, OSError when `out` cannot be written any more.
    """
    try:
        check_clone(repo)
        with alone(repo):
            return _measure(plan, repo, out, python, stop, resumed=resumed)
    except GitError as error:
        raise CannotRun(f"--repo {repo}: {error}") from None
    except Busy as error:
        raise CannotRun(str(error)) from None


def _measure(plan: RerunPlan, repo: Path, out: Path, python: Path, stop: Stop, *, resumed: bool) -> bool:
    start = time.monotonic()
    mark = f"{plan.request}.{os.getpid()}.{time.time_ns()}"
    with _folder(plan, out, resumed) as earlier, Recorder(plan, out, earlier) as recorder:
        try:
            with (
                Watcher(mark),
                tempfile.TemporaryDirectory(
                    prefix=PREFIX, dir=os.environ.get("RUNNER_TEMP"), ignore_cleanup_errors=True
                ) as folder,
                Worktrees(repo, Path(folder)) as trees,
            ):
                _Run(plan, recorder, repo, Path(folder), python, stop, mark, start).launches(trees, earlier)
        except OSError as error:
            with contextlib.suppress(OSError):
                recorder.summary(time.monotonic() - start, cancelled=stop.requested, stopped=str(error))
            raise
        return recorder.summary(time.monotonic() - start, cancelled=stop.requested)


@contextlib.contextmanager
def _folder(plan: RerunPlan, out: Path, resumed: bool) -> Iterator[Earlier]:
    """`out` for this run alone: made, or taken up with what an earlier run left there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(out, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CannotRun(f"--out {out}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CannotRun(
                f"--out {out}: another rerun is writing there; wait for it or cancel it"
            ) from None
        yield _open(plan, out, resumed)
    finally:
        os.close(descriptor)


def _open(plan: RerunPlan, out: Path, resumed: bool) -> Earlier:
    """Writes plan.json; what an earlier run left is taken up or refused."""
    held = out / "plan.json"
    began = next(out.glob("readings-*.jsonl"), None) is not None
    if began and not resumed:
        raise CannotRun(f"--out {out}: already holds readings; give an empty folder, or --resume")
    try:
        if began and (not held.is_file() or RerunPlan.from_json(held.read_text("utf-8")) != plan):
            raise CannotRun(f"--out {out}: holds readings of another plan; give an empty folder")
        (out / "logs").mkdir(exist_ok=True)
        held.write_text(plan.to_json(), encoding="utf-8")
        return resume(plan, out) if began else Earlier()
    except PlanError:
        raise CannotRun(f"--out {out}: its plan.json is no plan; give an empty folder") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"--out {out}: {getattr(error, 'strerror', None) or error}") from None


class _Run:
    """What all launches of one run share."""

    def __init__(
        self,
        plan: RerunPlan,
        recorder: Recorder,
        repo: Path,
        folder: Path,
        python: Path,
        stop: Stop,
        mark: str,
        start: float,
    ) -> None:
        self._plan, self._recorder, self._repo, self._folder = plan, recorder, repo, folder
        self._python, self._stop, self._mark = python, stop, mark
        self._taken: frozenset[int] = frozenset()
        self._environments: dict[str, dict[str, str]] = {}
        whole = float("inf") if plan.max_seconds is None else start + plan.max_seconds
        self._limit = Limit(whole, f"the rerun reached its limit of {plan.max_seconds or 0:g} s")

    def launches(self, trees: Worktrees, earlier: Earlier) -> None:
        """In the plan's order. One arm alone decides nothing: both are ready, or nothing is started."""
        left = [number for number in range(1, len(self._plan.launches) + 1) if number not in earlier.done]
        outcome: Outcome | None = None
        folders: dict[str, Path] = {}
        try:
            folders = {arm: trees.add(arm, commit) for arm, commit in self._plan.commits.items()}
            others = {arm: other_trees(self._repo, tree) for arm, tree in folders.items()}
        except GitError as error:
            outcome, folders = Outcome(Status.ERROR, str(error)), {}
        for arm, tree in folders.items():
            self._environments[arm] = _environment(self._plan, tree, others[arm])
            outcome = outcome or self._prepare(arm, tree)
        for arm, tree in folders.items():  # after both: the second may have installed over the first
            outcome = outcome or self._check_imports(arm, tree, others[arm])
        for number in left:
            if outcome is None and self._stop.requested:
                outcome = CANCELLED
            if outcome is None and time.monotonic() > self._limit.at:
                outcome = Outcome(Status.TIMEOUT, self._limit.why)
            if outcome is None and self._recorder.trouble is not None:
                raise OSError(self._recorder.trouble)
            if outcome is None:
                self._launch(number, folders[self._plan.launches[number - 1].arm])
            else:
                self._recorder.ended(number, outcome)

    def _prepare(self, arm: str, tree: Path) -> Outcome | None:
        return prepare(
            self._plan,
            arm,
            tree,
            python=self._python,
            environment=self._environments[arm],
            mark=f"{self._mark}.{arm}",
            log=self._recorder.log(1).with_name(f"prepare-{arm}.log"),
            limit=self._limit,
            stop=self._stop,
        )

    def _check_imports(self, arm: str, tree: Path, others: Sequence[Path]) -> Outcome | None:
        return check_imports(
            arm,
            tree,
            others,
            python=self._python,
            environment=self._environments[arm],
            mark=f"{self._mark}.{arm}",
            log=self._folder / f"imports-{arm}.log",
        )

    def _launch(self, number: int, tree: Path) -> None:
        if ports := still_taken(self._taken):
            taken = Outcome(Status.ERROR, f"port {ports[0]} is still taken by an earlier launch")
            self._recorder.ended(number, taken)
            return
        plan, recorder, start = self._plan, self._recorder, time.monotonic()
        before = recorder.machine = fingerprint()
        mark = f"{self._mark}.{number}"
        events, logprobs = self._folder / f"launch-{number}.jsonl", self._folder / f"logprobs-{number}.jsonl"
        own = Limit(
            start + plan.launch_timeout_s,
            f"the launch ran longer than its limit of {plan.launch_timeout_s:g} s",
        )
        leftovers = Leftovers(mark)
        launch = Launch(leftovers, min(own, self._limit, key=lambda limit: limit.at), self._stop)
        outcome = launch.run(
            _command(plan, plan.launches[number - 1].repeats, self._python, events, logprobs),
            cwd=tree,
            environment=self._environments[plan.launches[number - 1].arm],
            mark=mark,
            events=events,
            log=recorder.log(number),
            on_event=lambda event: recorder.repeat(number, event),
        )
        seconds = time.monotonic() - start
        after = fingerprint()
        told = [*notes(before, after), *leftovers.wait(gpu=bool(before.gpus))]
        self._taken |= leftovers.taken
        if launch.foreign:
            told.append(f"the test wrote {launch.foreign} lines into the probe's file; they were not read")
        details = {
            **before.as_record(),
            "gpus_after": after.as_record()["gpus"],
            "packages": _told(launch.packages),
        }
        self._keep(logprobs, recorder.log(number))
        recorder.ended(number, outcome, seconds, details, told)

    def _keep(self, logprobs: Path, log: Path) -> None:
        """The probe's side file goes beside the readings. It bounds the file itself; here it is checked."""
        if not self._plan.save_logprobs or not logprobs.is_file() or logprobs.is_symlink():
            return
        kept = log.parent.with_name("logprobs") / f"{log.stem}.jsonl"
        kept.parent.mkdir(exist_ok=True)
        if logprobs.stat().st_size <= MAX_LOGPROB_BYTES:
            shutil.move(logprobs, kept)


def _command(plan: RerunPlan, repeats: int, python: Path, events: Path, logprobs: Path) -> list[str]:
    # Option and value in one argument: a test whose path begins with a dash stays a value.
    options: Mapping[str, str | None] = {
        "test": plan.test,
        "repeats": str(repeats),
        "kind": plan.kind,
        "out": str(events),
        "compare": plan.compare,
        "prints": json.dumps(plan.prints) if plan.prints else None,
        "arguments": json.dumps(plan.arguments) if plan.arguments else None,
        "logprobs": str(logprobs) if plan.save_logprobs else None,
    }
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return [str(python), "-u", str(PROBE), "--signed", *given]


def _told(packages: Mapping[str, object]) -> dict[str, object]:
    """A version may name where it was installed from, with the password."""
    return {name: redacted(found) if isinstance(found, str) else found for name, found in packages.items()}


def _environment(plan: RerunPlan, tree: Path, others: Sequence[Path]) -> dict[str, str]:
    # What pytest takes from the environment would change which tests run.
    dropped = ("KL_TRIAGE_", "PYTEST_ADDOPTS")
    kept = scrubbed(os.environ).items()
    environment = {name: value for name, value in kept if not name.startswith(dropped)}
    folders = [str(tree / folder) for folder in plan.python_path]
    inherited = without(environment.get("PYTHONPATH", ""), others, tree)
    environment["PYTHONPATH"] = os.pathsep.join(folders + inherited)
    environment[OTHER_TREES] = os.pathsep.join(map(str, others))
    return environment
