"""Which of the expressions in a test's text is its bound, and where that is set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from bot.source.keys import Key
from bot.source.lineage import SourceFile
from bot.source.nodes import is_kl, pair_part, pairs_of, string_value, unwrapped
from bot.source.sentences import line_list, shortened
from bot.source.summary import Offer, Summary, sounds_like_bound
from bot.source.tree import ClassDef, text
from bot.source.values import Answer, Literal, Place, Values
from bot.verdict.answer import Refusal

WORST: Final = 4
"""Added to the rank of what may be a measurement: it counts where nothing else is a bound."""


@dataclass(frozen=True, slots=True)
class Function:
    file: SourceFile
    cls: ClassDef | None
    node: Node
    summary: Summary

    @property
    def place(self) -> Place:
        name = text(self.node.child_by_field_name("name"))
        return Place(self.file, self.cls, self.node, "method", name)


def candidates(values: Values, functions: Sequence[Function]) -> list[tuple[int, Answer]]:
    """Everything that may be the bound, with its rank."""
    return [
        found for f in functions for offer in f.summary.offers for found in _taken(values, offer, f.place)
    ]


def _taken(values: Values, offer: Offer, at: Place) -> Iterator[tuple[int, Answer]]:
    if offer.kind == "entry":
        yield 0, values.entry(offer.node, _holder(offer.node.parent or offer.node), at, ())
        return
    table = _table(values, offer.node, at, offer.beside) if offer.kind == "argument" else None
    if table is not None:
        yield 0, table
    elif offer.rank is not None:
        answer = values.evaluate(offer.node, at, statement_of(offer.node))
        unknown = offer.kind == "measured" and not isinstance(answer, Literal)
        yield offer.rank + (WORST if unknown else 0), answer


def _table(values: Values, node: Node, at: Place, arguments: Sequence[Node]) -> Answer:
    """The entry of a dictionary of bounds that is handed to a check, for the model that goes with it."""
    if node.type not in ("identifier", "attribute") or _is_foreign(node, at):
        return None
    found = values.dictionary(node, at)
    if found is None or isinstance(found, Refusal):
        return found
    dictionary, home, passed = found
    holder = "".join(text(node).split()).rpartition(".")[2]
    pairs = pairs_of(dictionary)
    own = [pair for pair in pairs if string_value(pair_part(pair, "key")) in values.entries]
    if own:
        return one_of([(0, values.entry(pair, holder, home, passed)) for pair in own])
    nested = {
        values.key(pair_part(pair, "key"), home): (pair, inner)
        for pair in pairs
        for inner in pairs_of(unwrapped(pair_part(pair, "value")))
        if string_value(pair_part(inner, "key")) in values.entries
    }
    flat = {values.key(pair_part(p, "key"), home): (p, p) for p in pairs} if is_kl(holder) else {}
    return _chosen(values, nested or flat, holder, at, arguments, (home, passed, dictionary))


def _is_foreign(node: Node, at: Place) -> bool:
    """An imported name that does not sound like bounds: its file need not be read."""
    name = text(node).partition(".")[0]
    return name in at.file.imports.bound and not sounds_like_bound(text(node))


def _chosen(
    values: Values,
    keyed: dict[Key, tuple[Node, Node]],
    holder: str,
    at: Place,
    arguments: Sequence[Node],
    found: tuple[Place, tuple[tuple[str, str], ...], Node],
) -> Answer:
    if not keyed:
        return None
    home, passed, dictionary = found
    told = {key for node in arguments if (key := values.key(node, at)) in keyed}
    if not told and len(keyed) > 1:
        model = values.model()
        told = {model} if model in keyed else set()
    chosen = [keyed[key] for key in told] if told else list(keyed.values())
    keys = [values.key(pair_part(pair, "key"), home) for pair in pairs_of(dictionary)]
    if len(chosen) > 1 or len(set(keys)) < len(keys) or len(keys) < len(_items(dictionary)):
        lines = [pair.start_point.row + 1 for _, pair in keyed.values()]
        sentence = (
            f"{shortened(holder)} has bounds in lines {line_list(sorted(set(lines)))}{values.of(home.file)}, "
            f"and {values.owners[0].cls.shown} does not say which is its own; edit it by hand."
        )
        return Refusal("ambiguous", sentence)
    pair, inner = chosen[0]
    label = holder if pair is inner else "".join(text(pair_part(pair, "key")).split())
    return values.entry(inner, label, home, passed)


def _items(dictionary: Node) -> list[Node]:
    return [child for child in dictionary.named_children if child.type != "comment"]


def _holder(dictionary: Node) -> str:
    """What an inline dictionary stands under: the key of the outer one."""
    parent = dictionary.parent
    if parent is not None and parent.type == "pair":
        return "".join(text(pair_part(parent, "key")).split())
    return "dict"


def statement_of(node: Node) -> Node:
    """The statement in which an expression stands."""
    current = node
    while current.parent is not None and current.parent.type != "block":
        current = current.parent
    return current


def place_of(answer: Answer) -> tuple[str, str, int]:
    if isinstance(answer, Literal):
        return "literal", *answer.where
    return ("refusal", answer.sentence if answer is not None else "", 0)


def one_of(ranked: list[tuple[int, Answer]]) -> Answer:
    """The one answer of the best rank; a refusal where there are several."""
    known = [(rank, answer) for rank, answer in ranked if answer is not None]
    if not known:
        return None
    best = min(rank for rank, _ in known)
    answers = {place_of(answer): answer for rank, answer in known if rank == best}
    return next(iter(answers.values())) if len(answers) == 1 else several(list(answers.values()))


def several(answers: list[Answer]) -> Refusal:
    literals = [answer for answer in answers if isinstance(answer, Literal)]
    refusals = [answer for answer in answers if isinstance(answer, Refusal)]
    if not literals:
        return refusals[0]
    where = line_list(sorted({literal.line for literal in literals}))
    also = f"; {refusals[0].sentence}" if refusals else "."
    sentence = f"The test may read the bounds in lines {where}, and only one may set it{also}"
    return Refusal("ambiguous", sentence)
