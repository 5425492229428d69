"""Proves an edit from its two texts alone, knowing nothing of how it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile, zip_longest
from typing import Final

from tree_sitter import Node

from bot.source.layout import indent, is_continued, line_end, line_start, next_line, path_to
from bot.source.override import DEFINITIONS, blank_lines, body_statements, class_at, target
from bot.source.second_opinion import agrees_on_number, agrees_on_statement
from bot.source.site import Override, Site
from bot.source.spelling import spell
from bot.source.tree import parse

Relocate = Callable[[bytes], float | None]
"""The bound that the failing test has in this text of the edited file; None if it has none."""

COMMENT_LINE: Final = re.compile(rb"([ \t]*)# [\x20-\x7e]*[\x21-\x7e](\r?\n)")

_NUMBERS: Final = ("float", "integer")


class EditError(RuntimeError):
    """An edit changed something else than one bound and one comment line: a bug of ours."""


def prove(old: bytes, new: bytes, site: Site, value: float, relocate: Relocate | None = None) -> None:
    """Raises EditError unless `new` is `old` with the number of the site at `value` and one comment line
    more, above the statement or entry that holds it, and every other byte and token the same."""
    spelling = spell(value, site.spelling)
    first, stop = added_line(old, new, site.start, site.end, spelling)
    before, after = parse(old).root_node, _parsed(new)
    changed = list(_changed(before, after, range(first, stop)))
    if len(changed) != 1:
        raise EditError(f"{len(changed)} tokens changed instead of one")
    kinds = [leaf.type for leaf in changed[0]]
    spans = [(leaf.start_byte, leaf.end_byte) for leaf in changed[0]]
    moved = site.start + stop - first
    if spans != [(site.start, site.end), (moved, moved + len(spelling))] or not set(kinds) <= set(_NUMBERS):
        raise EditError("the token that changed is not the bound")
    _prove_comment(new, after, first, stop, moved)
    if not agrees_on_number(old, new, moved, site.spelling, new.count(b"\n", 0, first) + 1):
        raise EditError("Python itself reads the edit in another way")
    _prove_value(new, value, spelling, relocate)


def prove_override(
    old: bytes, new: bytes, override: Override, spelling: str, value: float, relocate: Relocate | None = None
) -> None:
    """Raises EditError unless `new` is `old` with `attribute = spelling` and a comment line above it more,
    in the body of the class itself, and every other byte and token the same."""
    before, after = parse(old).root_node, _parsed(new)
    statement = _own_statement(new, after, override)
    row = line_start(new, statement.start_byte)
    comment, stop = line_start(new, max(row - 1, 0)), next_line(new, row)
    cls = class_at(before, override.cls, override.line)
    first = _cut(old, new, comment, stop, blank_lines(old, cls) if cls is not None else (0, 0))
    end = line_end(old, max(first - 1, 0))
    _prove_lines(new[comment:row], new[row:stop], override.attribute, spelling, end)
    if any(_changed(before, after, range(comment, stop))):
        raise EditError("a token changed")
    if is_continued(new, after, comment):
        raise EditError("the comment continues a line")
    if not agrees_on_statement(old, new, override, statement.start_point.row + 1):
        raise EditError("Python itself reads the edit in another way")
    _prove_value(new, value, spelling, relocate)


def _prove_lines(comment: bytes, statement: bytes, attribute: str, spelling: str, end: bytes) -> None:
    above = COMMENT_LINE.fullmatch(comment)
    setting = re.escape(attribute.encode()) + rb"(?:: float)? = " + re.escape(spelling.encode())
    below = re.fullmatch(rb"([ \t]*)" + setting + rb"(\r?\n)?", statement)
    if above is None or below is None:
        raise EditError("the added lines are not one comment and one statement")
    if above[1] != below[1] or above[2] != end or below[2] not in (None, end):
        raise EditError("the added lines differ in indentation or in how they end")


def added_line(old: bytes, new: bytes, start: int, end: int, spelling: str) -> tuple[int, int]:
    """The span in `new` of the one line that it has more. All else must be `old` with `spelling` in place of
    the bytes from `start` to `end`."""
    first = line_start(new, _common(old, new))
    stop = next_line(new, first)
    if new[:first] + new[stop:] != old[:start] + spelling.encode() + old[end:]:
        raise EditError("something else than one line and the number changed")
    prove_comment_line(new, first, stop)
    return first, stop


def prove_comment_line(new: bytes, first: int, stop: int) -> None:
    """It is a comment, indented as the line below it, and ends as that one does."""
    match = COMMENT_LINE.fullmatch(new[first:stop])
    if match is None:
        raise EditError("the added line is no comment")
    below = new[stop : next_line(new, stop)]
    if match[1] != indent(new, stop + len(below) - len(below.lstrip(b" \t\f"))):
        raise EditError("the comment is not indented as what it stands above")
    if match[2] != line_end(new, stop):
        raise EditError("the added line ends differently")


def _prove_comment(new: bytes, after: Node, first: int, stop: int, number: int) -> None:
    """The parser takes the line for a comment too, and below it starts the statement or the entry of a dict
    that holds the number."""
    sign = new.index(b"#", first)
    comment = after.descendant_for_byte_range(sign, sign + 1)
    if comment is None or comment.type != "comment" or comment.start_byte != sign:
        raise EditError("the added line is no comment")
    if is_continued(new, after, first):
        raise EditError("the comment continues a line")
    below = new[stop : next_line(new, stop)]
    start = stop + len(below) - len(below.lstrip(b" \t\f"))
    path = path_to(after, start)
    for outer, node in pairwise(path):
        begins = node.start_byte == start <= number < node.end_byte
        if begins and (outer.type in ("module", "block") or node.type == "pair"):
            return
    raise EditError("the comment does not stand above the bound")


def _own_statement(new: bytes, root: Node, override: Override) -> Node:
    """The one statement of the class's own body that sets the attribute, before any method of it."""
    cls = class_at(root, override.cls, override.line)
    body = cls.child_by_field_name("body") if cls is not None else None
    statements = body_statements(body) if body is not None else []
    leading = takewhile(lambda statement: statement.type not in DEFINITIONS, statements)
    own = [node for node in leading if target(node) == override.attribute]
    if len(own) != 1:
        raise EditError(f"{len(own)} statements of {override.cls} set {override.attribute} instead of one")
    others = [node for node in statements if node.start_byte != own[0].start_byte]
    if not others or indent(new, others[0].start_byte) != indent(new, own[0].start_byte):
        raise EditError("the added statement is not indented as the others")
    return own[0]


