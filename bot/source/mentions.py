"""Who else names a bound: every mention that is not this bound of a known test counts as another user."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from bot.source.governs import Governed, Search, aliases, is_test
from bot.source.imports import Imports
from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import SELVES, call_arguments, is_kl, string_value, unwrapped
from bot.source.reads import Reader
from bot.source.sentences import shortened
from bot.source.tree import ClassDef, attributes_below, captured, query, text
from bot.source.values import Literal, Values

_DEFINITIONS: Final = ("class_definition", "function_definition")
_IMPORTS: Final = ("import_statement", "import_from_statement", "future_import_statement")
_NAMES: Final = ("keyword_argument", "class_definition", "function_definition", "default_parameter")
_MAX_TRACKED: Final = 50
_MAX_KEYS: Final = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """The failing test's class, the literal it reads, and what tells whether another test reads it too."""

    search: Search
    tree: SourceTree
    reader: Reader
    literal: Literal
    own: Owner
    tests: Sequence[Governed]
    entries: tuple[str, ...]

    @property
    def is_entry(self) -> bool:
        return self.literal.place.kind == "entry"


def other_mentions(asked: Asked) -> list[str]:
    """The places that name the literal's constant, its table, or `Class.attribute`, unexplained."""
    place = asked.literal.place
    if place.kind == "class" and place.cls is asked.own.cls:
        found = _attribute_mentions(asked, place.name)
    else:
        found = []
    if asked.literal.constants:
        found += _constant_mentions(asked)
    return list(dict.fromkeys(found))


# --- the attribute, by the class's name --------------------


def _attribute_mentions(asked: Asked, attribute: str) -> list[str]:
    own = asked.own
    found = []
    below = {o for o in asked.search.subclasses([own]) if o == own or not o.cls.named(attribute)}
    names = {o.cls.name for o in below}
    for file in asked.search.mentioning(names, [own.file]):
        if attribute.encode() in file.data:
            found += [_at(file, node, own) for node in _asking(asked, file, attribute, below)]
            if file is not own.file:
                if f".{attribute}".encode() in file.data:
                    found += [_at(file, node, own) for node in _late_imports(file, own.file, names)]
                strings = _in_strings(file, own.file, (attribute, f".{own.cls.name}.{attribute}"))
                found += [_at(file, node, own) for node in strings]
    return found


def _asking(asked: Asked, file: SourceFile, attribute: str, below: set[Owner]) -> Iterator[Node]:
    """`TestA.kl_threshold` and `getattr(TestA, "kl_threshold")`, outside the class itself."""
    own = asked.own
    holders = [
        (node, node.child_by_field_name("object"))
        for node in attributes_below(file.root)
        if text(node.child_by_field_name("attribute")) == attribute
    ]
    for call in captured(query("(call function: (identifier)) @found"), file.root):
        handed = call_arguments(call) if text(call.child_by_field_name("function")) == "getattr" else []
        if len(handed) > 1 and string_value(handed[1]) == attribute:
            holders.append((call, handed[0]))
    for node, holder in holders:
        written = "".join(text(holder).split())
        inside = file is own.file and own.cls.start <= node.start_byte < own.cls.node.end_byte
        if not inside and written not in SELVES and asked.tree.find_class(file, written) in below:
            yield node


# --- module-level names --------------------


def _constant_mentions(asked: Asked) -> list[str]:
    own, tree = asked.own, asked.tree
    tracked = dict.fromkeys(asked.literal.constants)
    queue, found = list(tracked), list[str]()
    while queue and len(tracked) <= _MAX_TRACKED:
        path, name = queue.pop(0)
        home = tree.file(path)
        if home is None:
            continue
        for file in asked.search.mentioning([name], [home]):
            for use in _uses(tree, file, home, name):
                if asked.is_entry and _is_other_entry(use, asked.entries):
                    continue
                led = _explained(asked, file, use, tracked)
                if led is None:
                    found.append(_at(file, use, own))
                elif led and led not in tracked:
                    tracked[led] = None
                    queue.append(led)
    return [*found, "too many names to follow"] if queue else found


def _uses(tree: SourceTree, file: SourceFile, home: SourceFile, name: str) -> Iterator[Node]:
    """Every expression of the file that means the name of `home`; its imports and definition left out."""
    known = {name} if file is home else {name} | aliases(file, {name})
    if file is not home and not any(word.encode() in file.data for word in known):
        return
    leads: dict[str, bool] = {}
    for node in captured(query("(identifier) @found"), file.root):
        if text(node) not in known or _is_only_a_name(node):
            continue
        parent = node.parent
        dotted = parent is not None and parent.type == "attribute" and parent.named_children[0] != node
        whole = parent if dotted and parent is not None else node
        written = "".join(text(whole).split())
        if file is home and not dotted:
            yield node
            continue
        if written not in leads:
            leads[written] = tree.leads_to(file, written, home, name)
        if leads[written]:
            yield whole
    if file is not home:
        yield from _late_imports(file, home, {name})
        yield from _in_strings(file, home, (name, f".{name}"))


