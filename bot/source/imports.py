"""Which files of the tree a name of a file may have been imported from. Read as text, never imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from bot.source.tree import text

SOURCE_ROOTS: Final = ("", "python", "src")
_MAX_ORIGINS: Final = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """`name` as the module `module` ('pkg.kit', '..kit') knows it."""

    module: str
    name: str


class Imports:
    """The import statements of one file."""

    def __init__(self, found: Iterable[Node]) -> None:
        self.bound: dict[str, list[Origin]] = {}
        """By the name bound here; `import a.b` is kept under 'a.b'. An origin without a name is a module."""
        self.stars: list[str] = []
        for statement in found:
            module = "".join(text(statement.child_by_field_name("module_name")).split())
            for imported in statement.children_by_field_name("name"):
                original, bound = _names(imported)
                origin = Origin(module, original) if module else Origin(original, "")
                self.bound.setdefault(bound, []).append(origin)
            if any(child.type == "wildcard_import" for child in statement.named_children):
                self.stars.append(module)

    def origins(self, name: str) -> list[Origin]:
        """Where `name` ('Base', 'kit.Base' or 'a.b.Base') comes from: its last import, or any star import."""
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            known = self.bound.get(".".join(parts[:count]))
            if known:
                rest = parts[count:]
                return [o for origin in known[-1:] if (o := below(origin, rest)) is not None]
        return [Origin(module, name) for module in self.stars[:_MAX_ORIGINS]] if len(parts) == 1 else []


def below(origin: Origin, rest: list[str]) -> Origin | None:
    if not rest:
        return origin if origin.name else None
    module = origin.module
    for part in (origin.name, *rest[:-1]):
        if part:
            module += part if module.endswith(".") else f".{part}"
    return Origin(module, rest[-1])


def _names(node: Node) -> tuple[str, str]:
    """The imported name and the one it is bound to here."""
    original, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    return text(original if original is not None else node), text(alias if alias is not None else node)


def module_paths(module: str, path: str, script: str = "") -> list[str]:
    """The paths to try for a module that the file at `path` imports, in the order of Python's search.

    The folder of the script that was started, `script`, comes first, and a package before a module.
    """
    if module.partition(".")[0] in sys.stdlib_module_names:
        return []
    folder = PurePosixPath(path).parent
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module.lstrip(".").split(".") if part]
    if dots:
        bases = [PurePosixPath(*folder.parts[: max(len(folder.parts) - dots + 1, 0)])]
    else:
        started = PurePosixPath(script or path).parent
        bases = [started, *(PurePosixPath(root) for root in SOURCE_ROOTS), folder, *folder.parents]
    modules = [base.joinpath(*parts) for base in dict.fromkeys(bases)]
    return [f"{m}{end}" for m in modules if m.parts for end in ("/__init__.py", ".py")]
