"""Whether a class starts its server without the prefix cache: then nothing is compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import string_value
from bot.source.tree import captured, query, text

_FLAG: Final = "--disable-radix-cache"
_ARGUMENT: Final = "disable_radix_cache"
_CACHE_OFF: Final = re.compile(r"(?:^|[\s'\"])--disable-radix-cache(?:$|[\s'\"=])")
_MODULE_HOOKS: Final = ("setUpModule", "setup_module")
_MAX_CONSTANTS: Final = 200


def cache_is_off(tree: SourceTree, owners: Sequence[Owner], method: str | None) -> bool:
    """By what the class sets itself or inherits, its decorators, and what its module sets up."""
    own = owners[0].file
    hooks = [own.block.functions[name] for name in _MODULE_HOOKS if name in own.block.functions]
    if any(_has_flag(tree, own, node) for node in hooks):
        return True
    seen: set[str] = set()
    for owner in owners:
        if any(_has_flag(tree, owner.file, node) for node in owner.cls.decorators):
            return True
        block = owner.cls.block
        effective = {a.name: a.statement for a in block.assignments}
        tests = {name for name in block.functions if name.startswith("test") and name != method}
        effective |= {name: _whole(node) for name, node in block.functions.items() if name not in tests}
        for name, node in effective.items():
            if name not in seen and _has_flag(tree, owner.file, node):
                return True
        # A statement that names the base's own, as super().setUpClass(), keeps that in effect.
        seen |= {name for name, node in effective.items() if f".{name}" not in text(node)}
    return False


def _whole(function: Node) -> Node:
    parent = function.parent
    return parent if parent is not None and parent.type == "decorated_definition" else function


def _has_flag(tree: SourceTree, file: SourceFile, node: Node) -> bool:
    """The flag in the node, or in the constants and functions it names.

    Of an imported function only its own text and constants count, not what else it calls.
    """
    queue, seen = [(file, node, False)], {(file.path, node.start_byte)}
    while queue:
        place, current, far = queue.pop()
        if _flag_below(current):
            return True
        for name in _names_in(current):
            for home, other in _defined(tree, place, name):
                key = home.path, other.start_byte
                function = other.type == "function_definition"
                if key not in seen and len(seen) < _MAX_CONSTANTS and not (far and function):
                    seen.add(key)
                    queue.append((home, other, far or home is not file))
    return False


def _flag_below(node: Node) -> bool:
    written = text(node)
    if _ARGUMENT in written and any(n.type not in ("false", "none") for n in _arguments_below(node)):
        return True
    if _FLAG in written:
        strings = captured(query("(string) @found"), node)
        if any(_CACHE_OFF.search(text(s)) for s in strings if not _is_docstring(s)):
            return True
    joined = captured(query("[(concatenated_string) (binary_operator)] @found"), node)
    return any((_joined(n) or "").strip() == _FLAG for n in joined)


def _arguments_below(node: Node) -> Iterator[Node]:
    """What is given as `disable_radix_cache`, as a keyword or in a dictionary."""
    for found in captured(query("[(keyword_argument) (pair)] @found"), node):
        name, key = found.child_by_field_name("name"), found.child_by_field_name("key")
        named = text(name) if name is not None else string_value(key) if key is not None else None
        value = found.child_by_field_name("value")
        if named == _ARGUMENT and value is not None:
            yield value


def _joined(node: Node) -> str | None:
    """The string that constants beside each other or with `+` between them make."""
    if node.type != "binary_operator":
        return string_value(node)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or text(node.child_by_field_name("operator")) != "+":
        return None
    parts = string_value(left), string_value(right)
    return parts[0] + parts[1] if parts[0] is not None and parts[1] is not None else None


def _is_docstring(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "expression_statement"


def _names_in(node: Node) -> set[str]:
    """Names, and module attributes as `kit.FLAGS`."""
    found = captured(query("[(identifier) (attribute)] @found"), node)
    return {"".join(text(name).split()) for name in found}


def _defined(tree: SourceTree, file: SourceFile, name: str) -> list[tuple[SourceFile, Node]]:
    """Module-level values and functions of that name, here or where it is imported from."""
    if name in file.block.functions:
        return [(file, file.block.functions[name])]
    if name in file.block.named:
        found = [(file, assignment.statement) for assignment in file.block.named[name]]
        return found + [(file, node) for node in _changes(file, name)]
    head = name.partition(".")[0]
    if not tree.paths and "arg" not in name.lower() and "flag" not in name.lower():
        return []
    if head not in file.imports.bound and name.rpartition(".")[0] not in file.imports.bound:
        return []
    constant = tree.find_constant(file, name)
    if constant is not None:
        return [(constant[0], a.statement) for a in constant[1]]
    function = tree.find_function(file, name)
    return [] if function is None else [function]


def _changes(file: SourceFile, name: str) -> list[Node]:
    """Module-level statements as `ARGS.append(…)`."""
    return [
        node
        for node in file.root.named_children
        if node.type == "expression_statement"
        and node.named_children[0].type == "call"
        and text(node).startswith(f"{name}.")
    ]
