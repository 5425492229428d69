"""Which files of the tree a name of a test file may have been imported from. Read as text, never imported."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from bot.source.tree import statements, text

SOURCE_ROOTS: Final = ("", "python", "src")


def imported_from(root: Node, path: str, name: str) -> tuple[str, list[str]]:
    """The name that `name` ('Base' or 'module.Base') has in its own module, and the paths to try for that
    module, likeliest first; no paths if it is not imported."""
    head, _, attribute = name.partition(".")
    for statement in statements(root):
        if statement.type not in ("import_statement", "import_from_statement"):
            continue
        module = text(statement.child_by_field_name("module_name"))
        for imported in statement.children_by_field_name("name"):
            original, bound = _names(imported)
            if bound != head:
                continue
            if not attribute and module:
                return original, _paths(module, path)
            if attribute:
                full = f"{module}{'' if module.endswith('.') else '.'}{original}" if module else original
                return attribute.rpartition(".")[2], _paths(full, path)
    return name, []


def _names(node: Node) -> tuple[str, str]:
    """The imported name and the one it is bound to here."""
    original, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    return text(original if original is not None else node), text(alias if alias is not None else node)


def _paths(module: str, path: str) -> list[str]:
    if module.partition(".")[0] in sys.stdlib_module_names:
        return []
    folder = PurePosixPath(path).parent
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module.lstrip(".").split(".") if part]
    if dots:
        bases = [PurePosixPath(*folder.parts[: max(len(folder.parts) - dots + 1, 0)])]
    else:
        bases = [PurePosixPath(root) for root in SOURCE_ROOTS] + [folder, *folder.parents]
    modules = [base.joinpath(*parts) for base in dict.fromkeys(bases)]
    return [f"{m}{end}" for m in modules if m.parts for end in (".py", "/__init__.py")]
