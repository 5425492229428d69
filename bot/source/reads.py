"""What a test method reads its bound from: an attribute of its class, or something in its own text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from bot.source.candidates import Function, candidates, one_of, place_of, several, statement_of
from bot.source.lineage import Owner, SourceFile
from bot.source.nodes import parameters, shown
from bot.source.sentences import shortened
from bot.source.summary import Summary, sounds_like_bound, summarized
from bot.source.tree import ClassDef, text
from bot.source.uses import Use, Uses, handed_literals
from bot.source.values import Answer, Literal, Values
from bot.verdict.answer import Refusal

DIRECTIONS: Final = ("_prefill", "_decode")
_MAX_FUNCTIONS: Final = 64


@dataclass(frozen=True, slots=True)
class Reading:
    """The bound that a method reads. `attribute`: the class attribute it came through, if one.

    `sure`: seen in the text of the method; otherwise taken from the names of class and method.
    """

    answer: Answer
    attribute: str | None
    sure: bool
    opaque: bool = False
    """Nothing in the method's text tells what it reads."""


class Reader:
    """Summaries are kept, as many classes share the methods of one kit."""

    def __init__(self, attributes: Sequence[str]) -> None:
        directed = {f"{a}{d}" for a in attributes for d in DIRECTIONS}
        self.general = tuple(dict.fromkeys(a for a in attributes if a not in directed))
        self.general += tuple(
            g
            for a in attributes
            for d in DIRECTIONS
            if (g := a.removesuffix(d)) != a and g not in self.general
        )
        self.names = {name for a in self.general for name in (a, *(f"{a}{d}" for d in DIRECTIONS))}
        self._summaries: dict[tuple[str, int], Summary] = {}

    def read(self, values: Values, method: str | None) -> Reading:
        aliased = _aliased(values.owners, method) if method is not None else None
        if aliased is not None:
            return Reading(aliased, None, True)
        functions = self._functions(values, method) if method is not None else []
        if functions:
            seen = self._seen(values, functions, method or "")
            if seen is not None:
                return seen
        opaque = not any(f.summary.calls for f in functions) or any(
            _method(values.owners, name) is None and name not in f.file.block.functions
            for f in functions
            for name in f.summary.handed_to
        )
        found = self._by_attribute(values, None, method)
        answer, attribute = (found.answer, found.attribute) if found is not None else (None, None)
        return Reading(answer, attribute, False, opaque)

    # --- what the text shows --------------------

    def _seen(self, values: Values, functions: list[Function], method: str) -> Reading | None:
        """What the text of the functions compares with; None where it does not show that."""
        uses = Uses(functions, self.names).found()
        scaled = next((use for use in uses if not use.plain), None)
        if scaled is not None:
            return Reading(_on_its_way(values, scaled.node, scaled.function), None, True)
        read = [(use, values.evaluate(use.node, use.function.place, use.node)) for use in uses]
        told = [pair for pair in read if pair[1] is not None]
        offered = candidates(values, functions)
        literals = handed_literals(functions, self.names)
        handed = [values.evaluate(node, f.place, statement_of(node)) for f, node in literals]
        if told:
            known = [answer for _, answer in told]
            chosen = self._directed(told, functions[0], method)
            answer = chosen[0] if len({place_of(a) for a in chosen}) == 1 else several(chosen)
            found = Reading(answer, self._through(values, uses, answer), True)
            return _with_others(found, [*offered, *((0, a) for a in handed)], known)
        answer = one_of(offered)
        if answer is not None and handed:
            answer = one_of([(0, a) for a in (answer, *handed)])
        answer = answer if answer is not None else one_of([(0, a) for a in handed])
        if answer is not None:
            return Reading(answer, None, True)
        first = functions[0]
        bounds = [p for p in parameters(first.node) if sounds_like_bound(p)]
        if bounds:
            sentence = f"{shortened(method)} takes {shortened(bounds[0])} as a parameter; edit it by hand."
            return Reading(Refusal("computed", sentence), None, True)
        return None

    def _directed(self, told: list[tuple[Use, Answer]], first: Function, method: str) -> list[Answer]:
        """Where several are read: those in the method's own text, then those of the direction in its name."""
        if len({place_of(answer) for _, answer in told}) > 1:
            told = [pair for pair in told if pair[0].function is first] or told
        if len({place_of(answer) for _, answer in told}) > 1:
            named = [d for d in DIRECTIONS if d.removeprefix("_") in method]
            if len(named) == 1:
                own = [pair for pair in told if f"{named[0]}" in text(pair[0].node)]
                told = own or told
        return [answer for _, answer in told]

    def _through(self, values: Values, uses: list[Use], answer: Answer) -> str | None:
        """The attribute that an answer came through."""
        names = [n for n in self.names if any(n in text(use.function.node) for use in uses)]
        ordered = sorted(names, key=lambda n: (n in self.general, n))
        return next((n for n in ordered if place_of(values.attribute(n)) == place_of(answer)), None)

    # --- attributes --------------------

    def _by_attribute(self, values: Values, read: set[str] | None, method: str | None) -> Reading | None:
        """`read`: the names in the method's text; None where the method says nothing."""
        general = self._general(values, read)
        if isinstance(general, Refusal):
            return Reading(general, None, read is not None)
        found = [pair for name in general for pair in self._answers(values, name, read, method)]
        if not found:
            return None
        if len({place_of(answer) for _, answer in found}) > 1:
            return Reading(several([answer for _, answer in found]), None, read is not None)
        return Reading(found[0][1], found[0][0], read is not None)

    def _general(self, values: Values, read: set[str] | None) -> tuple[str, ...] | Refusal:
        """The general names to look at: those that are read, or those that the nearest class sets."""
        if read is not None:
            return tuple(a for a in self.general if any(f"{a}{d}" in read for d in ("", *DIRECTIONS)))
        for owner in values.owners:
            named = [a for a in self.general if any(owner.cls.named(f"{a}{d}") for d in ("", *DIRECTIONS))]
            if named:
                return tuple(named)
        return ()

    def _answers(
        self, values: Values, general: str, read: set[str] | None, method: str | None
    ) -> list[tuple[str, Answer]]:
        """The bound of the method's direction or, where that one is None or 0, the general one.

        All that are set, where neither the method's text nor its name tells the direction.
        """
        names = [n for d in DIRECTIONS if (n := f"{general}{d}") and (read is None or n in read)]
        told = [n for n in names if method is not None and n.removeprefix(f"{general}_") in method]
        wanted = told if len(told) == 1 else names if read is not None and len(names) == 1 else []
        only_general = not names or (read is None and method is not None and values.attribute(general))
        if not wanted and only_general:
            names = []
        last = [general] if read is None or general in read else []
        found: list[tuple[str, Answer]] = [
            (name, answer)
            for name in [*(wanted or names), *last]
            if (answer := values.attribute(name)) is not None
            if name == general or not isinstance(answer, Literal) or answer.value != 0
        ]
        return found[:1] if wanted else found

    # --- functions --------------------

    def _functions(self, values: Values, method: str) -> list[Function]:
        """The method and what it calls of its own class and file, as far as the tree shows them."""
        first = _method(values.owners, method)
        if first is None:
            return []
        found: dict[tuple[str, int], Function] = {}
        queue = [first]
        while queue and len(found) < _MAX_FUNCTIONS:
            file, cls, node = queue.pop(0)
            key = file.path, node.start_byte
            if key in found:
                continue
            summary = self._summary(file, node, values.entries)
            found[key] = Function(file, cls, node, summary)
            after = [o.cls for o in values.owners].index(cls) + 1 if cls is not None and summary.above else 0
            called = [_method(values.owners, name) for name in summary.attributes]
            called += [_method(values.owners[after:], name) for name in summary.above]
            queue += [method for method in called if method is not None]
            queue += [(file, None, f) for name in summary.names if (f := file.block.functions.get(name))]
        return list(found.values())

    def _summary(self, file: SourceFile, node: Node, entries: frozenset[str]) -> Summary:
        key = file.path, node.start_byte
        if key not in self._summaries:
            self._summaries[key] = summarized(node, entries)
        return self._summaries[key]


