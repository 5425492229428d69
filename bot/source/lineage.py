"""Classes, constants and the order in which a class inherits, across the files of a tree, read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, TypeVar

from tree_sitter import Node

from bot.source.binding import bindings
from bot.source.imports import Imports, Origin, module_paths
from bot.source.tree import MAX_BYTES, Assignment, Block, ClassDef, parse, text

MAX_FILES: Final = 32
"""Files read for one test where the tree cannot be listed, as each may be a request to a server."""
MAX_MISSES: Final = 200
"""Paths asked for in vain, likewise."""
MAX_LISTED: Final = 20_000
MAX_TOTAL: Final = 200 << 20
MAX_CLASSES: Final = 200
"""Classes of one lineage; bases beyond that count as not found."""
_MAX_HOPS: Final = 8

T = TypeVar("T")
ReadFile = Callable[[str], bytes | None]
ListFiles = Callable[[], Iterable[str]]


class SourceFile:
    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.root = parse(data).root_node

    @cached_property
    def block(self) -> Block:
        return Block(self.root)

    @property
    def module(self) -> str:
        """The last part of its name as a module."""
        path = PurePosixPath(self.path)
        return path.parent.name if path.stem == "__init__" else path.stem

    @cached_property
    def imports(self) -> Imports:
        return Imports(self.block.imports)

    @cached_property
    def _by_name(self) -> dict[str, list[ClassDef]]:
        found: dict[str, list[ClassDef]] = {}
        for cls in self.block.classes:
            found.setdefault(cls.name, []).append(cls)
        return found

    def classes_named(self, name: str) -> list[ClassDef]:
        return self._by_name.get(name, [])


@dataclass(frozen=True, slots=True)
class Owner:
    """A class and the file that defines it."""

    file: SourceFile
    cls: ClassDef


class Unclear:
    """A name that is bound, but not to a class or name that the text shows."""


@dataclass(slots=True)
class Lineage:
    """`owners`: the class itself, then its bases in the order in which attributes are looked up.

    `unread`: bases whose file was not found.
    """

    owners: list[Owner] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


class SourceTree:
    """Every file is read and parsed at most once. `complete` turns False where a limit cut the reading."""

    def __init__(self, read_file: ReadFile, list_files: ListFiles | None = None, script: str = "") -> None:
        """`script`: the path of the test file, whose folder Python searches first."""
        self._read_file = read_file
        self._script = script
        self.unclear: set[str] = set()
        """Bases that a condition decides."""
        self._data: dict[str, bytes | None] = {}
        self._files: dict[str, SourceFile | None] = {}
        self._lineages: dict[Owner, Lineage] = {}
        self._bases: dict[Owner, list[Owner | str]] = {}
        self._constants: dict[tuple[SourceFile, str], tuple[SourceFile, list[Assignment]] | None] = {}
        self._total = self._count = self._misses = 0
        self.complete = list_files is not None
        self.paths: tuple[str, ...] = tuple(dict.fromkeys(list_files())) if list_files is not None else ()
        self._listed = frozenset(self.paths)
        self._most = MAX_LISTED if self._listed else MAX_FILES

    def data(self, path: str) -> bytes | None:
        if path not in self._data:
            known = not self._listed or path in self._listed or not self._data
            self._data[path] = self._read(path) if known else None
        return self._data[path]

    def _read(self, path: str) -> bytes | None:
        if self._count >= self._most or self._total >= MAX_TOTAL or self._misses >= MAX_MISSES:
            self.complete = False
            return None
        data = self._read_file(path)
        if data is None:
            self._misses += not self._listed
            self.complete = self.complete and path not in self._listed
            return None
        if len(data) > MAX_BYTES:
            self.complete = False
        self._count += 1
        self._total += len(data)
        return data

    def file(self, path: str) -> SourceFile | None:
        if path not in self._files:
            data = self.data(path)
            kept = data is not None and len(data) <= MAX_BYTES
            self._files[path] = SourceFile(path, data) if data is not None and kept else None
        return self._files[path]

    def find_class(
        self, file: SourceFile, name: str, imported: bool = False, before: int | None = None
    ) -> Owner | None:
        """The class that `name` means at the end of the file, or at the byte offset `before`.

        `imported`: not one of the file's own.
        """

        def here(place: SourceFile, wanted: str) -> Owner | Unclear | str | None:
            found = bindings(place, wanted, last if place is file else len(place.data) + 1)
            if imported and place is file:
                found = [one for one in found if not isinstance(one.means, ClassDef)]
            if len(found) > 1:
                self.unclear.add(name)
                return Unclear()
            if not found or isinstance(found[0].means, Origin):
                return None
            means = found[0].means
            return Owner(place, means) if isinstance(means, ClassDef) else means or Unclear()

        last = len(file.data) + 1 if before is None else before
        owner = self._find(file, name, here)
        return owner if isinstance(owner, Owner) else None

    def find_constant(self, file: SourceFile, name: str) -> tuple[SourceFile, list[Assignment]] | None:
        """The assignments of a module-level name, imported or not."""
        if (file, name) not in self._constants:
            self._constants[file, name] = self._constant(file, name)
        return self._constants[file, name]

    def _constant(self, file: SourceFile, name: str) -> tuple[SourceFile, list[Assignment]] | None:

        def here(place: SourceFile, wanted: str) -> tuple[SourceFile, list[Assignment]] | str | None:
            named = place.block.named.get(wanted)
            return (place, named) if named else None

        return self._find(file, name, here)

    def _find(
        self, file: SourceFile, name: str, here: Callable[[SourceFile, str], T | str | None]
    ) -> T | None:
        """Follows `name` through aliases and imports; `here` gives what a file defines, or another name."""
        queue, seen = [(file, name, 0)], set()
        while queue:
            place, wanted, hops = queue.pop(0)
            if (place.path, wanted) in seen or hops > _MAX_HOPS:
                continue
            seen.add((place.path, wanted))
            found = here(place, wanted)
            if isinstance(found, str):
                queue.append((place, found, hops + 1))
            elif found is not None:
                return found
            for origin in place.imports.origins(wanted):
                paths = module_paths(origin.module, place.path, self._script)
                other = next((f for path in paths if (f := self.file(path)) is not None), None)
                if other is not None:
                    queue.append((other, origin.name, hops + 1))
        return None

    def find_function(self, file: SourceFile, name: str) -> tuple[SourceFile, Node] | None:
        """A module-level function, imported or not."""

        def here(place: SourceFile, wanted: str) -> tuple[SourceFile, Node] | str | None:
            node = place.block.functions.get(wanted)
            return None if node is None else (place, node)

        return self._find(file, name, here)

    def leads_to(self, file: SourceFile, name: str, home: SourceFile, wanted: str) -> bool:
        """Whether `name` ('KL_BOUND', 'kit.KL_BOUND') in the file means `wanted` of the file `home`.

        True as well where its module is not found in the tree but is called as `home` is.
        """

        def here(place: SourceFile, named: str) -> bool | str | None:
            if place is home and named == wanted:
                return True
            found = place.block.named.get(named, [])
            right = found[-1].right if found else None
            if right is not None and right.type in ("identifier", "attribute"):
                return text(right)
            return False if found or place.classes_named(named) or named in place.block.functions else None

        found = self._find(file, name, here)
        if found is not None:
            return found
        return any(o.module.rpartition(".")[2] == home.module for o in file.imports.origins(name))

    def bases(self, owner: Owner) -> list[Owner | str]:
        """The direct bases; a name where none was found."""
        if owner not in self._bases:
            self._bases[owner] = [self._base(owner, name) or name for name in owner.cls.bases]
        return self._bases[owner]

    def _base(self, owner: Owner, name: str) -> Owner | None:
        file, cls = owner.file, owner.cls
        if not name.replace(".", "").isidentifier():
            return None
        earlier = bindings(file, name, cls.start)
        if earlier:
            return self.find_class(file, name, before=cls.start)
        # A class defined further down, or this one, cannot be meant: then it is an imported one.
        found = self.find_class(file, name, imported=bool(file.classes_named(name)))
        return None if found is None or found == owner else found

    def lineage(self, file: SourceFile, cls: ClassDef) -> Lineage:
        own = Owner(file, cls)
        if own not in self._lineages:
            self._lineages[own] = self._lineage(own)
        return self._lineages[own]

    def _lineage(self, own: Owner) -> Lineage:
        bases = self.bases(own)
        above = self._lineages.get(bases[0]) if len(bases) == 1 and isinstance(bases[0], Owner) else None
        if above is not None and own not in above.owners:
            return Lineage([own, *above.owners][:MAX_CLASSES], above.unread)
        found: dict[Owner, None] = {own: None}
        unread: dict[str, None] = {}
        queue = [own]
        while queue:
            for base in self.bases(queue.pop(0)):
                if isinstance(base, str):
                    unread[base] = None
                elif base not in found and len(found) < MAX_CLASSES:
                    found[base] = None
                    queue.append(base)
        return Lineage(self._linearized(own, list(found)), list(unread))

    def _linearized(self, own: Owner, known: list[Owner]) -> list[Owner]:
        """C3 over the classes found; breadth first where Python would refuse the class."""
        orders: dict[Owner, list[Owner] | None] = {}

        def order(owner: Owner) -> list[Owner] | None:
            if owner not in orders:
                orders[owner] = None  # a class among its own bases
                bases = [base for base in self.bases(owner) if isinstance(base, Owner) and base in members]
                above = [order(base) for base in bases]
                lists = [above_one for above_one in above if above_one is not None]
                if len(lists) == 1 == len(bases):
                    merged: list[Owner] | None = lists[0]
                else:
                    merged = _merged([*lists, bases]) if len(lists) == len(bases) else None
                orders[owner] = None if merged is None else [owner, *merged]
            return orders[owner]

        members = frozenset(known)
        return order(own) or known


def _merged(lists: list[list[Owner]]) -> list[Owner] | None:
    """The C3 merge; None where there is no consistent order."""
    merged: list[Owner] = []
    rests = [one for one in lists if one]
    while rests:
        tails = {owner for one in rests for owner in one[1:]}
        head = next((one[0] for one in rests if one[0] not in tails), None)
        if head is None:
            return None
        merged.append(head)
        rests = [rest for one in rests if (rest := one[1:] if one[0] == head else one)]
    return merged
