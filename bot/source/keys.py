"""What tells the keys of a dictionary of bounds apart, and which of them a test class means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import SELVES, attribute_writes, local_assignments, string_value, unwrapped
from bot.source.tree import Assignment, text

_MAX_HOPS: Final = 16

Key = tuple[str, str]
"""Its kind and what it says: a string by value, an imported name by name, anything else by its text."""


class Keys:
    """Of one class: `owners` is its lineage."""

    def __init__(self, tree: SourceTree, owners: Sequence[Owner]) -> None:
        self._tree = tree
        self._owners = owners
        self._asked: set[str] = set()

    def key(self, node: Node, file: SourceFile, function: Node | None) -> Key:
        """Of an expression that stands in `file`, and in `function` if one."""
        node = unwrapped(node)
        for _ in range(_MAX_HOPS):
            value = string_value(node)
            if value is not None:
                return "value", value
            found: list[Assignment] = []
            name = "".join(text(node).split())
            if node.type == "identifier" and function is not None:
                found = local_assignments(function, name)
            if node.type == "attribute" and text(node.child_by_field_name("object")) in SELVES:
                model = self.model(text(node.child_by_field_name("attribute")))
                return model if model is not None else ("attribute", name)
            if not found and node.type in ("identifier", "attribute"):
                constant = self._tree.find_constant(file, name)
                if constant is None:
                    origins = file.imports.origins(name)
                    return "name", origins[0].name if origins else name.rpartition(".")[2]
                file, found, function = constant[0], constant[1], None
            if len(found) != 1 or found[0].right is None:
                break
            node = unwrapped(found[0].right)
        return "text", " ".join(text(node).split())

    def model(self, name: str = "model") -> Key | None:
        """What the class's own `name` is: set by a method (as in setUpClass) before class statements, as when
        it runs; None where that cannot be told."""
        if name in self._asked:
            return None
        self._asked.add(name)
        try:
            return self._model(name)
        finally:
            self._asked.discard(name)

    def _model(self, name: str) -> Key | None:
        written: dict[Key, None] = {}
        for owner in self._owners:
            for function in owner.cls.block.functions.values():
                for write in attribute_writes(function, name):
                    right = write.parent.child_by_field_name("right") if write.parent is not None else None
                    if right is not None and text(right) != text(write):
                        written[self._key_of_write(right, owner, function, name)] = None
            if written:
                break
        if not written:
            owner_set = next((o for o in self._owners if o.cls.named(name)), None)
            if owner_set is None:
                return None
            found = owner_set.cls.named(name)
            if len(found) != 1 or found[0].right is None:
                return None
            return self.key(found[0].right, owner_set.file, None)
        return next(iter(written)) if len(written) == 1 else None

    def _key_of_write(self, right: Node, owner: Owner, function: Node, name: str) -> Key:
        own = right.type == "attribute" and text(right.child_by_field_name("attribute")) == name
        return ("text", text(right)) if own else self.key(right, owner.file, function)
