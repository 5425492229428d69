"""What the running interpreter makes of an edit. It has no say where it cannot read the file."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Container
from typing import Final

from bot.source.layout import line_start
from bot.source.site import Override

MAX_BYTES: Final = 1 << 18
"""Larger files are left to the parser: an `ast` is some hundred times the size of its text."""

_UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)
_LAYOUT: Final = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


def agrees_on_number(old: bytes, new: bytes, start: int, spelling: str, comment_line: int) -> bool:
    """Whether `new`, with `spelling` for its number at byte `start` and without its line `comment_line`
    (1-based), says what `old` says."""
    before, after = _tree(old), _tree(new)
    if before is None or after is None:
        return before is None
    place = (new.count(b"\n", 0, start) + 1, start - line_start(new, start))
    numbers = [
        node
        for node in ast.walk(after)
        if isinstance(node, ast.Constant) and (node.lineno, node.col_offset) == place
    ]
    if len(numbers) != 1 or not isinstance(numbers[0].value, int | float):
        return False
    numbers[0].value = ast.literal_eval(spelling)
    tokens, kept = _tokens(old), _tokens(new, without={comment_line})
    changed = [was[0] for was, token in zip(tokens, kept, strict=False) if was != token]
    return len(tokens) == len(kept) and changed == [tokenize.NUMBER] and ast.dump(after) == ast.dump(before)


def agrees_on_statement(old: bytes, new: bytes, override: Override, line: int) -> bool:
    """Whether `new`, without the statement of the class's body in this line (1-based) and the comment in the
    line above it, says what `old` says."""
    before, after = _tree(old), _tree(new)
    if before is None or after is None:
        return before is None
    for node in ast.walk(after):
        if isinstance(node, ast.ClassDef) and (node.name, node.lineno) == (override.cls, override.line):
            node.body = [statement for statement in node.body if statement.lineno != line]
    kept = _tokens(new, without={line - 1, line})
    return kept == _tokens(old) and ast.dump(after) == ast.dump(before)


def _tree(data: bytes) -> ast.Module | None:
    """None where this interpreter cannot read the file, or the file is too large."""
    if len(data) > MAX_BYTES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data.decode("utf-8-sig"))
        ast.dump(tree)
        _tokens(data)
    except _UNREADABLE:
        return None
    return tree


def _tokens(data: bytes, without: Container[int] = ()) -> list[tuple[int, str]]:
    """Kind and text of every token that does not start in one of these lines; layout left out."""
    lines = io.StringIO(data.decode("utf-8-sig"), newline="").readline
    return [
        (token.type, "" if token.type == tokenize.NEWLINE else token.string)
        for token in tokenize.generate_tokens(lines)
        if token.type not in _LAYOUT and token.start[0] not in without
    ]
