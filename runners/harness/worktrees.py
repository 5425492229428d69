"""One git worktree an arm, detached at the full SHA; the clone's own tree and branches stay as they are."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final

GIT_TIMEOUT_S: Final = 900
PREFIX: Final = "kl-triage-"
"""Of the folders that hold our worktrees."""
_MARK: Final = "kl-triage.json"
"""Beside a worktree of ours and in git's own folder of it: the process it belongs to."""
# Set where we are started from a git hook; they would point git at another repository than `repo`.
_MISLEADING: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


class GitError(Exception):
    """One line: what git could not do."""


class Worktrees:
    """Context manager: worktrees under `folder`, removed at the end."""

    def __init__(self, repo: Path, folder: Path) -> None:
        self._repo, self._folder = repo, folder
        self._added: list[Path] = []

    def __enter__(self) -> Worktrees:
        remove_abandoned(self._repo)
        return self

    def add(self, arm: str, commit: str) -> Path:
        """Raises GitError when neither the clone nor its origin has the commit."""
        if not _has(self._repo, commit):
            self._fetch(arm, commit)
        tree = self._folder / arm
        self._added.append(tree)
        owner = json.dumps(_owner(os.getpid()))
        (self._folder / _MARK).write_text(owner, encoding="utf-8")  # git may be killed with us
        git(self._repo, "worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
        entry = Path(git(tree, "rev-parse", "--absolute-git-dir").rstrip("\n"))
        (entry / _MARK).write_text(owner, encoding="utf-8")
        return tree

    def _fetch(self, arm: str, commit: str) -> None:
        try:
            git(self._repo, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin", commit)
        except GitError as error:
            raise GitError(
                f"{arm} {commit[:12]} is not in this clone and not on its origin: {error}"
            ) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tree in self._added:
            with contextlib.suppress(GitError):
                remove(self._repo, tree)


def remove(repo: Path, tree: Path) -> None:
    """The folder first, however broken it is; git then drops the entry of a worktree that is gone."""
    shutil.rmtree(tree, ignore_errors=True)
    git(repo, "worktree", "remove", "--force", "--force", str(tree))


def remove_abandoned(repo: Path) -> None:
    """Removes the worktrees of harnesses that were killed on this machine, and no others."""
    with contextlib.suppress(GitError, OSError):
        for entry in common_folder(repo).glob("worktrees/*/gitdir"):
            with contextlib.suppress(GitError, OSError, ValueError, AttributeError, StopIteration):
                tree = Path(entry.read_text(encoding="utf-8").rstrip("\n")).parent
                if not tree.parent.name.startswith(PREFIX):
                    continue
                marks = (entry.with_name(_MARK), tree.with_name(_MARK))
                mark = next(mark for mark in marks if mark.is_file() and mark.stat().st_size)
                owner = json.loads(mark.read_text(encoding="utf-8"))
                here = owner.get("host") == socket.gethostname()
                if here and owner != _owner(int(owner["pid"])):
                    remove(repo, tree)
                    shutil.rmtree(tree.parent, ignore_errors=True)


def _owner(pid: int) -> dict[str, object]:
    """The process that has this number at this moment; `started` tells it from a later one (None: none)."""
    started = None
    with contextlib.suppress(OSError, IndexError):
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return {"host": socket.gethostname(), "pid": pid, "started": started}


def common_folder(repo: Path) -> Path:
    """Git's own folder, which all worktrees of the clone share. Raises GitError."""
    return repo / git(repo, "rev-parse", "--git-common-dir").rstrip("\n")


def check_clone(repo: Path) -> None:
    """Raises GitError unless `repo` is a git repository that this user may read."""
    if not repo.is_dir():
        raise GitError("no such folder")
    git(repo, "rev-parse", "--git-dir")


def git(repo: Path, *arguments: str) -> str:
    """Runs git and returns its output. Raises GitError with the last line git said."""
    try:
        done = _git(repo, *arguments)
    except FileNotFoundError:
        raise GitError("git is not installed on this machine") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} took longer than {GIT_TIMEOUT_S} s") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        raise GitError(said[-1][:200] if said else f"git {arguments[0]} failed")
    return done.stdout.decode("utf-8", errors="replace")


def _has(repo: Path, commit: str) -> bool:
    return _git(repo, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def _git(repo: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    # No hooks: those of the clone are not the plan's. A session of its own: Ctrl-C is ours to handle.
    return subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", "-C", str(repo), *arguments],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=GIT_TIMEOUT_S,
        env={**environment, "GIT_TERMINAL_PROMPT": "0"},
        start_new_session=True,
    )
