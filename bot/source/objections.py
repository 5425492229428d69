"""Why a well-formed site must not be edited all the same."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from bot.source.classes import ClassTable
from bot.source.site import Site
from bot.source.tree import ClassDef, descendants, text
from bot.verdict.answer import Refusal

_CACHE_OFF: Final = re.compile(r"(?:^|[\s'\"])--disable-radix-cache(?:$|[\s'\"=])")
_BINDING: Final = ("assignment", "augmented_assignment", "for_statement")


def objection(root: Node, cls: ClassDef, table: ClassTable, site: Site, exact_gate: float) -> Refusal | None:
    """An exact gate; a test that compares nothing; a bound that is set or used elsewhere too."""
    name = f"{site.cls}.{site.attribute}"
    if site.value <= exact_gate:
        return Refusal(
            "exact_gate",
            f"{name} is {site.spelling}: an exact gate, where any difference is a bug; it is never loosened.",
        )
    if any(_cache_is_off(owner.body) for owner in (cls, *table.bases(cls))):
        return Refusal(
            "vacuous",
            f"{site.cls} runs with --disable-radix-cache, so nothing is compared and its bound says nothing.",
        )
    return _other_use(root, cls, table, site)


def _cache_is_off(body: Node) -> bool:
    if "--disable-radix-cache" not in text(body):
        return False
    strings = (node for node in descendants(body) if node.type == "string" and not _is_docstring(node))
    return any(_CACHE_OFF.search(text(node)) for node in strings)


def _is_docstring(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "expression_statement"


def _other_use(root: Node, cls: ClassDef, table: ClassTable, site: Site) -> Refusal | None:
    own = range(cls.node.start_byte, cls.node.end_byte)
    family = {site.cls} | {other.name for other in (*table.bases(cls), *table.subclasses(cls))}
    for node in descendants(root):
        if node.type != "attribute" or text(node.child_by_field_name("attribute")) != site.attribute:
            continue
        holder, line = text(node.child_by_field_name("object")), node.start_point.row + 1
        used = f"{holder}.{site.attribute}"
        if _is_written(node) and (holder in family or table.encloses(node, family)):
            sentence = f"{used} is set again in line {line}; only one statement may set the bound."
            return Refusal("ambiguous", sentence)
        if holder == cls.name and node.start_byte not in own:
            sentence = f"{used} is also used in line {line}, outside its class; edit it by hand."
            return Refusal("shared", sentence)
    return None


def _is_written(node: Node) -> bool:
    """Whether this attribute is what an assignment binds (also in a tuple)."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        child, parent = parent, parent.parent
    return parent is not None and parent.type in _BINDING and parent.child_by_field_name("left") == child
