"""Why a well-formed site must not be edited all the same."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Lineage, SourceFile
from bot.source.sentences import shortened
from bot.source.site import Site
from bot.source.tree import attributes_below, descendants, text
from bot.verdict.answer import Refusal

_CACHE_OFF: Final = re.compile(r"(?:^|[\s'\"])--disable-radix-cache(?:$|[\s'\"=])")
_BINDING: Final = ("assignment", "augmented_assignment", "for_statement")


def objection(file: SourceFile, lineage: Lineage, site: Site, exact_gate: float) -> Refusal | None:
    """An exact gate; a test that compares nothing; a bound that is set or used elsewhere too."""
    name = f"{site.cls}.{site.attribute}"
    if site.value <= exact_gate:
        return Refusal(
            "exact_gate",
            f"{name} is {site.spelling}: an exact gate, where any difference is a bug; it is never loosened.",
        )
    if any(_cache_is_off(owner.cls.body) for owner in lineage.owners):
        return Refusal(
            "vacuous",
            f"{site.cls} runs with --disable-radix-cache, so nothing is compared and its bound says nothing.",
        )
    return _other_use(file, lineage, site)


def _cache_is_off(body: Node) -> bool:
    if "--disable-radix-cache" not in text(body):
        return False
    strings = (node for node in descendants(body) if node.type == "string" and not _is_docstring(node))
    return any(_CACHE_OFF.search(text(node)) for node in strings)


def _is_docstring(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "expression_statement"


def _other_use(file: SourceFile, lineage: Lineage, site: Site) -> Refusal | None:
    cls = lineage.owners[0].cls
    subclasses = file.table.subclasses(cls)
    bodies = [(owner.path, owner.cls.node) for owner in lineage.owners]
    bodies += [(file.path, sub.node) for sub in subclasses]
    names = {text(body.child_by_field_name("name")) for _, body in bodies}
    for path, body in bodies:
        for node in _uses(body, site.attribute):
            if _is_written(node):
                return _set_again(node, path, file.path)
    for node in _uses(file.root, site.attribute):
        holder = text(node.child_by_field_name("object"))
        if holder in names and _is_written(node):
            return _set_again(node, file.path, file.path)
        if holder == cls.name and not cls.node.start_byte <= node.start_byte < cls.node.end_byte:
            line = node.start_point.row + 1
            sentence = f"{text(node)} is also used in line {line}, outside its class; edit it by hand."
            return Refusal("shared", sentence)
    return None


def _uses(node: Node, attribute: str) -> list[Node]:
    """`anything.attribute` below the node, in the order of the text."""
    return [use for use in attributes_below(node) if text(use.child_by_field_name("attribute")) == attribute]


def _set_again(node: Node, path: str, own_path: str) -> Refusal:
    where = f"line {node.start_point.row + 1}" + ("" if path == own_path else f" of {shortened(path)}")
    sentence = f"{text(node)} is set again in {where}; only one statement may set the bound."
    return Refusal("ambiguous", sentence)


def _is_written(node: Node) -> bool:
    """Whether this attribute is what an assignment binds (also in a tuple)."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        child, parent = parent, parent.parent
    return parent is not None and parent.type in _BINDING and parent.child_by_field_name("left") == child
