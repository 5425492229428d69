"""Proves an edit from its two texts alone, knowing nothing of how it was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from bot.source.site import Site
from bot.source.tree import parse, text

_NUMBERS: Final = ("float", "integer")


class EditError(RuntimeError):
    """An edit changed something else than one number and one comment line: a bug of ours."""


def prove(old: bytes, new: bytes, site: Site, value: float) -> None:
    """Raises EditError unless `new` is `old` with one comment line more and one number changed to
    `value`, all other bytes and every other token the same."""
    before, after = parse(old).root_node, parse(new).root_node
    if after.has_error:
        raise EditError("the edited file does not parse")
    added = _added_comment(list(_comments(before)), list(_comments(after)))
    _prove_tokens(list(_tokens(before)), list(_tokens(after)), site, value)
    _prove_bytes(old.split(b"\n"), new.split(b"\n"), site, added)


def _added_comment(before: list[Node], after: list[Node]) -> int:
    """The row of the one comment that is new."""
    old, new = [text(node) for node in before], [text(node) for node in after]
    if len(new) != len(old) + 1:
        raise EditError(f"{len(new) - len(old)} comments were added instead of one")
    index = next((i for i, comment in enumerate(old) if comment != new[i]), len(old))
    if new[:index] + new[index + 1 :] != old:
        raise EditError("another comment changed")
    return after[index].start_point.row


def _prove_tokens(
    before: list[tuple[int, str, str, int]], after: list[tuple[int, str, str, int]], site: Site, value: float
) -> None:
    """Tokens are compared with their depth in the tree, so that indentation counts."""
    if len(before) != len(after):
        raise EditError("the number of tokens changed")
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a[:3] != b[:3]]
    if len(changed) != 1:
        raise EditError(f"{len(changed)} tokens changed instead of one")
    (_, kind, _, start), (_, new_kind, spelled, _) = changed[0]
    if start != site.start or kind not in _NUMBERS or new_kind not in _NUMBERS:
        raise EditError("the token that changed is not the bound")
    if float(spelled) != value:
        raise EditError(f"the bound became {spelled} instead of {value}")


def _prove_bytes(old: list[bytes], new: list[bytes], site: Site, added: int) -> None:
    """Without the added line the files differ in one line, and there only in the number."""
    if not new[added].lstrip(b" \t").startswith(b"#"):
        raise EditError("the added comment does not stand on a line of its own")
    rest = new[:added] + new[added + 1 :]
    if len(rest) != len(old):
        raise EditError("the number of lines changed")
    changed = [index for index, line in enumerate(old) if line != rest[index]]
    if changed != [site.line - 1]:
        raise EditError("another line changed")
    line, edited = old[changed[0]], rest[changed[0]]
    offset = site.start - sum(len(text) + 1 for text in old[: changed[0]])
    tail = line[offset + site.end - site.start :]
    if edited[:offset] != line[:offset] or not edited.endswith(tail):
        raise EditError("something else in the line of the bound changed")
    if new[added].endswith(b"\r") != line.endswith(b"\r") and changed[0] + 1 < len(old):
        raise EditError("the added line ends differently")


def _leaves(root: Node) -> Iterator[tuple[int, Node]]:
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        if node.child_count == 0:
            yield depth, node
        stack.extend((depth + 1, child) for child in reversed(node.children))


def _comments(root: Node) -> Iterator[Node]:
    return (node for _, node in _leaves(root) if node.type == "comment")


def _tokens(root: Node) -> Iterator[tuple[int, str, str, int]]:
    for depth, node in _leaves(root):
        if node.type != "comment":
            yield depth, node.type, text(node), node.start_byte
