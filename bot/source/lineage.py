"""A class and its bases, across the files of a tree; a file is read, as text, when a base asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from bot.source.classes import ClassTable
from bot.source.imports import imported_from
from bot.source.tree import MAX_BYTES, ClassDef, module_classes, parse

MAX_FILES: Final = 32
"""Files read for one test; bases beyond that count as not found."""

ReadFile = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    root: Node
    table: ClassTable


@dataclass(frozen=True, slots=True)
class Owner:
    """A class of the lineage and the file that defines it."""

    path: str
    cls: ClassDef


@dataclass(slots=True)
class Lineage:
    """`owners`: the class itself, then its bases, nearest first. `unread`: bases whose file was not found."""

    owners: list[Owner] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


class SourceTree:
    def __init__(self, read_file: ReadFile) -> None:
        self._read_file = read_file
        self._files: dict[str, SourceFile | None] = {}

    def add(self, path: str, root: Node) -> SourceFile:
        file = SourceFile(path, root, ClassTable(module_classes(root)))
        self._files[path] = file
        return file

    def lineage(self, file: SourceFile, cls: ClassDef) -> Lineage:
        found = Lineage()
        queue = [(file, cls)]
        seen: set[tuple[str, int]] = set()
        while queue:
            file, cls = queue.pop(0)
            if (file.path, cls.node.start_byte) in seen:
                continue
            seen.add((file.path, cls.node.start_byte))
            found.owners.append(Owner(file.path, cls))
            for name in cls.bases:
                local = file.table.named(name)
                base = (file, local) if local is not None else self._foreign(file, name)
                if base is not None:
                    queue.append(base)
                elif name not in found.unread:
                    found.unread.append(name)
        return found

    def _foreign(self, file: SourceFile, name: str) -> tuple[SourceFile, ClassDef] | None:
        origin, paths = imported_from(file.root, file.path, name)
        for path in paths:
            other = self._file(path)
            if other is not None:
                cls = other.table.named(origin)
                return None if cls is None else (other, cls)
        return None

    def _file(self, path: str) -> SourceFile | None:
        if path not in self._files:
            known = sum(file is not None for file in self._files.values())
            data = self._read_file(path) if known < MAX_FILES else None
            self._files[path] = None
            if data is not None and len(data) <= MAX_BYTES:
                self.add(path, parse(data).root_node)
        return self._files[path]
