"""The classes of one file and how they inherit from each other."""

from __future__ import annotations

from collections.abc import Collection

from tree_sitter import Node

from bot.source.tree import ClassDef


class ClassTable:
    def __init__(self, classes: list[ClassDef]) -> None:
        self.classes = classes
        self._by_name = {cls.name: cls for cls in classes}

    def named(self, name: str) -> ClassDef | None:
        """The last definition counts, as when the file runs."""
        return self._by_name.get(name)

    def bases(self, cls: ClassDef) -> list[ClassDef]:
        """All bases that this file defines, nearest first."""
        found: list[ClassDef] = []
        queue = list(cls.bases)
        while queue:
            base = self.named(queue.pop(0))
            if base is not None and base is not cls and base not in found:
                found.append(base)
                queue += base.bases
        return found

    def with_bases(self, name: str) -> list[ClassDef]:
        cls = self.named(name)
        return [] if cls is None else [cls, *self.bases(cls)]

    def foreign_bases(self, cls: ClassDef) -> list[str]:
        """Bases, direct or not, that come from elsewhere."""
        names = [name for owner in (cls, *self.bases(cls)) for name in owner.bases]
        return [name for name in dict.fromkeys(names) if self.named(name) is None]

    def subclasses(self, cls: ClassDef) -> list[ClassDef]:
        return [other for other in self.classes if other is not cls and cls in self.bases(other)]

    def governed(self, cls: ClassDef, attribute: str, method: str | None) -> list[str]:
        """Class.method of every test in this file that reads the class's own `attribute`.

        A method that no class of the file defines comes from a base elsewhere: the failing test names it, and
        subclasses have it too. Without any known method the class stands alone.
        """
        governed: list[str] = []
        for user in (cls, *(sub for sub in self.subclasses(cls) if self._setter(sub, attribute) is cls)):
            lineage = [user, *self.bases(user)]
            methods = [name for owner in lineage for name in owner.methods()]
            if method is not None:
                methods.append(method)
            governed += [f"{user.name}.{name}" for name in dict.fromkeys(methods)] or [user.name]
        return governed

    def _setter(self, cls: ClassDef, attribute: str) -> ClassDef | None:
        """The class whose assignment an instance of `cls` sees."""
        for owner in (cls, *self.bases(cls)):
            if any(assignment.name == attribute for assignment in owner.assignments()):
                return owner
        return None

    def encloses(self, node: Node, names: Collection[str]) -> bool:
        """Whether the node lies within one of the named classes."""
        inside = (cls for cls in self.classes if cls.node.start_byte <= node.start_byte < cls.node.end_byte)
        return any(cls.name in names for cls in inside)
