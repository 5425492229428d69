"""The files that differ between two trees, as the stand-in's API shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.demo.github.git import ZERO, Git

MAX_PATCH = 1_000_000
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


@dataclass(frozen=True, slots=True)
class FileDiff:
    """`patch` starts at the first hunk; None for a binary or a very large file."""

    path: str
    status: str
    sha: str | None
    additions: int
    deletions: int
    patch: str | None
    previous: str | None = None


def diff(git: Git, old: str | None, new: str) -> list[FileDiff]:
    """Changed files in git's order; `old` None: everything was added."""
    trees = [old or _EMPTY_TREE, new]
    raw = git.run("diff-tree", "-r", "-z", "-M", "--raw", "--abbrev=40", *trees).decode("utf-8", "replace")
    counts = list(_counts(git.run("diff-tree", "-r", "-z", "-M", "--numstat", *trees)))
    text = git.run("diff-tree", "-r", "-M", "-p", "--no-ext-diff", "--no-textconv", *trees)
    files = list(_raw(raw))
    patches: list[str | None] = list(_patches(text.decode("utf-8", "replace")))
    if len(patches) != len(files):  # a file that became a link has two blocks
        patches = [None] * len(files)
    return [
        FileDiff(path, status, sha, *count, patch, previous)
        for (status, sha, path, previous), count, patch in zip(files, counts, patches, strict=True)
    ]


def _raw(text: str) -> Iterator[tuple[str, str | None, str, str | None]]:
    words = iter(text.split("\0"))
    for meta in words:
        if not meta:
            continue
        _, _, old, new, letter = meta.split(" ")
        previous = next(words) if letter[0] in "RC" else None
        yield _STATUS[letter[0]], (old if new == ZERO else new), next(words), previous


def _counts(data: bytes) -> Iterator[tuple[int, int]]:
    words = iter(data.decode("utf-8", "replace").split("\0"))
    for line in words:
        if not line:
            continue
        added, removed, path = line.split("\t", 2)
        if not path:  # a rename: the two names follow
            next(words)
            next(words)
        yield (0, 0) if added == "-" else (int(added), int(removed))


def _patches(text: str) -> Iterator[str | None]:
    """One per file. Content lines start with ' ', '+', '-' or '\\', so a line 'diff --git' is a header."""
    blocks = ("\n" + text).split("\ndiff --git ")[1:]
    for block in blocks:
        start = block.find("\n@@ ")
        patch = block[start + 1 :].rstrip("\n") if start >= 0 else None
        yield patch if patch is None or len(patch) <= MAX_PATCH else None
