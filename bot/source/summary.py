"""What the text of one function mentions: names it reads, calls it makes, expressions that may be a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from bot.source.nodes import SELVES, call_arguments, is_kl, pair_part, parameters, string_value, unwrapped
from bot.source.tree import descendants, text

_BOUND: Final = re.compile(
    r"thres|bound|limit|toleran|(?:^|[_.])(?:thr|tol|eps|delta|max|cap)(?:_|$)",
    re.IGNORECASE,
)
_NEIGHBOUR: Final = re.compile(r"gsm8k|mmlu|acc|score|time|latency|throughput|mem", re.IGNORECASE)
_COUNT: Final = re.compile(r"sample|token|prompt|num_|size|seed|len|turn|batch|steps", re.IGNORECASE)
_CHECK: Final = re.compile(r"logprobs?_match|diverg", re.IGNORECASE)
ASSERTS: Final = {
    "assertLess": (0, 1),
    "assertLessEqual": (0, 1),
    "assertGreater": (1, 0),
    "assertGreaterEqual": (1, 0),
}
"""Which argument is the value and which the bound."""
TELLERS: Final = frozenset(
    {"print", "debug", "info", "warning", "error", "exception", "log", "critical", "format", "str", "repr"}
    | {"skipTest", "fail", "subTest", "write", "dumps", "write_github_step_summary", "hasattr"}
)
"""Functions that only print what they are given."""


_COMPOSED: Final = ("binary_operator", "boolean_operator", "conditional_expression")
_ARITHMETIC: Final = ("max", "min", "float", "abs", "round")


@dataclass(frozen=True, slots=True)
class Offer:
    """An expression that may be the bound, by its looks alone; only offers of the best rank count.

    `kind`: 'value'; 'measured', which counts only where it comes to a number; 'argument', which may also be
    a dictionary of bounds (`beside`: what is handed over with it); 'entry', a pair of an inline dictionary.
    """

    rank: int | None
    kind: str
    node: Node
    beside: tuple[Node, ...] = ()


@dataclass(slots=True, eq=False)
class Summary:
    """What one function's text mentions."""

    attributes: set[str] = field(default_factory=set)
    above: set[str] = field(default_factory=set)
    """What is asked of super()."""
    names: set[str] = field(default_factory=set)
    calls: int = 0
    offers: list[Offer] = field(default_factory=list)
    handed_to: set[str] = field(default_factory=set)
    """Functions that are given `self`, so that more may be read there."""


def summarized(function: Node, entries: frozenset[str]) -> Summary:
    """A function that is no method may know the test by any of its parameters."""
    found = Summary()
    body = function.child_by_field_name("body")
    selves = SELVES.union(parameters(function))
    for node in descendants(body) if body is not None else ():
        kind = node.type
        if kind == "attribute":
            holder = text(node.child_by_field_name("object"))
            if holder == "super()":
                found.above.add(text(node.child_by_field_name("attribute")))
            elif holder in selves:
                found.attributes.add(text(node.child_by_field_name("attribute")))
        elif kind == "identifier":
            found.names.add(text(node))
        elif kind == "call":
            _call(found, node, selves)
        elif kind == "comparison_operator":
            sides = [unwrapped(side) for side in node.named_children]
            if len(sides) == 2:
                found.offers += [*_compared(sides[0], sides[1]), *_compared(sides[1], sides[0])]
        elif kind == "subscript":
            if string_value(node.child_by_field_name("subscript") or node) in entries:
                found.offers.append(Offer(0, "value", node))
        elif kind == "pair" and string_value(pair_part(node, "key")) in entries:
            found.offers.append(Offer(0, "entry", node))
    return found


def _call(found: Summary, call: Node, selves: frozenset[str]) -> None:
    found.calls += 1
    callee = text(call.child_by_field_name("function")).rpartition(".")[2]
    arguments = call_arguments(call)
    if callee == "getattr":
        asked = string_value(arguments[1]) if len(arguments) > 1 else None
        if asked is not None and text(arguments[0]) in selves:
            found.attributes.add(asked)
        return
    if any(text(argument) in ("self", "cls") for argument in arguments):
        found.handed_to.add(callee)
    found.offers += _offered(callee, arguments)


def _offered(callee: str, arguments: list[Node]) -> Iterator[Offer]:
    plain = tuple(argument for argument in arguments if argument.type != "keyword_argument")
    if callee in ASSERTS:
        value, bound = ASSERTS[callee]
        if len(plain) >= 2:
            yield from _compared(plain[value], plain[bound])
        return
    if callee in TELLERS:
        return
    checks = is_check(callee)
    for argument in arguments:
        keyword = argument.type == "keyword_argument"
        name = text(argument.child_by_field_name("name")) if keyword else ""
        node = unwrapped(argument.child_by_field_name("value") or argument if keyword else argument)
        rank = _rank(name, node, checks) if node.type != "dictionary" else None
        if rank is not None or node.type in ("identifier", "attribute"):
            yield Offer(rank, "argument", node, plain)


def _rank(name: str, node: Node, checks: bool) -> int | None:
    """How well an argument fits a bound: a KL bound by its name first, then any bound of a KL check."""
    if node.type in ("string", "concatenated_string", "lambda"):
        return None
    if node.type == "call" and not _is_arithmetic(node):
        return None
    plain = node.type not in ("identifier", "attribute", "call", *_COMPOSED)
    written = "" if plain else text(node)
    if _COUNT.search(name) or _COUNT.search(written) or _NEIGHBOUR.search(written):
        return None
    kl, bound = is_kl(name) or is_kl(written), bool(_BOUND.search(name) or _BOUND.search(written))
    if kl and bound:
        return 0
    if (checks and bound) or (kl and (name or written.isupper())):
        return 1
    if checks and not name and node.type == "float":
        return 2
    return 3 if bound and written.isupper() else None


def _compared(value: Node, bound: Node) -> Iterator[Offer]:
    """`kl < bound`, where one of the two names says that it is about KL."""
    value, bound = unwrapped(value), unwrapped(bound)
    named = bound.type in ("identifier", "attribute", "subscript", *_COMPOSED) or _is_arithmetic(bound)
    if text(value) == text(bound) or not (named or bound.type in ("integer", "float")):
        return
    if named and is_kl(text(bound)) and _BOUND.search(text(bound)) is not None:
        yield Offer(0, "value", bound)
    elif is_kl(text(value)) and not _COUNT.search(text(value)) and value.type != "call":
        yield Offer(1, "measured" if bound.type == "identifier" else "value", bound)
    elif text(bound).isupper() and _BOUND.search(text(bound)) and not _other(bound) and not _other(value):
        yield Offer(3, "measured", bound)


def _is_arithmetic(node: Node) -> bool:
    return node.type == "call" and text(node.child_by_field_name("function")) in _ARITHMETIC


def is_check(callee: str) -> bool:
    """Whether a function of that name compares with a KL bound."""
    return is_kl(callee) or _CHECK.search(callee) is not None


def sounds_like_bound(name: str) -> bool:
    return is_kl(name) or _BOUND.search(name) is not None


def _other(node: Node) -> bool:
    """It is about one of the things that stand beside a KL bound: accuracy, time, memory."""
    return _NEIGHBOUR.search(text(node)) is not None
