"""Which files of the tree a name of a test file may have been imported from. Read as text, never imported."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from bot.source.tree import statements, text

SOURCE_ROOTS: Final = ("", "python", "src")


def imported_from(root: Node, path: str, name: str) -> list[str]:
    """Paths to try, likeliest first, for the module that `name` ('Base' or 'module.Base') comes from."""
    head, _, attribute = name.partition(".")
    for statement in statements(root):
        if statement.type == "import_from_statement" and not attribute:
            module = text(statement.child_by_field_name("module_name"))
            if any(_bound_name(n) == head for n in statement.children_by_field_name("name")):
                return _paths(module, path)
        if statement.type in ("import_statement", "import_from_statement") and attribute:
            for imported in statement.children_by_field_name("name"):
                if _bound_name(imported) == head:
                    module = _full_name(imported)
                    if statement.type == "import_from_statement":
                        module = f"{text(statement.child_by_field_name('module_name'))}.{module}"
                    return _paths(module, path)
    return []


def _bound_name(node: Node) -> str:
    alias = node.child_by_field_name("alias")
    return text(alias if alias is not None else node)


def _full_name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text(name if name is not None else node)


def _paths(module: str, path: str) -> list[str]:
    folder = PurePosixPath(path).parent
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module.lstrip(".").split(".") if part]
    if dots:
        bases = [PurePosixPath(*folder.parts[: max(len(folder.parts) - dots + 1, 0)])]
    else:
        bases = [PurePosixPath(root) for root in SOURCE_ROOTS] + [folder, *folder.parents]
    modules = [base.joinpath(*parts) for base in dict.fromkeys(bases)]
    return [f"{m}{end}" for m in modules if m.parts for end in (".py", "/__init__.py")]
