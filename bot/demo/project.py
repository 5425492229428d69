"""The demo's target: a bare git repository that holds the reference KL test as a project of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from bot.demo.scenario import Scenario
from bot.verdict.answer import Refusal
from runners.init import initial_files

OWNER: Final = "acme"
NAME: Final = "tinyserve"
RUNNER: Final = "kl-cpu"
_IDENTITY: Final = {"name": "dev-a", "email": "dev-a@example.invalid"}


@dataclass(frozen=True, slots=True)
class Project:
    """The bare repository and a clone of it, where the developer of the story works."""

    bare: Path
    clone: Path

    @classmethod
    def create(cls, root: Path) -> Project:
        """A repository with a short history on main: the engine, its CI, kl-triage."""
        project = cls(root / "repo.git", root / "clone")
        _git(root, "init", "--quiet", "--bare", "--initial-branch=main", str(project.bare))
        _git(root, "clone", "--quiet", str(project.bare), str(project.clone))
        _git(project.clone, "checkout", "--quiet", "-B", "main")
        source = Path(str(resources.files("runners.reference"))) / "project"
        shutil.copytree(
            source, project.clone, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        project._commit("A tiny hybrid engine with a prefix cache, and its KL tests")
        workflow = project.clone / ".github/workflows/pr-test.yml"
        workflow.parent.mkdir(parents=True)
        workflow.write_text((resources.files("bot.demo") / "files/pr-test.yml").read_text())
        project._commit("CI: run the KL suite on pull requests")
        for path, text in _kl_triage_files().items():
            (project.clone / path).write_text(text)
        project._commit("CI: kl-triage reruns red KL tests and judges them")
        _git(project.clone, "push", "--quiet", "origin", "main")
        return project

    def push_change(self, scenario: Scenario) -> str:
        """The developer's branch with the change of the scenario; returns its commit."""
        _git(self.clone, "checkout", "--quiet", "-B", scenario.branch, "main")
        if scenario.fault is None:
            metrics = "cached_tokens = 0\n\n\ndef count_cached(tokens: int) -> None:\n"
            metrics += "    global cached_tokens\n    cached_tokens += tokens\n"
            (self.clone / "tinyserve" / "metrics.py").write_text(metrics)
        else:
            patch = resources.files("runners.reference") / f"faults/{scenario.fault}.patch"
            with resources.as_file(patch) as path:
                _git(self.clone, "apply", str(path))
        self._commit(scenario.title)
        return self.push(scenario)

    def push_again(self, scenario: Scenario) -> str:
        """An empty commit, as people push to make CI run once more."""
        _git(self.clone, "commit", "--quiet", "--allow-empty", "-m", "ci: run again")
        return self.push(scenario)

    def push(self, scenario: Scenario) -> str:
        _git(self.clone, "push", "--quiet", "origin", scenario.branch)
        return _git(self.clone, "rev-parse", "HEAD")

    def diff(self, base: str, head: str) -> str:
        """What a branch of the bare repository changes."""
        return _git(self.bare, "diff", "--unified=0", f"{base}...{head}")

    def files(self, branch: str) -> tuple[str, ...]:
        """Paths on a branch of the bare repository; none when there is no such branch."""
        if not _git(self.bare, "branch", "--list", branch):
            return ()
        return tuple(_git(self.bare, "ls-tree", "-r", "--name-only", branch).splitlines())

    def _commit(self, message: str) -> None:
        _git(self.clone, "add", "--all")
        _git(self.clone, "commit", "--quiet", "-m", message)


def _kl_triage_files() -> dict[str, str]:
    # The runner of the demo is this machine: the interpreter that plays it has kl-triage, nothing is fetched.
    files = initial_files("reference", [RUNNER], "propose", package=sys.executable)
    if isinstance(files, Refusal):
        raise RuntimeError(files.sentence)
    return files


def _git(folder: Path, *arguments: str) -> str:
    """Runs git without the user's own configuration, as the developer of the story."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{role}_{key.upper()}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in _IDENTITY.items()
        },
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout.strip()
