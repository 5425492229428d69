"""The bare repository behind the stand-in: the `git` binary, always with lists of arguments."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

ZERO = "0" * 40
_SHA = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_S = 60
# Asked of objects by their full names, these have one answer for ever: a process less for each time after.
_READS = frozenset({"cat-file", "ls-tree", "log", "merge-base", "rev-list", "rev-parse"})
_LASTING = re.compile(r"-.*|blob|\^?[0-9a-f]{40}(\^\{\w+\})?(:.*)?", re.DOTALL)


class GitError(Exception):
    """git said no; the message is its first line."""


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str
    date: datetime


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a tree; `size` is None for all but blobs."""

    mode: str
    type: str
    sha: str
    size: int | None
    path: str


@dataclass(frozen=True, slots=True)
class TreeChange:
    """`sha` None removes the path."""

    path: str
    mode: str
    sha: str | None


class Git:
    """One bare repository. Every name that comes from outside goes through `resolve` or `valid_ref`."""

    def __init__(self, git_dir: Path) -> None:
        self.dir = git_dir
        self.commit = lru_cache(maxsize=4096)(self._commit)
        self._kept = lru_cache(maxsize=1024)(self._run)

    def run(
        self, *arguments: str, data: bytes | None = None, env: Mapping[str, str] | None = None, ok: int = 0
    ) -> bytes:
        """Output of one git command. `ok`: the highest exit status that is an answer."""
        names = arguments[1 : arguments.index("--")] if "--" in arguments else arguments[1:]
        whole = all(map(_LASTING.fullmatch, names)) and any(map(_SHA.search, names))
        lasting = data is None and arguments[0] in _READS and whole
        ask = self._kept if lasting else self._run
        return ask(arguments, data, tuple((env or {}).items()), ok)

    def _run(
        self, arguments: tuple[str, ...], data: bytes | None, more: tuple[tuple[str, str], ...], ok: int
    ) -> bytes:
        env = dict(more)
        if any("\0" in text for text in (*arguments, *env.values())):
            raise GitError("a text has a NUL byte")
        clean = {"PATH": os.environ.get("PATH", ""), "HOME": os.devnull, "LC_ALL": "C.UTF-8"}
        clean |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        done = subprocess.run(
            ["git", f"--git-dir={self.dir}", *arguments],
            input=data if data is not None else b"",
            capture_output=True,
            env={**clean, **env},
            timeout=_TIMEOUT_S,
            check=False,
        )
        if not 0 <= done.returncode <= ok:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
            raise GitError(lines[0])
        return done.stdout

    def text(self, *arguments: str, data: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
        return self.run(*arguments, data=data, env=env).decode("utf-8", "replace").strip()

    # names

    def valid_ref(self, ref: str) -> bool:
        """A full name such as refs/heads/x that git would accept."""
        try:
            self.run("check-ref-format", ref)
        except GitError:
            return False
        return ref.startswith("refs/") and ref.count("/") >= 2

    def ref(self, ref: str) -> str | None:
        """The object a full ref names, or None."""
        return self.refs("refs/").get(ref)

    def refs(self, prefix: str) -> dict[str, str]:
        """Every ref whose full name starts with the prefix, sorted by name."""
        out: dict[str, str] = {}
        for line in self.text("for-each-ref", "--format=%(objectname) %(refname)").splitlines():
            sha, _, name = line.partition(" ")
            if name.startswith(prefix):
                out[name] = sha
        return out

    def resolve(self, name: str) -> str | None:
        """The commit a branch, tag, ref, or (short) SHA names; never git's own revision syntax."""
        if _SHA.fullmatch(name):
            return self.peel(name)
        refs = self.refs("refs/")
        for ref in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            if ref in refs:
                return self.peel(refs[ref])
        return self.peel(name) if re.fullmatch(r"[0-9a-f]{7,39}", name) else None

    def peel(self, sha: str, kind: str = "commit") -> str | None:
        try:
            return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{{kind}}}")
        except GitError:
            return None

    def kind(self, sha: str) -> str | None:
        """commit, tree, blob, tag, or None for an object that is not there."""
        if not _SHA.fullmatch(sha):
            return None
        try:
            return self.text("cat-file", "-t", sha)
        except GitError:
            return None

    # reading

    def _commit(self, sha: str) -> Commit:
        return self.log("--max-count=1", sha)[0]

    def log(self, *arguments: str) -> list[Commit]:
        fields = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        out = self.run("log", "-z", f"--format=tformat:{fields}", *arguments).decode("utf-8", "replace")
        parts = out.split("\0")
        commits = []
        for i in range(0, len(parts) - 9, 10):
            sha, tree, parents, an, ae, ad, cn, ce, cd, message = parts[i : i + 10]
            author = Person(an, ae, datetime.fromisoformat(ad))
            committer = Person(cn, ce, datetime.fromisoformat(cd))
            commits.append(Commit(sha, tree, tuple(parents.split()), author, committer, message.rstrip("\n")))
        return commits

    def tree(self, treeish: str, path: str = "", *, recursive: bool = False) -> list[Entry]:
        """Entries of the folder at `path` ('' is the root)."""
        spec = f"{treeish}:{path}" if path else treeish
        flags = ["-r", "-t"] if recursive else []
        out = []
        for line in self.run("ls-tree", "-z", "--long", *flags, spec).decode("utf-8", "replace").split("\0"):
            if line:
                meta, _, name = line.partition("\t")
                mode, kind, sha, size = meta.split()
                out.append(Entry(mode, kind, sha, None if size == "-" else int(size), name))
        return out

    def entry(self, commit: str, path: str) -> Entry | None:
        """What is at `path`; the name is a literal, not a pattern."""
        if not safe_path(path):
            return None
        env = {"GIT_LITERAL_PATHSPECS": "1"}
        line = self.run("ls-tree", "-z", "--long", "--full-tree", commit, "--", path, env=env)
        meta, _, name = line.decode("utf-8", "replace").rstrip("\0").partition("\t")
        if name != path:
            return None
        mode, kind, sha, size = meta.split()
        return Entry(mode, kind, sha, None if size == "-" else int(size), path)

    def blob(self, sha: str) -> bytes:
        return self.run("cat-file", "blob", sha)

    def read(self, commit: str, path: str) -> bytes | None:
        entry = self.entry(commit, path)
        return self.blob(entry.sha) if entry is not None and entry.type == "blob" else None

    def merge_base(self, a: str, b: str) -> str | None:
        return self.run("merge-base", a, b, ok=1).decode().strip() or None

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.merge_base(old, new) == old

    def count(self, old: str, new: str) -> int:
        """Commits reachable from new and not from old."""
        return int(self.text("rev-list", "--count", new, f"^{old}"))

    # writing

    def add_blob(self, data: bytes) -> str:
        return self.text("hash-object", "-w", "--stdin", data=data)

    def add_tree(self, base: str | None, changes: Sequence[TreeChange]) -> str:
        """A tree made from another by setting and removing paths. Raises GitError for impossible ones."""
        with tempfile.TemporaryDirectory(prefix="kl-index-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.run("read-tree", *([base] if base else ["--empty"]), env=env)
            lines = [
                f"{change.mode if change.sha else '0'} {change.sha or ZERO}\t{change.path}\0"
                for change in changes
            ]
            self.run("update-index", "-z", "--add", "--index-info", data="".join(lines).encode(), env=env)
            return self.text("write-tree", env=env)

    def add_commit(
        self, tree: str, parents: Sequence[str], message: str, author: Person, committer: Person
    ) -> str:
        env = {}
        for role, who in (("AUTHOR", author), ("COMMITTER", committer)):
            env[f"GIT_{role}_NAME"] = who.name
            env[f"GIT_{role}_EMAIL"] = who.email
            env[f"GIT_{role}_DATE"] = f"@{int(who.date.timestamp())} +0000"
        flags = [word for parent in parents for word in ("-p", parent)]
        return self.text("commit-tree", tree, *flags, "-F", "-", data=message.encode(), env=env)

    def set_ref(self, ref: str, new: str, old: str) -> None:
        """Moves a ref if it still is at `old` (ZERO: if it does not exist)."""
        self.run("update-ref", ref, new, old)

    def delete_ref(self, ref: str, old: str) -> None:
        self.run("update-ref", "-d", ref, old)

    def merge_tree(self, ours: str, theirs: str) -> str | None:
        """The tree of a merge, or None when it conflicts. Raises GitError on a git older than 2.38."""
        if self.merge_base(ours, theirs) == ours:
            return self.commit(theirs).tree
        out = self.run("merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs, ok=1)
        parts = out.decode("utf-8", "replace").split("\0")
        return parts[0] if len([p for p in parts if p.strip()]) == 1 else None


def safe_path(path: str) -> bool:
    """A path that can stand in a tree."""
    parts = path.split("/")
    return (
        bool(path)
        and "\0" not in path
        and not any(p in ("", ".", "..") or p.lower() == ".git" for p in parts)
    )
