"""One step: its environment, its script or action, and the files through which it speaks to later steps."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot.demo.actions import contexts
from bot.demo.actions.actions import ActionCall, StepFailed, StepInterrupted, setup_python
from bot.demo.actions.artifact import upload_artifact
from bot.demo.actions.checkout import checkout
from bot.demo.actions.contexts import Place
from bot.demo.actions.expressions import Contexts, interpolate
from bot.demo.actions.joblog import JobLog
from bot.demo.actions.model import Step
from bot.demo.actions.processes import End, Outcome, Processes
from bot.demo.executor import JobSpec

ACTIONS: Final[Mapping[str, Callable[[ActionCall], None]]] = {
    "actions/checkout": checkout,
    "actions/setup-python": setup_python,
    "actions/upload-artifact": upload_artifact,
}
_SHELLS: Final[Mapping[str | None, str]] = {
    None: "bash -e {0}",
    "bash": "bash --noprofile --norc -eo pipefail {0}",
    "sh": "sh -e {0}",
    "python": "python {0}",
}
_FILES: Final = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")

Interrupt = Callable[[], End | None]


@dataclass(slots=True)
class StepRunner:
    """What all steps of a job share; `env` and `path` grow as steps write GITHUB_ENV and GITHUB_PATH."""

    spec: JobSpec
    place: Place
    log: JobLog
    processes: Processes
    store: Callable[[str, bytes, bool], int]
    base: Mapping[str, str]
    """Below everything a workflow sets."""
    fixed: Mapping[str, str]
    """GITHUB_* and RUNNER_*: above everything a workflow sets."""
    env: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    def perform(
        self,
        step: Step,
        known: Contexts,
        env: Mapping[str, str],
        interrupt: Interrupt,
        outputs: dict[str, str],
    ) -> None:
        """Fills `outputs`, also for a step that fails. `env`: the step's own, over the job's.

        Raises StepFailed, StepInterrupted, ExpressionError or contexts.FileCommandError.
        """
        files = self._files()
        full = {**self.base, **env, **self.fixed, **{name: str(path) for name, path in files.items()}}
        full["PATH"] = os.pathsep.join([*reversed(self.path), full["PATH"]])
        try:
            if step.uses is not None:
                self._action(step, known, env, full, interrupt, outputs)
            else:
                self._script(step, known, env, full, interrupt)
        except (StepFailed, StepInterrupted):
            with suppress(contexts.FileCommandError):  # the first trouble is the one to tell
                self._keep(files, outputs)
            raise
        self._keep(files, outputs)

    def _keep(self, files: Mapping[str, Path], outputs: dict[str, str]) -> None:
        """What the step wrote for later ones."""
        outputs |= contexts.read_assignments(files["GITHUB_OUTPUT"])
        self.env |= contexts.environment_assignments(files["GITHUB_ENV"])
        self.path += filter(None, contexts.read_lines(files["GITHUB_PATH"]))

    def _script(
        self,
        step: Step,
        known: Contexts,
        env: Mapping[str, str],
        full: Mapping[str, str],
        interrupt: Interrupt,
    ) -> None:
        script = interpolate(step.run or "", known)
        directory = self.place.workspace / interpolate(step.working_directory or "", known)
        program, _, arguments = _SHELLS[step.shell].partition(" ")
        found = shutil.which(program, path=full["PATH"])
        title = "Run " + script.strip().split("\n", 1)[0]
        cyan = [f"\x1b[36;1m{line}\x1b[0m" for line in script.rstrip("\n").split("\n")]
        self.log.group(title, *cyan, f"shell: {found or program} {arguments}", *_listed("env", env))
        if found is None:
            raise StepFailed(f"{program} is not on PATH")
        if not directory.is_dir():
            raise StepFailed(f"working-directory '{step.working_directory}' does not exist")
        file = self.place.temp / f"{uuid.uuid4()}.{'py' if program == 'python' else 'sh'}"
        file.write_text(script + "\n", encoding="utf-8", errors="replace")
        argv = [found, *(str(file) if word == "{0}" else word for word in arguments.split())]
        outcome = self._run(*argv, cwd=directory, env=full, interrupt=interrupt)
        if outcome.end is not End.EXITED:
            raise StepInterrupted(outcome.end)
        if outcome.code != 0:
            # A shell reports a signal as 128 + its number; so does the runner.
            code = outcome.code if outcome.code > 0 else 128 - outcome.code
            raise StepFailed(f"Process completed with exit code {code}.")

    def _action(
        self,
        step: Step,
        known: Contexts,
        env: Mapping[str, str],
        full: Mapping[str, str],
        interrupt: Interrupt,
        outputs: dict[str, str],
    ) -> None:
        inputs = {name: interpolate(text, known) for name, text in step.with_.items()}
        self.log.group(f"Run {step.uses}", *_listed("with", inputs), *_listed("env", env))
        name, at, _ = (step.uses or "").partition("@")
        action = ACTIONS.get(name.lower()) if at else None
        if action is None:
            raise StepFailed(
                f"action '{step.uses}' is not on this runner; it has {', '.join(ACTIONS)}, each @ a ref"
            )

        def run(*argv: str, cwd: Path, env: Mapping[str, str]) -> Outcome:
            return self._run(*argv, cwd=cwd, env=env, interrupt=interrupt)

        call = ActionCall(inputs, self.spec, self.place, full, self.log, run, self.store, outputs)
        action(call)

    def _run(self, *argv: str, cwd: Path, env: Mapping[str, str], interrupt: Interrupt) -> Outcome:
        try:
            return self.processes.run(argv, cwd=cwd, env=env, output=self.log.feed, interrupt=interrupt)
        except (OSError, ValueError) as error:  # not found, environment too large, a NUL in it
            raise StepFailed(f"'{argv[0]}' could not be started: {error}") from None
        finally:
            self.log.flush()

    def _files(self) -> dict[str, Path]:
        """Empty ones for every step, as the runner makes them."""
        folder = self.place.temp / "_runner_file_commands"
        folder.mkdir(exist_ok=True)
        files = {name: folder / name.removeprefix("GITHUB_").lower() for name in _FILES}
        for file in files.values():
            file.unlink(missing_ok=True)
            file.touch()
        return files


def _listed(title: str, items: Mapping[str, str]) -> list[str]:
    return [f"{title}:", *(f"  {name}: {value}" for name, value in items.items())] if items else []
