"""A clone on this machine, read by the git binary: commits and files by full SHA, never the working tree."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from bot.source.history import Commit

TIMEOUT_S: Final = 120
MAX_BLOB: Final = 5 << 20
MAX_VERSIONS: Final = 200
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_DEFAULTS: Final = ("origin/main", "origin/master", "main", "master")
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "log.showSignature=false",
)


class LocalError(Exception):
    """One plain sentence for the person at the terminal."""


class Clone:
    """The repository that a folder belongs to. Raises LocalError where git says no."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.git("rev-parse", "--git-dir")
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Clone:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()

    def commit(self, revision: str) -> str:
        """The full SHA of a branch, tag or abbreviated commit."""
        found = None
        if revision and not revision.startswith("-"):
            found = self._try("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        if found is None or not _SHA.fullmatch(found):
            raise LocalError(f"{revision!r} names no commit of {self.folder}; git log shows which there are.")
        return found

    def is_changed(self) -> bool:
        """Whether tracked files differ from HEAD, which no rerun sees."""
        return bool(self._try("status", "--porcelain", "--untracked-files=no"))

    def default_branch(self) -> str:
        """The remote's default branch, else the first that there is of main and master."""
        told = self._try("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
        for name in (told, *_DEFAULTS):
            if name and self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
                return name
        raise LocalError(f"{self.folder} has no branch main or master; name the other commit by --base.")

    def merge_base(self, head: str) -> str:
        """Where `head` left the default branch."""
        branch = self.default_branch()
        found = self._try("merge-base", self.commit(branch), head)
        if found is None:
            raise LocalError(f"{head[:12]} and {branch} share no commit; name the other one by --base.")
        if found == head:
            raise LocalError(
                f"{head[:12]} is on {branch} itself, so there is nothing to compare it with; name the last "
                "commit that was good by --base."
            )
        return found

    def changed(self, base: str, head: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        out = self.git("diff", "--name-only", "--no-renames", "-z", base, head)
        return tuple(filter(None, out.split("\0")))

    def paths(self, commit: str) -> Iterator[str]:
        """Every file of a commit."""
        yield from filter(
            None, self.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")
        )

    def read(self, commit: str, path: str) -> bytes | None:
        """A file of a commit; None where there is none or it is larger than MAX_BLOB."""
        if "\n" in path:
            return None
        if self._reader is None:
            self._reader = subprocess.Popen(
                self._command("cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        requests, answers = self._reader.stdin, self._reader.stdout
        if requests is None or answers is None:
            raise LocalError("git cat-file could not be started.")
        requests.write(f"{commit}:{path}\n".encode("utf-8", "surrogateescape"))
        requests.flush()
        return _blob(answers)

    def versions(self, commit: str, path: str) -> list[tuple[Commit, bytes | None]]:
        """The file on the first-parent line up to a commit, oldest first: the newest MAX_VERSIONS."""
        out = self.git(
            "log", "--first-parent", f"--max-count={MAX_VERSIONS}", "--format=%H %ct", commit, "--", path
        )
        found = []
        for line in reversed(out.splitlines()):
            sha, _, at = line.partition(" ")
            found.append((Commit(sha, datetime.fromtimestamp(int(at), UTC)), self.read(sha, path)))
        return found

    def commit_file(self, branch: str, parent: str, path: str, data: bytes, message: str) -> str:
        """A new branch one commit above `parent`, in which one file is other; its SHA. No tree is touched."""
        entry = self.git("ls-tree", "--full-tree", "-z", parent, "--", path).split(" ", 1)[0]
        blob = self.git("hash-object", "-w", "--stdin", data=data)
        with tempfile.TemporaryDirectory(prefix="kl-triage-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.git("read-tree", parent, env=index)
            self.git("update-index", "--cacheinfo", f"{entry},{blob},{path}", env=index)
            tree = self.git("write-tree", env=index)
        made = self.git("commit-tree", tree, "-p", parent, data=message.encode())
        self.git("update-ref", f"refs/heads/{branch}", made, "0" * 40)
        return made

    def check_author(self) -> None:
        """Raises LocalError where git would refuse to commit for want of a name."""
        if self._try("var", "GIT_AUTHOR_IDENT") is None or self._try("var", "GIT_COMMITTER_IDENT") is None:
            raise LocalError(
                "git has no name to commit by: set it with git config user.name and git config user.email, "
                "or leave out --apply."
            )

    def tip(self, branch: str) -> str | None:
        return self._try("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")

    def git(self, *arguments: str, data: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
        """What git prints, without the last line end."""
        done = self._run(arguments, data, env or {})
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [
                f"git {arguments[0]} failed"
            ]
            raise LocalError(f"{self.folder}: {said[0].removeprefix('fatal: ')[:300]}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def _try(self, *arguments: str) -> str | None:
        done = self._run(arguments, None, {})
        return done.stdout.decode("utf-8", "surrogateescape").strip() if done.returncode == 0 else None

    def _run(
        self, arguments: tuple[str, ...], data: bytes | None, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                self._command(*arguments),
                input=data or b"",
                capture_output=True,
                env={**_environment(), **env},
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError:
            raise LocalError("git is not installed; install it.") from None
        except subprocess.TimeoutExpired:
            raise LocalError(f"git {arguments[0]} took longer than {TIMEOUT_S} s.") from None

    def _command(self, *arguments: str) -> list[str]:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        return ["git", *settings, "-C", str(self.folder), "--no-pager", "--literal-pathspecs", *arguments]


def _blob(answers: IO[bytes]) -> bytes | None:
    """One answer of `git cat-file --batch`."""
    header = answers.readline().split()
    if len(header) != 3 or not header[2].isdigit():  # "… missing", "… ambiguous"
        return None
    kind, left = header[1], int(header[2])
    data = answers.read(left) if kind == b"blob" and left <= MAX_BLOB else None
    while data is None and left > 0:
        left -= len(answers.read(min(left, 1 << 20)))
    answers.read(1)
    return data


def _environment() -> dict[str, str]:
    """GIT_DIR and its like would name another repository; nothing is asked for or fetched."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


_KEPT: Final = {
    f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL", "DATE")
} | {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"}
