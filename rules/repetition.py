"""Refuses patterns that a backtracking matcher could take for ever on.

RE2, which the bot searches with, takes linear time whatever the pattern; but packs travel to tools that use
`re`. The check looks at the pattern alone and errs to the side of refusing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from bot.logs.linear import compile_pattern

NESTED: Final = "repeats a group that itself repeats; write it without the inner repetition"
OVERLAP: Final = (
    "repeats a choice whose branches can match the same text; begin each with a character of its own"
)

_ESCAPE: Final = re.compile(
    r"\\(?:Q.*?(?:\\E|$)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP](?:\{\^?\w+\}|\w)|[0-7]{1,3}|.)", re.S
)
_OPEN: Final = re.compile(r"\(\?(?:P?<\w+>|[A-Za-z-]*:)|\((?!\?)")
_FLAGS: Final = re.compile(r"\(\?[A-Za-z-]*\)")
_REPEAT: Final = re.compile(r"(?:[*+?]|\{(\d+)(,?)(\d*)\})\??")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.S)
_SPELLED: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}


@dataclass(slots=True)
class _Piece:
    """One element of a pattern with its repetition. `text` is its source if it matches one character."""

    text: str = ""
    letter: str = ""
    """The one character that it matches, in lower case."""
    branches: list[list[_Piece]] = field(default_factory=list)
    varies: bool = False
    """Whether it repeats anything a number of times that the text decides."""
    overlaps: bool = False
    """Whether it holds a choice whose branches can match the same text."""


def check_repetition(pattern: str) -> None:
    """Raises ValueError with one sentence. `pattern` is one that RE2 compiles."""
    flags = "(?is)" if re.search(r"\(\?[A-Za-z]*s", pattern) else "(?i)"
    open_groups: list[list[list[_Piece]]] = [[[]]]
    index = 0
    while index < len(pattern):
        branch = open_groups[-1][-1]
        if repeat := _REPEAT.match(pattern, index):
            if branch:
                _repeat(branch[-1], repeat, flags)
            index = repeat.end()
        elif opened := _OPEN.match(pattern, index):
            open_groups.append([[]])
            index = opened.end()
        elif pattern[index] == ")":
            closed = _group(open_groups.pop())
            open_groups[-1][-1].append(closed)
            index += 1
        elif pattern[index] == "|":
            open_groups[-1].append([])
            index += 1
        elif skipped := _FLAGS.match(pattern, index):
            index = skipped.end()
        else:
            piece = _single(pattern, index)
            branch.append(piece)
            index += len(piece.text)


def _single(pattern: str, index: int) -> _Piece:
    """The single-character element at `index`."""
    char = pattern[index]
    if char == "\\" and (escape := _ESCAPE.match(pattern, index)):
        text = escape[0]
        name = text[1:]
        literal = _SPELLED.get(name, name if not name.isalnum() else "")
        return _Piece(text, literal)
    if char == "[" and (listed := _CLASS.match(pattern, index)):
        return _Piece(listed[0])
    return _Piece(char, "" if char in ".^$" else char.lower())


def _group(branches: list[list[_Piece]]) -> _Piece:
    pieces = [piece for branch in branches for piece in branch]
    return _Piece(
        branches=branches,
        varies=any(piece.varies for piece in pieces),
        overlaps=any(piece.overlaps for piece in pieces)
        or not _apart([_start(branch) for branch in branches]),
    )


def _start(branch: list[_Piece]) -> str:
    """The fixed text that a branch begins with."""
    text = ""
    for piece in branch:
        if not piece.letter or piece.varies:
            break
        text += piece.letter
    return text


def _apart(starts: list[str]) -> bool:
    ordered = sorted(starts)
    return not any(b.startswith(a) for a, b in pairwise(ordered))


def _repeat(piece: _Piece, repeat: re.Match[str], flags: str) -> None:
    """Applies a repetition to the piece. A group that is repeated must not be divisible in two ways."""
    fixed, comma, most = repeat[1], repeat[2], repeat[3]
    once = repeat[0][0] == "?" or (fixed is not None and (most or ("" if comma else fixed)) in ("0", "1"))
    if not once and piece.branches:
        if piece.overlaps:
            raise ValueError(OVERLAP)
        if piece.varies and not (len(piece.branches) == 1 and _delimited(piece.branches[0], flags)):
            raise ValueError(NESTED)
    if fixed is None or (comma and most != fixed):
        piece.varies = True


def _delimited(branch: list[_Piece], flags: str) -> bool:
    """Whether its one repetition ends at a character that it cannot match, as in `.*\\n` or `,[^,]*`."""
    varying = [index for index, piece in enumerate(branch) if piece.varies]
    if len(varying) != 1:
        return False
    repeated, following = branch[varying[0]], [*branch, branch[0]][varying[0] + 1]
    if not repeated.text or not following.letter:
        return False
    return compile_pattern(f"{flags}{repeated.text}").search(following.letter) is None
