"""What else than a plain assignment gives a name or a dictionary its value: such a bound is not followed."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tree_sitter import Node

from bot.source.lineage import SourceFile
from bot.source.tree import Assignment, Block, attributes_below, captured, query, text

_KEPT: Final = 64
"""Functions whose text is searched once."""
_CHANGERS: Final = frozenset(
    {"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__"}
)
_BINDERS: Final = {
    "for_statement": "left",
    "for_in_clause": "left",
    "named_expression": "name",
    "function_definition": "name",
    "class_definition": "name",
    "default_parameter": "name",
    "typed_default_parameter": "name",
}
_BINDING: Final = frozenset(
    {
        "as_pattern_target",
        "lambda_parameters",
        "parameters",
        "typed_parameter",
        "global_statement",
        "nonlocal_statement",
        "delete_statement",
        "case_pattern",
    }
)
_IMPORTS: Final = ("import_statement", "import_from_statement", "aliased_import")
_PATTERNS: Final = frozenset(
    {"pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list_splat_pattern"}
)


def bound_in(function: Node, name: str) -> Node | None:
    """Where a function, or one inside it, binds the name other than by assignment."""
    body = function.child_by_field_name("body")
    return _binders(body).get(name, [None])[0] if body is not None else None


def bound_in_module(file: SourceFile, name: str, found: list[Assignment]) -> Node | None:
    """Where a module binds a name that it also assigns: by an import, a loop, `globals()`, a definition."""
    if name in file.block.functions:
        return file.block.functions[name]
    if name in file.imports.bound:
        return next((node for node in file.block.imports if name in text(node)), file.root)
    last = max((a.statement.start_byte for a in found), default=0)
    for node in file.block.imports:
        star = any(child.type == "wildcard_import" for child in node.named_children)
        if star and node.start_byte > last:
            return node
    if file.data.count(name.encode()) < 2:
        return None
    for node in _binders(file.root).get(name, []):
        if not _is_inside(node, ("function_definition", "class_definition", "lambda")):
            return node
    if b"globals()" in file.data and (f"'{name}'".encode() in file.data or f'"{name}"'.encode() in file.data):
        return next((c for c in captured(query("(call) @found"), file.root) if text(c) == "globals()"), None)
    return None


@lru_cache(maxsize=_KEPT)
def _binders(node: Node) -> dict[str, list[Node]]:
    """By name, where the node binds it other than by assignment."""
    found: dict[str, list[Node]] = {}
    for use in captured(query("(identifier) @found"), node):
        if _binds(use):
            found.setdefault(text(use), []).append(use)
    return found


@lru_cache(maxsize=_KEPT)
def locals_of(function: Node) -> dict[str, list[Assignment]]:
    """Every `name = …` in the function's own statements, by name."""
    body = function.child_by_field_name("body")
    return Block(body).named if body is not None else {}


def _binds(use: Node) -> bool:
    child, parent = use, use.parent
    while parent is not None and parent.type in _PATTERNS:
        child, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "dotted_name":
        above = parent.parent
        while above is not None and above.type in ("dotted_name", "case_pattern"):
            if above.type == "case_pattern":
                return True
            above = above.parent
        return above is not None and above.type in _IMPORTS
    part = _BINDERS.get(parent.type)
    if part is not None:
        return parent.child_by_field_name(part) == child
    return parent.type in _BINDING or parent.type == "aliased_import"


def _is_inside(node: Node, kinds: tuple[str, ...]) -> bool:
    current = node.parent
    while current is not None and current.type not in kinds:
        current = current.parent
    return current is not None and current.child_by_field_name("name") != node


def changed_in(node: Node, name: str) -> Node | None:
    """Where the node changes the dictionary `name`, or gives it another name under which it may change."""
    return _changes(node).get(name)


@lru_cache(maxsize=_KEPT)
def _changes(node: Node) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for target in captured(query("[(subscript) (attribute)] @found"), node):
        called = target.type == "attribute"
        if text(target.child_by_field_name("attribute")) in _CHANGERS if called else _is_target(target):
            found.setdefault(_root(target), target)
    for target in captured(query("(augmented_assignment left: (_) @found)"), node):
        found.setdefault(_root(target), target)
    for right in captured(query("(assignment right: [(identifier) (attribute)] @found)"), node):
        found.setdefault("".join(text(right).split()), right)
    return found


def _root(node: Node) -> str:
    """`self.lim` of `self.lim['a']['b']` and of `self.lim.update`."""
    if node.type == "attribute" and text(node.child_by_field_name("attribute")) in _CHANGERS:
        node = node.child_by_field_name("object") or node
    while node.type == "subscript":
        node = node.child_by_field_name("value") or node.named_children[0]
    return "".join(text(node).split())


def _is_target(node: Node) -> bool:
    child, parent = node, node.parent
    while parent is not None and parent.type in (*_PATTERNS, "subscript"):
        if parent.type == "subscript" and parent.child_by_field_name("value") != child:
            return False
        child, parent = parent, parent.parent
    if parent is None:
        return False
    assigned = parent.type in ("assignment", "augmented_assignment")
    return parent.type == "delete_statement" or (assigned and parent.child_by_field_name("left") == child)


def attribute_changed(node: Node, name: str) -> Node | None:
    """Where a class changes the dictionary that is its attribute `name`."""
    if name not in text(node):
        return None
    holders = {
        "".join(text(use).split())
        for use in attributes_below(node)
        if text(use.child_by_field_name("attribute")) == name
    }
    found = (changed_in(node, holder) for holder in sorted(holders))
    return next((change for change in found if change is not None), None)