def _late_imports(file: SourceFile, home: SourceFile, names: Collection[str]) -> Iterator[Node]:
    """Imports in functions, of one of the names or of their module, in a file that has the name."""
    known = {node.start_byte for node in file.block.imports}
    for node in captured(query("[(import_statement) (import_from_statement)] @found"), file.root):
        if node.start_byte in known:
            continue
        imports = Imports([node])
        origins = [o for bound in imports.bound.values() for o in bound]
        stem = home.module
        of_module = any(
            o.module.rpartition(".")[2] == stem and (not o.name or o.name in names) for o in origins
        )
        if of_module or any(o.name == stem for o in origins):
            yield node


def _in_strings(file: SourceFile, home: SourceFile, ends: tuple[str, str]) -> Iterator[Node]:
    """The name as a string, as in `setattr` and `mock.patch`, where the file names its module as well."""
    if home.module.encode() not in file.data:
        return
    for string in captured(query("(string) @found"), file.root):
        value = string_value(string) or ""
        if value == ends[0] or value.endswith(ends[1]):
            yield string


def _is_only_a_name(node: Node) -> bool:
    """A keyword's or definition's name, an import, or the left side of a module-level assignment."""
    parent = node.parent
    if parent is not None and parent.type in _NAMES and parent.child_by_field_name("name") == node:
        return True
    top, child = parent, node
    while top is not None and top.parent is not None and top.parent.type != "module":
        if top.type in _IMPORTS:
            return True
        top, child = top.parent, top
    if top is not None and top.type in _IMPORTS:
        return True
    return child.type == "assignment" and child.child_by_field_name("left") == node


def _explained(
    asked: Asked, file: SourceFile, use: Node, tracked: Iterable[tuple[str, str]]
) -> tuple[str, str] | tuple[()] | None:
    """None: an unknown use. A name to follow: what the use makes part of it. Empty: this bound itself."""
    own, outer = asked.own, _outermost(use)
    if outer is None:
        target = _assigned_name(use)
        return () if any((file.path, target) == one for one in tracked) else None
    name = text(outer.child_by_field_name("name"))
    if outer.type == "function_definition":
        if name.startswith("test") or file is not own.file:
            return None
        return file.path, name
    lineage = asked.tree.lineage(own.file, own.cls).owners
    owner = next((Owner(file, c) for c in file.block.classes if c.start == outer.start_byte), None)
    if owner == own:
        return () if asked.is_entry or _own_use(asked, use, own.cls) else None
    if owner in lineage and file is own.file:
        return file.path, name
    return () if asked.is_entry and owner is not None and _reads_another(asked, owner, use) else None


def _own_use(asked: Asked, use: Node, cls: ClassDef) -> bool:
    """As the bound of a governed test, as a KL attribute, or in a helper; not for another measure."""
    inner: Node | None = use.parent
    child, function, assignment = use, None, None
    while inner is not None and inner != cls.node:
        function = inner if inner.type == "function_definition" else function
        assignment = inner if inner.type == "assignment" else assignment
        child, inner = inner, inner.parent
    if child.type == "argument_list":
        return True
    methods = {m for group in asked.tests if group.owner == asked.own for m in group.methods}
    if function is not None:
        name = text(function.child_by_field_name("name"))
        return name in methods or not name.startswith("test")
    name = text(assignment.child_by_field_name("left")) if assignment is not None else ""
    only = text(cls.node).count(text(use)) == 1
    return only or is_kl(name) or name in asked.reader.names


def _reads_another(asked: Asked, owner: Owner, use: Node) -> bool:
    """Whether all tests of the class, and of those below it, are known to read another entry."""
    below = asked.search.subclasses([owner])
    found = False
    for one in below:
        lineage = asked.tree.lineage(one.file, one.cls)
        if not is_test(one, lineage.owners, lineage.unread):
            continue
        values = Values(asked.tree, lineage.owners, asked.entries)
        methods = {m: o for o in reversed(lineage.owners) for m in o.cls.methods()}
        for method, holder in methods.items():
            reading = asked.reader.read(values, method)
            literal = reading.answer if isinstance(reading.answer, Literal) else None
            names_it = text(use) in text(holder.cls.block.functions[method])
            if names_it and (literal is None or literal.where == asked.literal.where):
                return False
            found |= literal is not None
    return found


def _is_other_entry(use: Node, entries: Sequence[str]) -> bool:
    """`LIMITS[MODEL]["gsm8k"]`: the last key is written out and is no bound's."""
    key: str | None = None
    node: Node = use
    for _ in range(_MAX_KEYS):
        parent = node.parent
        if parent is None or parent.type != "subscript" or parent.child_by_field_name("value") != node:
            break
        index = parent.child_by_field_name("subscript")
        key, node = string_value(unwrapped(index)) if index is not None else None, parent
    return key is not None and key not in entries


def _outermost(node: Node) -> Node | None:
    found, current = None, node.parent
    while current is not None:
        found = current if current.type in _DEFINITIONS else found
        current = current.parent
    return found


def _assigned_name(use: Node) -> str:
    current: Node | None = use
    while current is not None and current.type != "assignment":
        current = current.parent
    return text(current.child_by_field_name("left")) if current is not None else ""


def _at(file: SourceFile, node: Node, own: Owner) -> str:
    outer = _outermost(node)
    where = "" if file.path == own.file.path else f" in {shortened(file.path)}"
    if outer is None:
        return f"line {node.start_point.row + 1}{where}"
    name = shortened(text(outer.child_by_field_name("name")))
    mine = not where and outer.start_byte == own.cls.start
    return f"line {node.start_point.row + 1} ({name})" if mine else f"{name}{where}"
