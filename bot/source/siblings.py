"""Bounds of the same name beside a site: in other classes of file and folder, in other entries."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from bot.source.governs import Search, is_test_path
from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import pair_part, pairs_of, unwrapped
from bot.source.site import Sibling
from bot.source.tree import ClassDef, text
from bot.source.values import PLAIN_NUMBER, Literal

_MAX_SIBLINGS: Final = 2_000


def siblings_of(
    search: Search, tree: SourceTree, literal: Literal, own: Owner, attribute: str | None
) -> tuple[Sibling, ...]:
    found = _entries(literal) if literal.place.kind == "entry" else []
    if attribute is None:
        return tuple(found)
    folder = PurePosixPath(own.file.path).parent
    near = [p for p in search.paths() if PurePosixPath(p).parent == folder and is_test_path(p)]
    for path in [own.file.path, *(p for p in near if p != own.file.path)]:
        data = tree.data(path)
        file = tree.file(path) if data is not None and attribute.encode() in data else None
        found += _in_file(file, attribute, own, literal) if file is not None else []
    return tuple(found[:_MAX_SIBLINGS])


def _in_file(file: SourceFile, attribute: str, own: Owner, literal: Literal) -> list[Sibling]:
    written, skipped = attribute.encode(), (own.cls, literal.place.cls)
    return [
        Sibling(file.path, cls.name, value)
        for cls in file.block.classes
        if cls not in skipped and written in file.data[cls.start : cls.node.end_byte]
        if (value := _plain_value(cls, attribute)) is not None
    ]


def _plain_value(cls: ClassDef, attribute: str) -> float | None:
    named = cls.named(attribute)
    if len(named) != 1 or not named[0].direct or named[0].right is None:
        return None
    written = text(unwrapped(named[0].right))
    return float(written) if PLAIN_NUMBER.fullmatch(written) else None


def _entries(literal: Literal) -> list[Sibling]:
    """The same entry under the dictionary's other keys."""
    pair = literal.statement
    inner, label = pair.parent, text(pair_part(pair, "key"))
    outer = inner.parent.parent if inner is not None and inner.parent is not None else None
    if pair.type != "pair" or outer is None or outer.type != "dictionary":
        return []
    found = []
    for other in pairs_of(outer):
        for entry in pairs_of(unwrapped(pair_part(other, "value"))):
            written = text(unwrapped(pair_part(entry, "value")))
            same = text(pair_part(entry, "key")) == label and entry.start_byte != pair.start_byte
            if same and PLAIN_NUMBER.fullmatch(written):
                key = "".join(text(pair_part(other, "key")).split())
                found.append(Sibling(literal.file.path, f"{key}[{label}]", float(written)))
    return found
