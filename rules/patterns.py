"""Patterns of a pack: printed forms (RE2) with the text every match contains, and path globs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from bot.logs.linear import Pattern, PatternError, compile_pattern

GROUPS: Final = {"value", "threshold", "label", "model"}
MIN_HINT: Final = 4
MAX_PATTERN: Final = 1_000

_CLASS_ESCAPES: Final = frozenset("dDwWsSbBAznrtfva")
_GLOB: Final = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def compile_form(text: str) -> tuple[Pattern, str]:
    """The compiled form and its hint. Raises ValueError with one sentence."""
    if len(text) > MAX_PATTERN:
        raise ValueError(f"the pattern is longer than {MAX_PATTERN} characters")
    try:
        pattern = compile_pattern(text)
    except PatternError as error:
        raise ValueError(f"not an RE2 pattern: {error}") from None
    groups = set(pattern.groupindex)
    if "value" not in groups:
        raise ValueError("the pattern needs a group (?P<value>…)")
    if "threshold" not in groups:
        raise ValueError("the pattern needs a group (?P<threshold>…)")
    if groups - GROUPS:
        raise ValueError(f"unknown group {min(groups - GROUPS)!r}: there are {', '.join(sorted(GROUPS))}")
    hint = max(literal_runs(text), key=len, default="")
    if len(hint) < MIN_HINT:
        raise ValueError(f"the pattern needs {MIN_HINT} characters of fixed text outside its groups")
    return pattern, hint


def literal_runs(pattern: str) -> list[str]:
    """Texts that every match of an RE2 pattern contains: runs of plain characters outside any group.

    Errs to the safe side: an alternative at the top, a flag or a rare escape gives no run at all.
    """
    escapes = set(re.findall(r"\\([A-Za-z0-9])", pattern))
    plain = re.sub(r"\\.", "", pattern).replace("(?P<", "(").replace("(?:", "(")
    if escapes - _CLASS_ESCAPES or "(?" in plain:
        return []
    runs, run, depth, index = [], "", 0, 0
    while index < len(pattern):
        char, step, literal = pattern[index], 1, ""
        if char == "\\":
            step = 2
            literal = "" if pattern[index + 1] in _CLASS_ESCAPES else pattern[index + 1]
        elif char == "[":
            step = _class_length(pattern, index)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            return []
        elif char not in ".^$*+?{}|":
            literal = char
        optional = pattern[index + step : index + step + 1] in ("*", "?", "{")
        if depth == 0 and literal and not optional:
            run += literal
        else:
            runs.append(run)
            run = ""
        if char == "{" and depth == 0:
            step = pattern.find("}", index) - index + 1 or 1
        index += step
    return [text for text in [*runs, run] if text]


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
    if not text or text.startswith("/") or ".." in parts or "\\" in text or len(text) > 300:
        raise ValueError("must be a glob relative to the repository, such as test/**/test_*_kl.py")
    translated = ""
    for piece in re.split(r"(\*\*/|\*\*$|\*|\?)", text):
        translated += _GLOB.get(piece, re.escape(piece))
    return compile_pattern(f"^{translated}$")
