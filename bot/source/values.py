"""What an expression of a test stands for: the number that sets it, followed through names as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tree_sitter import Node

from bot.source.keys import Key, Keys
from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import (
    SELVES,
    attribute_writes,
    call_arguments,
    pair_part,
    pairs_of,
    parameters,
    shown,
    string_value,
    unwrapped,
)
from bot.source.sentences import line_list, of_file, shortened
from bot.source.shadows import attribute_changed, bound_in, bound_in_module, changed_in, locals_of
from bot.source.tree import Assignment, ClassDef, text
from bot.verdict.answer import Refusal

PLAIN_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_MAX_HOPS: Final = 16
_MAX_LABEL: Final = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands and what it sets: `kind` is 'class', 'constant', 'entry' or 'method'."""

    file: SourceFile
    cls: ClassDef | None
    function: Node | None
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A plain number and where it stands. `constants`: module-level names that it was reached through."""

    place: Place
    node: Node
    statement: Node
    constants: tuple[tuple[str, str], ...] = ()

    @property
    def file(self) -> SourceFile:
        return self.place.file

    @property
    def where(self) -> tuple[str, int]:
        return self.file.path, self.node.start_byte

    @property
    def line(self) -> int:
        return self.node.start_point.row + 1

    @property
    def value(self) -> float:
        return float(text(self.node))


Dictionary = tuple[Node, Place, tuple[tuple[str, str], ...]]
"""Its node, where it stands, and the constants passed on the way to it."""

Answer = Literal | Refusal | None
"""None: Python's None, or nothing there at all."""


