"""Every test of the tree that reads one literal: subclasses, users of a constant, keepers of a dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.reads import Reader
from bot.source.tree import text
from bot.source.values import Literal, Values

_WORD: Final = re.compile(rb"[^\W\d]\w*")
_SHARED: Final = re.compile(r"(?:utils?|helpers?|kits?|fixtures?|common|mixins?)$")
_FEW: Final = 4
"""Up to so many names, searching each in each file is cheaper than a set of the words of every file."""
_MAX_TESTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Governed:
    """A test class and those of its methods that read the literal."""

    owner: Owner
    methods: tuple[str, ...]

    @property
    def tests(self) -> list[str]:
        path, name = self.owner.file.path, self.owner.cls.name
        return [f"{path}::{name}.{method}" for method in self.methods] or [f"{path}::{name}"]


class Search:
    """Files are parsed only where their bytes mention a name that leads to the literal."""

    def __init__(self, tree: SourceTree, own: SourceFile) -> None:
        self._tree = tree
        self._own = own
        self._words: dict[str, frozenset[bytes]] = {}

    def paths(self) -> list[str]:
        return list(dict.fromkeys((self._own.path, *(p for p in self._tree.paths if p.endswith(".py")))))

    def mentioning(self, names: Iterable[str], near: Iterable[SourceFile] = ()) -> list[SourceFile]:
        """The files, besides those that are `near`, whose text has one of the names."""
        wanted = [name.encode() for name in names]
        found = {file.path: file for file in near}
        for path in self.paths():
            data = self._tree.data(path) if path not in found else None
            if data is not None and self._has(path, data, wanted):
                file = self._tree.file(path)
                if file is not None:
                    found[path] = file
        return list(found.values())

    def _has(self, path: str, data: bytes, wanted: Sequence[bytes]) -> bool:
        if len(wanted) <= _FEW:
            return any(name in data for name in wanted)
        if path not in self._words:
            self._words[path] = frozenset(_WORD.findall(data))
        return not self._words[path].isdisjoint(wanted)

    def subclasses(self, seeds: Iterable[Owner]) -> dict[Owner, None]:
        """The seeds and all classes that inherit from them, in the order found."""
        found = dict.fromkeys(seeds)
        names = {owner.cls.name for owner in found}
        done: set[str] = set()
        while fresh := names - done:
            done |= fresh
            for file in self.mentioning(fresh, {o.file.path: o.file for o in found}.values()):
                names |= aliases(file, names)
                for cls in file.block.classes:
                    owner = Owner(file, cls)
                    if owner not in found and any(base in found for base in self._tree.bases(owner)):
                        found[owner] = None
                        names.add(cls.name)
        return found

    def readers(self, owner: Owner, attribute: str) -> dict[Owner, None]:
        """Classes whose text reads the attribute by the class's name, as in `TestA.kl_threshold`."""
        found: dict[Owner, None] = {}
        names = {owner.cls.name}
        for file in self.mentioning(names, [owner.file]):
            if attribute.encode() in file.data:
                written = [f"{name}.{attribute}" for name in names | aliases(file, names)]
                for cls in file.block.classes:
                    if cls is not owner.cls and any(w in text(cls.node) for w in written):
                        found[Owner(file, cls)] = None
        return found

    def users(self, constants: Iterable[tuple[str, str]]) -> dict[Owner, None]:
        """Classes that may reach a module-level name, their own text naming it or what is built from it."""
        found: dict[Owner, None] = {}
        for path, name in constants:
            home = self._tree.file(path)
            names = _built_from(home, name) if home is not None else {name}
            for file in self.mentioning(names, [] if home is None else [home]):
                known = names | aliases(file, names)
                for cls in file.block.classes:
                    if any(n in text(cls.node) for n in known):
                        found[Owner(file, cls)] = None
        return self.subclasses(found)


def aliases(file: SourceFile, names: set[str]) -> set[str]:
    """Other names that this file gives to one of `names`."""
    bound = {
        alias
        for alias, origins in file.imports.bound.items()
        for origin in origins
        if origin.name in names and alias != origin.name
    }
    assigned = {a.name for a in file.block.assignments if text(a.right).rpartition(".")[2] in names}
    return (bound | assigned) - names


def _built_from(home: SourceFile, name: str) -> set[str]:
    """`name` and the constants and functions of its file whose text names it, directly or not."""
    names = {name}
    parts = [(a.name, text(a.statement)) for a in home.block.assignments]
    parts += [(function, text(node)) for function, node in home.block.functions.items()]
    for _ in range(_FEW):
        more = {part for part, written in parts if any(n in written for n in names)}
        if more <= names:
            break
        names |= more
    return names


def governed(
    search: Search,
    tree: SourceTree,
    reader: Reader,
    literal: Literal,
    failing: Owner,
    method: str | None,
    entries: Sequence[str],
) -> list[Governed]:
    """The failing test first; then the tests of all classes whose methods end at the same literal."""
    seeds = [Owner(literal.file, literal.place.cls)] if literal.place.cls is not None else []
    candidates = {failing: None} | search.subclasses(seeds)
    if seeds and literal.place.kind == "class":
        candidates |= search.readers(seeds[0], literal.place.name)
    reached = list(literal.constants)
    if literal.place.function is not None and literal.place.cls is None:
        reached.append((literal.file.path, literal.place.name))
    if reached:
        candidates |= search.users(reached)
    found = []
    tests = 0
    for owner in candidates:
        lineage = tree.lineage(owner.file, owner.cls)
        if owner != failing and not is_test(owner, lineage.owners, lineage.unread):
            continue
        values = Values(tree, lineage.owners, entries)
        names = dict.fromkeys(name for o in lineage.owners for name in o.cls.methods())
        if method is not None and (owner == failing or failing in lineage.owners):
            names[method] = None
        methods = _reading(reader, values, literal, list(names))
        if owner == failing and method is not None and method not in methods:
            methods = (*methods, method)
        if methods or _reads(reader, values, literal, None)[0]:
            found.append(Governed(owner, methods))
            tests += len(methods)
        if tests > _MAX_TESTS:
            tree.complete = False
            break
    return found


def _reading(reader: Reader, values: Values, literal: Literal, names: list[str]) -> tuple[str, ...]:
    """The methods that read the literal; those that tell nothing count where no method does for sure."""
    same = {name: _reads(reader, values, literal, name) for name in names}
    sure = any(hit and sure for hit, sure, _ in same.values())
    return tuple(n for n, (hit, known, opaque) in same.items() if hit and (known or opaque or not sure))


def _reads(reader: Reader, values: Values, literal: Literal, method: str | None) -> tuple[bool, bool, bool]:
    """Whether it ends at the literal, whether that is seen in its text, whether its text tells nothing."""
    reading = reader.read(values, method)
    hit = isinstance(reading.answer, Literal) and reading.answer.where == literal.where
    return hit, reading.sure, reading.opaque


def is_test(owner: Owner, owners: Sequence[Owner], unread: Sequence[str]) -> bool:
    """A class that unittest or pytest collects, not a mixin that only lends its methods."""
    names = [*(o.cls.name for o in owners[1:]), *unread]
    if any("TestCase" in name for name in names):
        return True
    in_test_file = is_test_path(owner.file.path)
    return in_test_file and owner.cls.name.startswith("Test") and not owner.cls.name.endswith("Mixin")


def is_test_path(path: str) -> bool:
    """Named as tests are, and not as what tests share."""
    stem = PurePosixPath(path).stem
    return (stem.startswith("test") or stem.endswith("_test")) and _SHARED.search(stem) is None
