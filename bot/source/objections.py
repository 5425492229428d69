"""What makes a literal one that must not be edited, or not be trusted to be the bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import attribute_writes, is_written, string_value
from bot.source.sentences import of_file, shortened
from bot.source.tree import attributes_below, captured, descendants, query, text
from bot.verdict.answer import Refusal

_FLAG: Final = "--disable-radix-cache"
_CACHE_OFF: Final = re.compile(r"(?:^|[\s'\"])--disable-radix-cache(?:$|[\s'\"=])")
_READERS: Final = frozenset({"getattr", "hasattr"})
_MAX_CONSTANTS: Final = 200


# --- set elsewhere --------------------


def set_again(owners: Sequence[Owner], related: Sequence[Owner], attribute: str) -> Refusal | None:
    """Something besides the class statement gives the attribute a value: a method, a decorator, setattr.

    `related`: subclasses in the test's file, whose methods may write through the class.
    """
    own, names = owners[0], {owner.cls.name for owner in (*owners, *related)}
    for owner in (*owners, *related):
        if attribute.encode() not in owner.file.data:
            continue
        for node in _setters(owner, attribute):
            return _set_again(node, owner.file, own.file, f"{own.cls.shown}.{attribute}")
    for node in attributes_below(own.file.root) if attribute.encode() in own.file.data else ():
        if text(node.child_by_field_name("attribute")) != attribute or not is_written(node):
            continue
        if text(node.child_by_field_name("object")) in names:
            return _set_again(node, own.file, own.file, text(node))
    for node in _set_by_name(own.file.root, attribute):
        target = node.parent.named_children[0] if node.parent is not None else node
        if text(target) in names:
            return _set_again(node, own.file, own.file, f"{text(target)}.{attribute}")
    return None


def _setters(owner: Owner, attribute: str) -> Iterator[Node]:
    cls, file = owner.cls, owner.file
    yield from attribute_writes(cls.node, attribute)
    yield from _set_by_name(cls.node, attribute)
    if attribute in cls.keywords:
        yield cls.keywords[attribute]
    meta = text(cls.keywords["metaclass"].child_by_field_name("value")) if "metaclass" in cls.keywords else ""
    for other in file.classes_named(meta) if meta else ():
        if attribute in text(other.node):
            yield cls.keywords["metaclass"]
    for decorator in cls.decorators:
        yield from _named_in(decorator, attribute)
        called = text(decorator).lstrip("@").partition("(")[0].strip()
        function = file.block.functions.get(called)
        if function is not None:
            yield from attribute_writes(function, attribute)
            yield from _set_by_name(function, attribute)


def _named_in(node: Node, attribute: str) -> Iterator[Node]:
    """The attribute as a keyword or as a string, in the arguments of a decorator."""
    if attribute not in text(node):
        return
    for below in descendants(node):
        keyword = below.type == "keyword_argument" and text(below.child_by_field_name("name")) == attribute
        if keyword or (below.type == "string" and string_value(below) == attribute):
            yield below


def _set_by_name(node: Node, attribute: str) -> Iterator[Node]:
    """The attribute as a string among the arguments of a call that is no reader: setattr, patch.object."""
    if f"'{attribute}'" not in (written := text(node)) and f'"{attribute}"' not in written:
        return
    for string in captured(query("(argument_list (string) @found)"), node):
        call = string.parent.parent if string.parent is not None else None
        called = text(call.child_by_field_name("function")) if call is not None else ""
        setter = called.rpartition(".")[2] in ("setattr", "object") or called.endswith("setattr")
        if setter and called not in _READERS and string_value(string) == attribute:
            yield string


def _set_again(node: Node, file: SourceFile, own: SourceFile, name: str) -> Refusal:
    shown = text(node) if node.type == "attribute" else name
    where = f"line {node.start_point.row + 1}{of_file(file.path, own.path)}"
    sentence = f"{shortened(shown)} is set again in {where}; only one statement may set the bound."
    return Refusal("ambiguous", sentence)


def constant_set_again(file: SourceFile, name: str, own: SourceFile) -> Refusal | None:
    """A module-level name that a function rebinds, or a dictionary that is changed after it was written."""
    if file.data.count(name.encode()) < 2:
        return None
    for statement in captured(query("(global_statement) @found"), file.root):
        if name in [text(child) for child in statement.named_children]:
            return _set_again(statement, file, own, name)
    for left in captured(query("(assignment left: (subscript) @found)"), file.root):
        root = left
        while root.type == "subscript":
            root = root.child_by_field_name("value") or root.named_children[0]
        if text(root) == name:
            return _set_again(left, file, own, name)
    for use in attributes_below(file.root):
        changes = text(use.child_by_field_name("attribute")) in ("update", "setdefault", "pop", "clear")
        if changes and _root(use) == name:
            return _set_again(use, file, own, name)
    return None


def _root(node: Node) -> str:
    inner = node.child_by_field_name("object")
    while inner is not None and inner.type == "subscript":
        inner = inner.child_by_field_name("value")
    return text(inner)


# --- nothing is compared --------------------


def cache_is_off(tree: SourceTree, owners: Sequence[Owner], method: str | None) -> bool:
    """Whether the class starts its server without the cache, by what it sets itself or inherits."""
    seen: set[str] = set()
    for owner in owners:
        block = owner.cls.block
        effective = {a.name: a.statement for a in block.assignments}
        tests = {name for name in block.functions if name.startswith("test") and name != method}
        effective |= {name: node for name, node in block.functions.items() if name not in tests}
        for name, node in effective.items():
            if name not in seen and _has_flag(tree, owner.file, node):
                return True
        # A statement that names the base's own, as super().setUpClass(), keeps that in effect.
        seen |= {name for name, node in effective.items() if f".{name}" not in text(node)}
    return False


def _has_flag(tree: SourceTree, file: SourceFile, node: Node) -> bool:
    """The flag in the node's strings, or in those of the constants and functions it names."""
    queue, seen = [(file, node)], {(file.path, node.start_byte)}
    while queue:
        place, current = queue.pop()
        if _FLAG in text(current) and _flag_below(current):
            return True
        for name in _names_in(current):
            for other in _defined(tree, place, name):
                key = other[0].path, other[1].start_byte
                if key not in seen and len(seen) < _MAX_CONSTANTS:
                    seen.add(key)
                    queue.append(other)
    return False


def _flag_below(node: Node) -> bool:
    strings = captured(query("(string) @found"), node)
    return any(_CACHE_OFF.search(text(s)) for s in strings if not _is_docstring(s))


def _is_docstring(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "expression_statement"


def _names_in(node: Node) -> set[str]:
    return {text(name) for name in captured(query("(identifier) @found"), node)}


def _defined(tree: SourceTree, file: SourceFile, name: str) -> list[tuple[SourceFile, Node]]:
    """Module-level lists and functions of that name: of this file, or a list imported from one known."""
    if name in file.block.functions:
        return [(file, file.block.functions[name])]
    if name in file.block.named:
        return [(file, assignment.statement) for assignment in file.block.named[name]]
    if name in file.imports.bound and ("arg" in name.lower() or (name.isupper() and tree.paths)):
        found = tree.find_constant(file, name)
        return [] if found is None else [(found[0], a.statement) for a in found[1]]
    return []
