"""A Python file as a tree: its module-level classes and what their bodies say. Nothing is imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

MAX_BYTES: Final = 4 << 20

_COMPOUND: Final = {
    "if_statement",
    "elif_clause",
    "else_clause",
    "try_statement",
    "except_clause",
    "except_group_clause",
    "finally_clause",
    "with_statement",
    "for_statement",
    "while_statement",
    "match_statement",
    "case_clause",
    "block",
}


@cache
def _language() -> Language:
    return Language(tree_sitter_python.language())


def parse(data: bytes) -> Tree:
    return Parser(_language()).parse(data)


def text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", errors="replace")


def descendants(node: Node) -> Iterator[Node]:
    """Every node below, in the order of the text."""
    stack = list(reversed(node.children))
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


@cache
def _attribute_query() -> Query:
    return Query(_language(), "(attribute) @found")


def attributes_below(node: Node) -> list[Node]:
    """Every `a.b` in the node, in the order of the text; faster than a walk over all nodes."""
    found = QueryCursor(_attribute_query()).captures(node).get("found", [])
    return sorted(found, key=lambda use: use.start_byte)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name = right` in a class body. `direct`: a statement of its own there, under no `if`, not chained."""

    name: str
    statement: Node
    right: Node | None
    direct: bool


class ClassDef:
    """One class at module level (also under `if` or `try`)."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.name = text(node.child_by_field_name("name"))
        self.line = node.start_point.row + 1
        arguments = node.child_by_field_name("superclasses")
        named = arguments.named_children if arguments is not None else []
        self.bases = tuple(text(base) for base in named if base.type in ("identifier", "attribute"))

    @property
    def body(self) -> Node:
        body = self.node.child_by_field_name("body")
        return body if body is not None else self.node

    def methods(self) -> tuple[str, ...]:
        """Names of test methods, in the order of the text."""
        found = []
        for child in self.body.named_children:
            inner = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
            if inner is not None and inner.type == "function_definition":
                found.append(text(inner.child_by_field_name("name")))
        return tuple(name for name in found if name.startswith("test"))

    def assignments(self) -> list[Assignment]:
        """Every binding of a plain name in the class body, method bodies left out."""
        found: list[Assignment] = []
        for statement in statements(self.body):
            if statement.type == "expression_statement":
                direct = statement.parent == self.body and statement.named_child_count == 1
                for child in statement.named_children:
                    found += _assigned(child, statement, direct)
        return found


def statements(block: Node) -> Iterator[Node]:
    """The statements of a block and of the compound statements in it; definitions are not entered."""
    for child in block.named_children:
        if child.type in _COMPOUND:
            yield from statements(child)
        else:
            yield child


def module_classes(root: Node) -> list[ClassDef]:
    found = []
    for statement in statements(root):
        inner = statement
        if statement.type == "decorated_definition":
            definition = statement.child_by_field_name("definition")
            inner = definition if definition is not None else statement
        if inner.type == "class_definition":
            found.append(ClassDef(inner))
    return found


def _assigned(node: Node, statement: Node, direct: bool) -> list[Assignment]:
    if node.type not in ("assignment", "augmented_assignment"):
        return []
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or (right is None and node.type == "assignment"):
        return []
    chained = right is not None and right.type == "assignment"
    plain = left.type == "identifier" and node.type == "assignment" and not chained
    nodes = (left, *descendants(left)) if left.type not in ("attribute", "subscript") else ()
    targets = [node for node in nodes if node.type == "identifier"]
    found = [Assignment(text(target), statement, right, direct and plain) for target in targets]
    if chained and right is not None:
        found += _assigned(right, statement, False)
    return found
