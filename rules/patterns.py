"""Patterns of a pack: printed forms (RE2) with the text every match contains, bounds in files, and globs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Final

from bot.logs.linear import Pattern, PatternError, compile_pattern
from rules.repetition import check_repetition

GROUPS: Final = {"value", "threshold", "label", "model"}
PRINT_GROUPS: Final = {*GROUPS, "per_prompt"}
MIN_HINT: Final = 4
MAX_PATTERN: Final = 1_000
MAX_GLOB: Final = 300

_CLASS_ESCAPES: Final = frozenset("dDwWsSbBAznrtfva")
_SPECIAL: Final = ".^$*+?{}()|"
_GLOB: Final = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_REASONS: Final = (
    ("invalid perl operator: (?P", "refers back to a group, which RE2 cannot do; write the text out"),
    ("invalid escape sequence: \\k", "refers back to a group, which RE2 cannot do; write the text out"),
    (
        "invalid perl operator: (?",
        "looks around or makes a choice by condition, which RE2 cannot do; match the text",
    ),
    (
        "invalid repetition size",
        "repeats more than 1000 times in all, which RE2 cannot do; repeat without a limit",
    ),
    ("pattern too large", "is too large for RE2; write a shorter pattern"),
)


def compile_form(text: str, lines: int = 1) -> tuple[Pattern, str]:
    """A form that spans `lines` lines, and its hint. Raises ValueError with one sentence."""
    pattern = _compiled(text, GROUPS)
    groups = set(pattern.groupindex)
    if "threshold" in groups and "value" not in groups:
        raise ValueError("a pattern with a group (?P<threshold>…) needs a group (?P<value>…)")
    if lines == 1 and re.search(r"\n|\\n", text.replace(r"\\", "")):
        raise ValueError("the pattern spans several lines: say how many with the key 'lines'")
    return pattern, _hint(text, lines)


def compile_print(text: str) -> tuple[Pattern, str]:
    """The printed part of a check, and its hint. Raises ValueError with one sentence."""
    pattern = _compiled(text, PRINT_GROUPS)
    if not set(pattern.groupindex):
        raise ValueError(f"the pattern needs one of the groups {', '.join(sorted(PRINT_GROUPS))}")
    return pattern, _hint(text, 1)


def compile_bound(text: str) -> Pattern:
    """A bound in a file that is no Python. Raises ValueError with one sentence."""
    pattern = _compiled(text, {"bound"})
    if not set(pattern.groupindex):
        raise ValueError("the pattern needs a group (?P<bound>…)")
    return pattern


def _compiled(text: str, groups: set[str]) -> Pattern:
    if len(text) > MAX_PATTERN:
        raise ValueError(f"the pattern is longer than {MAX_PATTERN} characters")
    try:
        pattern = compile_pattern(text)
    except PatternError as error:
        raise ValueError(_reason(str(error))) from None
    names = re.findall(r"\(\?P?<(\w+)>", text)
    if unknown := set(pattern.groupindex) - groups:
        raise ValueError(f"unknown group {min(unknown)!r}: there are {', '.join(sorted(groups))}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the group {twice[0]!r} is there twice")
    check_repetition(text)
    return pattern


def _reason(error: str) -> str:
    """What is wrong with a pattern that RE2 does not take, and what to do where that is known."""
    if re.match(r"invalid escape sequence: \\[1-9]", error):
        return _REASONS[0][1]
    return next((said for start, said in _REASONS if error.startswith(start)), f"not an RE2 pattern: {error}")


def _hint(text: str, lines: int) -> str:
    runs = literal_runs(text, first_line=lines > 1)
    hint = max(runs, key=len, default="")
    if len(hint) < MIN_HINT:
        place = " on its first line" if lines > 1 else ""
        raise ValueError(f"the pattern needs {MIN_HINT} characters of fixed text outside its groups{place}")
    return hint


def literal_runs(pattern: str, *, first_line: bool = False) -> list[str]:
    """Texts that every match of an RE2 pattern contains: runs of plain characters outside any group.

    `first_line`: only those before anything that can match the end of a line. Errs to the safe side: an
    alternative at the top, a flag or a rare escape gives no run at all.
    """
    escapes = set(re.findall(r"\\([A-Za-z0-9])", pattern.replace(r"\\", "")))
    plain = re.sub(r"\\.", "", pattern).replace("(?P<", "(").replace("(?:", "(")
    if escapes - _CLASS_ESCAPES or "(?" in plain:
        return []
    runs, run, depth, ended = [], "", 0, False
    tokens = list(_tokens(pattern))
    for piece, following in zip_longest(tokens, tokens[1:], fillvalue=""):
        if piece == "|" and depth == 0:
            return []
        depth += {"(": 1, ")": -1}.get(piece, 0)
        ended = ended or (first_line and _ends_line(piece))
        literal = _literal(piece)
        if literal and depth == 0 and not ended and following[:1] not in ("*", "?", "{"):
            run += literal
        else:
            runs.append(run)
            run = ""
    return [text for text in [*runs, run] if text]


def _tokens(pattern: str) -> Iterator[str]:
    """Its characters, escapes, bracket expressions and counted repetitions."""
    index = 0
    while index < len(pattern):
        step = 1
        if pattern[index] == "\\":
            step = 2
        elif pattern[index] == "[":
            step = _class_length(pattern, index)
        elif pattern[index] == "{" and (counted := re.compile(r"\{\d+(?:,\d*)?\}").match(pattern, index)):
            step = counted.end() - index
        yield pattern[index : index + step]
        index += step


def _literal(token: str) -> str:
    """The one character that a token matches, if it matches only that."""
    if token[0] == "\\":
        return "" if token[1:] in _CLASS_ESCAPES else token[1:]
    return token if len(token) == 1 and token not in _SPECIAL else ""


def _ends_line(token: str) -> bool:
    """Whether a token can match the end of a line."""
    if token in (r"\n", r"\s", r"\D", r"\W", "\n"):
        return True
    return token[0] == "[" and compile_pattern(token).search("\n") is not None


def _class_length(pattern: str, start: int) -> int:
    """Length of the bracket expression that starts here."""
    index = start + 1
    if pattern[index : index + 1] == "^":
        index += 1
    if pattern[index : index + 1] == "]":
        index += 1
    while index < len(pattern) and pattern[index] != "]":
        named = re.compile(r"\[:\^?\w+:\]").match(pattern, index)
        index = named.end() if named else index + (2 if pattern[index] == "\\" else 1)
    return index - start + 1


def compile_glob(text: str) -> Pattern:
    """`*` stays within a folder, `**/` spans folders. Raises ValueError with one sentence."""
    parts = PurePosixPath(text).parts
    if not text or text.startswith("/") or ".." in parts or "\\" in text or len(text) > MAX_GLOB:
        raise ValueError("must be a glob relative to the repository, such as test/**/test_*_kl.py")
    translated = ""
    for piece in re.split(r"(\*\*/|\*\*$|\*|\?)", text):
        translated += _GLOB.get(piece, re.escape(piece))
    return compile_pattern(f"^{translated}$")


def compile_job_glob(text: str) -> Pattern:
    """A glob over names of jobs: `*` matches anything, also slashes and spaces. Raises ValueError."""
    if not text.strip() or len(text) > MAX_GLOB or "\n" in text:
        raise ValueError("must be a glob over names of jobs, such as *-test-4-gpu-*")
    translated = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text)
    return compile_pattern(f"^{translated}$")
