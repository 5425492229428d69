"""A repository's own history, read by the `git` binary: lists of arguments, object ids, an end to how long.

Nothing of a commit but its id, its time and its subject is read: who made it is nobody's business here.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from bot.cli.inputs import InputError
from bot.source.history import Commit, subject_line
from bot.verdict.answer import Refusal

MAX_VERSIONS: Final = 2_000
MAX_BLOB: Final = 5 << 20
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FORMAT: Final = "--format=%H%x00%ct%x00%B"
_SAFE: Final = ("core.fsmonitor=false", "log.showSignature=false", "i18n.logOutputEncoding=utf-8")
_TOO_LATE: Final = Refusal("out_of_time", "There was no time left to read this version.")


@dataclass(frozen=True, slots=True)
class Version:
    """The file in one commit: the blob, None where the commit removed it."""

    commit: Commit
    blob: str | None


class GitHistory:
    """One repository at its HEAD, for at most `seconds`. Raises InputError where git says no."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._folder = folder
        if self._git("rev-parse", "--is-bare-repository").strip() != b"true":
            self._folder = Path(os.fsdecode(self._git("rev-parse", "--show-toplevel").rstrip(b"\n")))
        self.head = self._git("rev-parse", "--verify", "HEAD^{commit}").decode().strip()
        self.is_shallow = self._git("rev-parse", "--is-shallow-repository").strip() == b"true"
        self._blobs = dict(self._tree())
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> GitHistory:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()

    @property
    def time_is_up(self) -> bool:
        return time.monotonic() > self._until

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file at HEAD whose name is UTF-8."""
        return tuple(self._blobs)

    @property
    def origin(self) -> str:
        """The address of the remote of this name; '' where there is none."""
        out = self._git("config", "--default", "", "--get", "remote.origin.url")
        return out.decode("utf-8", "replace").strip()

    def read(self, path: str) -> bytes | None:
        """A file at HEAD."""
        blob = self._blobs.get(path)
        return None if blob is None else self.blob(blob)

    def versions(self, path: str) -> tuple[tuple[Version, ...], bool]:
        """The file on the first-parent line of HEAD, oldest first and through renames, each as it landed.

        False with it when there are more than MAX_VERSIONS, of which these are the newest.
        """
        flags = ("--first-parent", "--diff-merges=first-parent", f"--max-count={MAX_VERSIONS + 1}")
        out = self._git("log", "-z", "--raw", "--no-abbrev", "--follow", *flags, _FORMAT, "HEAD", "--", path)
        found = list(_versions(out.decode("utf-8", "replace").split("\0")))
        return tuple(found[:MAX_VERSIONS][::-1]), len(found) <= MAX_VERSIONS and not self.is_shallow

    def contents(self, versions: tuple[Version, ...]) -> Iterator[tuple[Commit, bytes | Refusal | None]]:
        """For bot.source.history."""
        for version in versions:
            if self.time_is_up:
                yield version.commit, _TOO_LATE
            else:
                yield version.commit, None if version.blob is None else self.blob(version.blob)

    def read_at(self, commit: Commit, path: str) -> bytes | None:
        """A file at a commit."""
        named = _SHA.fullmatch(commit.sha) and path and not set(path) & set("\n\r\0")
        return self._object(f"{commit.sha}:{path}") if named and not self.time_is_up else None

    def blob(self, sha: str) -> bytes | None:
        """None for one that is not here (a partial clone), over MAX_BLOB, or no blob."""
        return self._object(sha) if _SHA.fullmatch(sha) else None

    def _object(self, name: str) -> bytes | None:
        requests, answers = self._pipes()
        requests.write(name.encode("utf-8", "replace") + b"\n")
        requests.flush()
        header = answers.readline().rsplit(b" ", 2)
        if len(header) != 3 or not header[2].strip().isdigit():  # "… missing", "… ambiguous"
            return None
        kind, length = header[1], int(header[2])
        if length <= MAX_BLOB and kind == b"blob":
            data = answers.read(length)
        else:
            data = None
            for left in range(length, 0, -(1 << 20)):
                answers.read(min(left, 1 << 20))
        answers.read(1)
        return data

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._reader is None:
            self._reader = subprocess.Popen(
                self._command("cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        if self._reader.stdin is None or self._reader.stdout is None:
            raise InputError("git cat-file could not be started.")
        return self._reader.stdin, self._reader.stdout

    def _tree(self) -> Iterator[tuple[str, str]]:
        for line in self._git("ls-tree", "-r", "-z", "--full-tree", self.head).split(b"\0"):
            entry, _, name = line.partition(b"\t")
            if entry.startswith(b"100"):
                try:
                    yield name.decode(), entry.split()[2].decode()
                except UnicodeDecodeError:
                    continue

    def _git(self, *arguments: str) -> bytes:
        try:
            done = subprocess.run(
                self._command(*arguments),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=_environment(),
                timeout=max(self._until - time.monotonic(), 1.0),
                check=False,
            )
        except FileNotFoundError:
            raise InputError("git is not installed; install it.") from None
        except subprocess.TimeoutExpired:
            raise InputError("git took too long; name one --path or --test.") from None
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
            raise InputError(f"{self._folder}: {lines[0].removeprefix('fatal: ')[:300]}.")
        return done.stdout

    def _command(self, *arguments: str) -> list[str]:
        settings = [word for setting in _SAFE for word in ("-c", setting)]
        return ["git", *settings, "-C", str(self._folder), "--no-pager", "--literal-pathspecs", *arguments]


def _versions(tokens: list[str]) -> Iterator[Version]:
    """Each commit is three tokens, then one for each change of a file and one or two for its names."""
    place = 0
    while place + 2 < len(tokens):
        sha, at, subject = tokens[place : place + 3]
        place += 3
        blob = None
        while place < len(tokens) and tokens[place].lstrip("\n").startswith(":"):
            fields = tokens[place].split()
            blob = fields[3] if fields[3].strip("0") else None
            place += 3 if fields[4][0] in "RC" else 2
        yield Version(Commit(sha, _date(sha, at), subject_line(subject)), blob)


def _date(sha: str, seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"commit {sha[:12]} has a date out of range, so its history is not shown.") from None


def _environment() -> dict[str, str]:
    """Nothing is fetched, asked for or written; GIT_DIR and its like would name another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
