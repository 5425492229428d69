"""What a module-level name stands for at one point of its file, where the text leaves one reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from bot.source.imports import Imports, Origin
from bot.source.tree import ClassDef, text

if TYPE_CHECKING:
    from bot.source.lineage import SourceFile


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that binds a name: a class, an import's origin, an alias, or something else (None)."""

    start: int
    always: bool
    """Under no `if` or `try`."""
    means: ClassDef | Origin | str | None


def bindings(file: SourceFile, name: str, before: int) -> list[Binding]:
    """The statements that may have bound the name last; more than one where a condition decides."""
    found = [Binding(c.start, _always(c.node), c) for c in file.classes_named(name) if c.start < before]
    for assignment in file.block.named.get(name, []):
        right = assignment.right
        alias = assignment.direct and right is not None and right.type in ("identifier", "attribute")
        statement = assignment.statement
        if statement.start_byte < before:
            means = "".join(text(right).split()) if alias else None
            found.append(Binding(statement.start_byte, _always(statement), means))
    for node in file.block.imports if name.encode() in file.data else ():
        origins = Imports([node]).bound.get(name, []) if node.start_byte < before else []
        found += [Binding(node.start_byte, _always(node), origin) for origin in origins]
    function = file.block.functions.get(name)
    if function is not None and function.start_byte < before:
        found.append(Binding(function.start_byte, _always(function), None))
    found.sort(key=lambda one: one.start)
    last = max((i for i, one in enumerate(found) if one.always), default=0)
    return found[last:]


def _always(node: Node) -> bool:
    parent = node.parent
    if parent is not None and parent.type == "decorated_definition":
        parent = parent.parent
    return parent is not None and parent.type == "module"