def _with_others(found: Reading, offered: list[tuple[int, Answer]], own: list[Answer]) -> Reading:
    """Refused where the method reads a KL bound besides its attribute."""
    known = {place_of(answer) for answer in own}
    others = [a for rank, a in offered if rank == 0 and isinstance(a, Literal) and place_of(a) not in known]
    return Reading(several([found.answer, *others]), None, True) if others else found


def _on_its_way(values: Values, node: Node, function: Function) -> Refusal:
    where = f"line {node.start_point.row + 1}{values.of(function.file)}"
    sentence = f"{shortened(shown(node))} in {where} is not compared with as it stands; edit it by hand."
    return Refusal("computed", sentence)


def _aliased(owners: Sequence[Owner], method: str) -> Refusal | None:
    """A test that is an assignment, as `test_a = _impl`."""
    for owner in owners:
        if owner.cls.named(method):
            line = owner.cls.named(method)[-1].line
            sentence = f"{owner.cls.shown}.{shortened(method)} is assigned in line {line}; edit it by hand."
            return Refusal("computed", sentence)
        if method in owner.cls.block.functions:
            return None
    return None


def _method(owners: Sequence[Owner], name: str) -> tuple[SourceFile, ClassDef | None, Node] | None:
    for owner in owners:
        node = owner.cls.block.functions.get(name)
        if node is not None:
            return owner.file, owner.cls, node
    return None
