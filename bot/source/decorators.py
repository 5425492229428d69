"""Decorators, metaclasses and class keywords: only those known to leave the class as written are passed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import attribute_writes
from bot.source.tree import ClassDef, text

_HARMLESS: Final = re.compile(
    r"(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)|(?:pytest\.)?mark\.\w+|(?:pytest\.)?fixture"
    r"|classmethod|staticmethod|property|\w+\.setter|(?:abc\.)?abstractmethod|(?:typing\.)?(?:override|final)"
    r"|(?:functools\.)?(?:wraps|lru_cache|cache|cached_property)|(?:contextlib\.)?(?:async)?contextmanager"
)
_METACLASSES: Final = frozenset({"type", "ABCMeta", "abc.ABCMeta"})
_WRITERS: Final = re.compile(r"setattr|__dict__|\bvars\(|\btype\(|__class__|\bpatch\b|\bexec\(|\bglobals\(")


def unknown_parts(
    tree: SourceTree, owners: Sequence[Owner], attribute: str, method: str | None
) -> Iterator[tuple[SourceFile, Node]]:
    """What stands on a class, or on a method that the test runs, and may set its bound."""
    for owner in owners:
        for name, keyword in owner.cls.keywords.items():
            if name != "metaclass" or text(keyword.child_by_field_name("value")) not in _METACLASSES:
                yield owner.file, keyword
        for decorator in (*owner.cls.decorators, *_on_methods(owner.cls, method)):
            if not _is_harmless(tree, owner.file, decorator, attribute):
                yield owner.file, decorator


def _on_methods(cls: ClassDef, method: str | None) -> Iterator[Node]:
    """The decorators of the test itself and of what is no test."""
    for name, function in cls.block.functions.items():
        parent = function.parent
        if parent is None or parent.type != "decorated_definition":
            continue
        if method is None or name == method or not name.startswith("test"):
            yield from (node for node in parent.named_children if node.type == "decorator")


def _is_harmless(tree: SourceTree, file: SourceFile, decorator: Node, attribute: str) -> bool:
    called = "".join(text(decorator).split()).lstrip("@").partition("(")[0]
    local = called in file.block.functions
    if _HARMLESS.fullmatch(called) and not local:
        return True
    found = tree.find_function(file, called)
    if found is None:
        return False
    function = found[1]
    return not attribute_writes(function, attribute) and _WRITERS.search(text(function)) is None
