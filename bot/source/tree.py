"""A Python file as a tree: its classes and what their bodies say. Nothing is imported or run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from bot.source.sentences import shortened

MAX_BYTES: Final = 4 << 20
_MAX_CHAIN: Final = 100
"""Names in one `a = b = …`; a longer chain is cut."""

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
    return captured(_attribute_query(), node)


def captured(query: Query, node: Node) -> list[Node]:
    """What `query` names "found" in the node, in the order of the text."""
    found = QueryCursor(query).captures(node).get("found", [])
    return sorted(found, key=lambda use: use.start_byte)


@cache
def query(pattern: str) -> Query:
    return Query(_language(), pattern)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name = right`. `direct`: a plain statement of its own, under no `if`, not chained, not augmented."""

    name: str
    statement: Node
    right: Node | None
    direct: bool

    @property
    def line(self) -> int:
        return self.statement.start_point.row + 1


class Block:
    """What the statements of a module or of a class body bind; compound statements are looked into."""

    def __init__(self, body: Node) -> None:
        self.imports: list[Node] = []
        self.classes: list[ClassDef] = []
        self.functions: dict[str, Node] = {}
        self.assignments: list[Assignment] = []
        self.named: dict[str, list[Assignment]] = {}
        for statement in statements(body):
            self._add(statement, body)
        for assignment in self.assignments:
            self.named.setdefault(assignment.name, []).append(assignment)

    def _add(self, statement: Node, body: Node) -> None:
        kind, inner = statement.type, statement
        if kind == "decorated_definition":
            inner = statement.child_by_field_name("definition") or statement
            kind = inner.type
        if kind == "expression_statement":
            direct = statement.parent == body and statement.named_child_count == 1
            for child in statement.named_children:
                self.assignments += _assigned(child, statement, direct)
        elif kind == "function_definition":
            self.functions[text(inner.child_by_field_name("name"))] = inner
        elif kind == "class_definition":
            self.classes.append(ClassDef(inner))
        elif kind in ("import_statement", "import_from_statement"):
            self.imports.append(statement)


class ClassDef:
    """One class. `bases`: its bases as written, names without what stands in brackets.

    `shown` is its name for sentences.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.name = text(node.child_by_field_name("name"))
        self.shown = shortened(self.name)
        self.line = node.start_point.row + 1
        self.start = node.start_byte
        self.keywords: dict[str, Node] = {}
        bases = []
        arguments = node.child_by_field_name("superclasses")
        for base in arguments.named_children if arguments is not None else ():
            if base.type == "subscript":
                base = base.child_by_field_name("value") or base
            if base.type in ("identifier", "attribute"):
                bases.append("".join(text(base).split()))
            elif base.type == "keyword_argument":
                self.keywords[text(base.child_by_field_name("name"))] = base
            elif base.type != "comment":
                bases.append(shortened("".join(text(base).split())))
        self.bases = tuple(bases)

    @property
    def decorators(self) -> list[Node]:
        parent = self.node.parent
        found = parent.named_children if parent is not None and parent.type == "decorated_definition" else []
        return [node for node in found if node.type == "decorator"]

    @property
    def body(self) -> Node:
        body = self.node.child_by_field_name("body")
        return body if body is not None else self.node

    @cached_property
    def block(self) -> Block:
        return Block(self.body)

    def methods(self) -> tuple[str, ...]:
        """Names of test methods, in the order of the text."""
        return tuple(name for name in self.block.functions if name.startswith("test"))

    def named(self, name: str) -> list[Assignment]:
        """Every binding of a plain name in the class body, method bodies left out."""
        return self.block.named.get(name, [])


def statements(block: Node) -> Iterator[Node]:
    """The statements of a block and of the compound statements in it; definitions are not entered."""
    stack = list(reversed(block.named_children))
    while stack:
        child = stack.pop()
        if child.type in _COMPOUND:
            stack.extend(reversed(child.named_children))
        else:
            yield child


def _assigned(node: Node, statement: Node, direct: bool) -> list[Assignment]:
    found: list[Assignment] = []
    current: Node | None = node
    for _ in range(_MAX_CHAIN):
        if current is None or current.type not in ("assignment", "augmented_assignment"):
            break
        left, right = current.child_by_field_name("left"), current.child_by_field_name("right")
        if left is None or (right is None and current.type == "assignment"):
            break
        chained = right is not None and right.type == "assignment"
        direct = direct and left.type == "identifier" and current.type == "assignment" and not chained
        nodes = (left, *descendants(left)) if left.type not in ("attribute", "subscript") else ()
        found += [Assignment(text(n), statement, right, direct) for n in nodes if n.type == "identifier"]
        current = right
    return found