class Values:
    """Evaluates for one class: `owners` is its lineage, `entries` names what a dictionary calls its bound."""

    def __init__(self, tree: SourceTree, owners: Sequence[Owner], entries: Sequence[str]) -> None:
        self.tree = tree
        self.owners = owners
        self.entries = frozenset(entries)
        self._keys = Keys(tree, owners)
        self.model = self._keys.model

    def of(self, file: SourceFile) -> str:
        return of_file(file.path, self.owners[0].file.path)

    def attribute(self, name: str, owners: Sequence[Owner] | None = None, hops: int = 0) -> Answer:
        """What the class's attribute is set to, by the first class of the lineage that sets it."""
        for owner in self.owners if owners is None else owners:
            found = owner.cls.named(name)
            if found:
                at = Place(owner.file, owner.cls, None, "class", name)
                return self._assigned(found, at, f"{owner.cls.shown}.{name}", hops)
        return None

    def evaluate(self, node: Node, at: Place, statement: Node, hops: int = 0) -> Answer:
        node = unwrapped(node)
        kind, written = node.type, text(node)
        if hops > _MAX_HOPS:
            return self._computed(at, node, "goes round in circles")
        if kind in ("integer", "float") and PLAIN_NUMBER.fullmatch(written):
            return Literal(at, node, statement)
        if kind == "none":
            return None
        if kind == "identifier":
            return self._name(written, node, at, hops)
        if kind == "attribute":
            return self._dotted(node, at, hops)
        if kind == "subscript":
            return self._entry_of(node, at, hops)
        if kind == "boolean_operator" and text(node.child_by_field_name("operator")) == "or":
            return self._either(node, at, statement, hops)
        if kind == "conditional_expression":
            return self._chosen(node, at, statement, hops)
        if kind == "call" and text(node.child_by_field_name("function")) == "getattr":
            return self._getattr(node, at, hops)
        return self._computed(at, node, "is not set to a plain number in a statement of its own")

    def _assigned(self, found: list[Assignment], at: Place, name: str, hops: int) -> Answer:
        if len(found) > 1:
            lines = line_list([a.line for a in found])
            sentence = (
                f"{shortened(name)} is set in lines {lines}{self.of(at.file)}; only one may set the bound."
            )
            return Refusal("ambiguous", sentence)
        right = found[0].right
        if right is None or not found[0].direct:
            why = "is not set to a plain number in a statement of its own"
            return self._computed(at, found[0].statement, why, name)
        return self.evaluate(right, at, found[0].statement, hops + 1)

    def _computed(self, at: Place, node: Node, why: str, name: str = "") -> Refusal:
        what = name or (f"{at.cls.shown}.{at.name}" if at.cls is not None else at.name)
        line = node.start_point.row + 1
        return Refusal(
            "computed", f"{shortened(what)} in line {line}{self.of(at.file)} {why}; edit it by hand."
        )

    def _name(self, name: str, node: Node, at: Place, hops: int) -> Answer:
        if at.function is not None:
            shadow = bound_in(at.function, name)
            if shadow is not None:
                return self._computed(at, shadow, "is bound by more than an assignment", name)
            local = locals_of(at.function).get(name, [])
            if local:
                return self._assigned(local, at, name, hops)
            if name in parameters(at.function):
                return self._computed(at, node, f"comes from the parameter {shortened(name)}")
        elif at.cls is not None and at.cls.named(name) and at.kind == "class" and name != at.name:
            return self._assigned(at.cls.named(name), replace(at, name=name), name, hops)
        return self._constant(at.file, name, node, at, hops)

    def _constant(self, file: SourceFile, name: str, node: Node, at: Place, hops: int) -> Answer:
        found = self.tree.find_constant(file, name)
        if found is None:
            return self._computed(at, node, f"is set to {shortened(name)}, which was not found")
        home, assignments = found
        own = assignments[-1].name
        shadow = bound_in_module(home, own, assignments)
        if shadow is not None:
            at = Place(home, None, None, "constant", own)
            return self._computed(at, shadow, "is bound by more than an assignment", own)
        answer = self._assigned(assignments, Place(home, None, None, "constant", own), own, hops)
        if isinstance(answer, Literal):
            return replace(answer, constants=(*answer.constants, (home.path, own)))
        return answer

    def _dotted(self, node: Node, at: Place, hops: int) -> Answer:
        holder = "".join(text(node.child_by_field_name("object")).split())
        name = text(node.child_by_field_name("attribute"))
        owners = self._holders(holder, at)
        if owners is not None:
            found = self.attribute(name, owners, hops + 1)
            return found if found is not None else self._unset(name)
        owner = self.tree.find_class(at.file, holder)
        if owner is not None:
            return self.attribute(name, self.tree.lineage(owner.file, owner.cls).owners, hops + 1)
        return self._constant(at.file, f"{holder}.{name}", node, at, hops)

    def _holders(self, holder: str, at: Place) -> Sequence[Owner] | None:
        """The classes asked for `holder.name`, where the holder is the test or a helper's parameter."""
        if holder == "super()":
            place = next((i for i, owner in enumerate(self.owners) if owner.cls is at.cls), None)
            return self.owners[place + 1 :] if place is not None else None
        handed = at.function is not None and at.cls is None and holder in parameters(at.function)
        return self.owners if holder in SELVES or handed else None

    def _unset(self, name: str) -> Answer:
        """An attribute that no class statement sets: None where nothing at all sets it."""
        for owner in self.owners:
            for function in owner.cls.block.functions.values():
                for write in attribute_writes(function, name):
                    line = write.start_point.row + 1
                    sentence = f"{owner.cls.shown} sets {name} in a method, line {line}{self.of(owner.file)};"
                    return Refusal("computed", f"{sentence} edit it by hand.")
        return None

    def _either(self, node: Node, at: Place, statement: Node, hops: int) -> Answer:
        """`a or b`: None and 0 fall through to b."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        first = self.evaluate(left, at, statement, hops + 1)
        if isinstance(first, Refusal) or (first is not None and first.value != 0):
            return first
        return self.evaluate(right, at, statement, hops + 1)

    def _chosen(self, node: Node, at: Place, statement: Node, hops: int) -> Answer:
        """`a if a is not None else b`, where 0 counts, and `a if a else b`, where it does not."""
        parts = [unwrapped(child) for child in node.named_children if child.type != "comment"]
        if len(parts) != 3:
            return self._computed(at, node, "depends on a condition")
        first, condition, second = parts
        asked, sides = "".join(text(condition).split()), ["".join(text(p).split()) for p in parts]
        if asked == f"{sides[2]}isNone":
            first, second = second, first
        elif asked not in (sides[0], f"{sides[0]}isnotNone"):
            return self._computed(at, node, "depends on a condition")
        found = self.evaluate(first, at, statement, hops + 1)
        falls = found is None or (isinstance(found, Literal) and found.value == 0 and asked == sides[0])
        return self.evaluate(second, at, statement, hops + 1) if falls else found

    def _getattr(self, node: Node, at: Place, hops: int) -> Answer:
        arguments = call_arguments(node)
        name = string_value(arguments[1]) if len(arguments) > 1 else None
        if name is None or text(arguments[0]) not in SELVES:
            return self._computed(at, node, "is not set to a plain number in a statement of its own")
        found = self.attribute(name, None, hops + 1)
        if found is None and len(arguments) > 2:
            return self.evaluate(arguments[2], at, node, hops + 1)
        return found

    def key(self, node: Node, at: Place) -> Key:
        return self._keys.key(node, at.file, at.function)

    # --- dictionaries --------------------

    def dictionary(self, node: Node, at: Place) -> Dictionary | Refusal | None:
        """The dictionary that a name or an attribute stands for; refused where it is built in steps."""
        node, passed = unwrapped(node), list[tuple[str, str]]()
        for _ in range(_MAX_HOPS):
            if node.type == "dictionary":
                return node, at, tuple(passed)
            found: list[Assignment] = []
            if node.type == "identifier" and at.function is not None:
                found = locals_of(at.function).get(text(node), [])
            holder = text(node.child_by_field_name("object")) if node.type == "attribute" else ""
            if holder in SELVES:
                name = text(node.child_by_field_name("attribute"))
                owner = next((o for o in self.owners if o.cls.named(name)), None)
                if owner is not None:
                    found, at = owner.cls.named(name), Place(owner.file, owner.cls, None, "class", name)
            elif not found and node.type in ("identifier", "attribute"):
                constant = self.tree.find_constant(at.file, "".join(text(node).split()))
                if constant is not None:
                    file, found = constant
                    passed.append((file.path, found[-1].name))
                    at = Place(file, None, None, "constant", found[-1].name)
            changed = self._built_in_steps(found, text(node), at)
            if changed is not None:
                return changed
            if not found or found[-1].right is None or not found[-1].direct:
                return None
            node = unwrapped(found[-1].right)
        return None

    def _built_in_steps(self, found: list[Assignment], name: str, at: Place) -> Refusal | None:
        """Set twice, changed, or known under another name, where one of its texts holds bounds."""
        rights = [unwrapped(a.right) for a in found if a.right is not None]
        holds = [right for right in rights if any(entry in text(right) for entry in self.entries)]
        if not any(right.type in ("dictionary", "binary_operator", "call") for right in holds):
            return None
        changed: Node | None = found[-1].statement if len(found) > 1 else None
        if changed is None and at.kind == "class":
            writes = (w for o in self.owners for w in attribute_writes(o.cls.node, at.name))
            parts = (attribute_changed(o.cls.node, at.name) for o in self.owners)
            changed = next(writes, None) or next((part for part in parts if part is not None), None)
        elif changed is None and at.kind == "constant":
            changed = bound_in_module(at.file, at.name, found) or changed_in(at.file.root, at.name)
        elif changed is None and at.function is not None:
            changed = bound_in(at.function, name) or changed_in(at.function, name)
        if changed is None:
            return None
        where = f"line {changed.start_point.row + 1}{self.of(at.file)}"
        sentence = f"{shortened(name)} is set again in {where}; only one statement may set the bound."
        return Refusal("ambiguous", sentence)

    def _entry_of(self, node: Node, at: Place, hops: int) -> Answer:
        """`LIMITS[MODEL]["kl_div"]`."""
        keys: list[Node] = []
        while node.type == "subscript":
            index = node.child_by_field_name("subscript")
            value = node.child_by_field_name("value")
            if index is None or value is None:
                break
            keys.insert(0, index)
            node = unwrapped(value)
        found = self.dictionary(node, at)
        if isinstance(found, Refusal):
            return found
        if found is None:
            return self._computed(at, node, "is not an entry of a dictionary that can be read")
        inner, home, passed = found
        name = text(node)
        for place, key in enumerate(keys):
            wanted = self.key(key, at)
            pairs = [p for p in pairs_of(inner) if self.key(pair_part(p, "key"), home) == wanted]
            if len(pairs) != 1:
                return self._computed(at, key, f"is the entry {shown(key)}, which is not there just once")
            value_node = unwrapped(pair_part(pairs[0], "value"))
            if place == len(keys) - 1:
                return self.entry(pairs[0], name, home, passed, hops)
            inner, name = value_node, shown(pair_part(pairs[0], "key"))
            if inner.type != "dictionary":
                break
        return self._computed(at, node, "is not an entry of a dictionary that can be read")

    def entry(
        self, pair: Node, holder: str, home: Place, passed: tuple[tuple[str, str], ...], hops: int = 0
    ) -> Answer:
        """What one `key: value` sets; `holder` is how the dictionary that holds it is written."""
        kind = home.kind if home.function is not None else "entry"
        key = pair_part(pair, "key")
        label = string_value(key)
        name = repr(label) if label is not None and len(label) < _MAX_LABEL else shown(key)
        at = replace(home, kind=kind, name=f"{holder}[{name}]")
        for later in _later(pair):
            if later.type == "dictionary_splat" or text(pair_part(later, "key")) == text(key):
                return self._computed(at, later, "may be set again in the same dictionary")
        answer = self.evaluate(pair_part(pair, "value"), at, pair, hops + 1)
        if isinstance(answer, Literal):
            return replace(answer, constants=(*answer.constants, *passed))
        return answer


def _later(pair: Node) -> list[Node]:
    """What stands after the pair in its dictionary."""
    items = pair.parent.named_children if pair.parent is not None else []
    return [item for item in items if item.start_byte > pair.start_byte and item.type != "comment"]
