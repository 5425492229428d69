"""The classes of one file and how they inherit from each other."""

from __future__ import annotations

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

    def subclasses(self, cls: ClassDef) -> list[ClassDef]:
        return [other for other in self.classes if other is not cls and cls in self.bases(other)]

    def users(self, cls: ClassDef, attribute: str) -> list[ClassDef]:
        """The class and those of its subclasses that see its own `attribute`, not one set in between."""
        return [cls, *(sub for sub in self.subclasses(cls) if self._setter(sub, attribute) is cls)]

    def _setter(self, cls: ClassDef, attribute: str) -> ClassDef | None:
        """The class whose assignment an instance of `cls` sees."""
        for owner in (cls, *self.bases(cls)):
            if any(assignment.name == attribute for assignment in owner.assignments()):
                return owner
        return None