def _cut(old: bytes, new: bytes, first: int, stop: int, blanks: tuple[int, int]) -> int:
    """Where the span starts that `new` has more: the lines from `first` to `stop` and the blank ones beside
    them. At the end of a file without a line end, the line end before the lines is of that span."""
    end = line_end(new, first)
    unended = stop == len(new) and not new.endswith(b"\n")
    start, last = first - (blanks[0] + unended) * len(end), stop + blanks[1] * len(end)
    padding = new[max(start, 0) : first] + new[stop:last]
    if padding != end * (sum(blanks) + unended) or new[:start] + new[last:] != old:
        raise EditError("something else than the added lines changed")
    return start


def _parsed(new: bytes) -> Node:
    root = parse(new).root_node
    if root.has_error:
        raise EditError("the edited file does not parse")
    return root


def _prove_value(new: bytes, value: float, spelling: str, relocate: Relocate | None) -> None:
    if float(spelling) != value:
        raise EditError(f"the bound became {spelling} instead of {value}")
    if relocate is not None and (found := relocate(new)) != value:
        raise EditError(f"the bound of the test is {found} after the edit instead of {value}")


def _common(old: bytes, new: bytes) -> int:
    """Length of the common prefix."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def _changed(before: Node, after: Node, added: range) -> Iterator[tuple[Node, Node]]:
    """Pairs of tokens that differ, or stand at another depth of the tree; those in `added` are new."""
    kept = ((depth, leaf) for depth, leaf in _leaves(after) if leaf.start_byte not in added)
    for old, new in zip_longest(_leaves(before), kept):
        if old is None or new is None:
            raise EditError("the number of tokens changed")
        (depth, leaf), (new_depth, new_leaf) = old, new
        same = (leaf.type, _said(leaf)) == (new_leaf.type, _said(new_leaf))
        if not same or (depth != new_depth and leaf.type != "comment"):
            yield leaf, new_leaf


def _said(leaf: Node) -> bytes:
    """The token's text; that of a comment may reach to the carriage return that ends its line."""
    return (leaf.text or b"").rstrip(b"\r")


def _leaves(root: Node) -> Iterator[tuple[int, Node]]:
    """Tokens with their depth, in order. A cursor keeps no node of those it has passed, and is not asked for
    its depth, which it would count anew each time."""
    cursor, depth = root.walk(), 0
    while True:
        if cursor.goto_first_child():
            depth += 1
            continue
        if cursor.node is not None:
            yield depth, cursor.node
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1
