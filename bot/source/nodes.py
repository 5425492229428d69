"""Small questions asked of syntax nodes."""

from __future__ import annotations

import ast
import re
from typing import Final

from tree_sitter import Node

from bot.source.tree import Assignment, Block, attributes_below, descendants, text

SELVES: Final = frozenset({"self", "cls", "type(self)", "self.__class__", "super()"})
_KL: Final = re.compile(r"(?<![a-z])kl(?![a-z])", re.IGNORECASE)
_MAX_STRING: Final = 1_000
_MAX_SHOWN: Final = 60


def unwrapped(node: Node) -> Node:
    """The expression without the parentheses around it."""
    while node.type == "parenthesized_expression":
        inner = next((child for child in node.named_children if child.type != "comment"), None)
        if inner is None:
            break
        node = inner
    return node


def local_assignments(function: Node, name: str) -> list[Assignment]:
    """Every `name = …` in the function's own statements."""
    body = function.child_by_field_name("body")
    return Block(body).named.get(name, []) if body is not None and name in text(body) else []


def parameters(function: Node) -> tuple[str, ...]:
    node = function.child_by_field_name("parameters")
    names = []
    for child in node.named_children if node is not None else ():
        inner = child if child.type == "identifier" else child.child_by_field_name("name")
        inner = inner or next((c for c in child.named_children if c.type == "identifier"), None)
        names.append(text(inner))
    return tuple(names)


def call_arguments(call: Node) -> list[Node]:
    node = call.child_by_field_name("arguments")
    return [c for c in node.named_children if c.type != "comment"] if node is not None else []


def attribute_writes(node: Node, name: str) -> list[Node]:
    """`anything.name` below the node where an assignment binds it, also in a tuple."""
    if name not in text(node):
        return []
    return [
        use
        for use in attributes_below(node)
        if text(use.child_by_field_name("attribute")) == name and is_written(use)
    ]


def is_written(node: Node) -> bool:
    child, parent = node, node.parent
    while parent is not None and parent.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        child, parent = parent, parent.parent
    binding = ("assignment", "augmented_assignment", "for_statement")
    return parent is not None and parent.type in binding and parent.child_by_field_name("left") == child


def pairs_of(dictionary: Node) -> list[Node]:
    return [child for child in dictionary.named_children if child.type == "pair"]


def pair_part(pair: Node, part: str) -> Node:
    return pair.child_by_field_name(part) or pair


def string_value(node: Node) -> str | None:
    """The value of a string constant; None for anything else, an f-string included."""
    node = unwrapped(node)
    if node.type not in ("string", "concatenated_string") or node.end_byte - node.start_byte > _MAX_STRING:
        return None
    if any(child.type == "interpolation" for child in descendants(node)):
        return None
    try:
        value = ast.literal_eval(text(node))
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def shown(node: Node) -> str:
    """The expression as written, without spaces, cut where it is long."""
    written = "".join(text(node).split())
    return written if len(written) <= _MAX_SHOWN else written[: _MAX_SHOWN - 3] + "..."


def is_kl(name: str) -> bool:
    """Whether `kl` is a word of the name: avg_kl_div, KL_BOUND; not backlog."""
    return _KL.search(name) is not None
