"""What becomes of a bound that a method reads: compared as it is, changed on its way, or only printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tree_sitter import Node

from bot.source.candidates import Function
from bot.source.nodes import call_arguments, is_kl, is_written, parameters, string_value
from bot.source.shadows import bound_in, changed_in, locals_of
from bot.source.summary import ASSERTS, TELLERS, is_check, sounds_like_bound
from bot.source.tree import attributes_below, captured, query, text

_MAX_STEPS: Final = 200
_ARITHMETIC: Final = frozenset(
    {"max", "min", "float", "int", "abs", "round", "sum", "pow", "Decimal", "sqrt", "maximum", "minimum"}
)
_TRUTHS: Final = frozenset({"assertTrue", "assertFalse", "bool", "all", "any"})
_CONDITIONS: Final = frozenset(
    {"if_statement", "elif_clause", "while_statement", "assert_statement", "not_operator", "raise_statement"}
    | {"expression_statement", "interpolation"}
)
_PASSED_ON: Final = frozenset({"parenthesized_expression", "await"})


@dataclass(frozen=True, slots=True)
class Use:
    """The whole expression that a bound is part of. `plain`: it is compared with as it stands."""

    node: Node
    function: Function
    plain: bool


class Uses:
    """Of the functions that one test runs; `names` are the attributes that may hold its bound."""

    def __init__(self, functions: Sequence[Function], names: set[str]) -> None:
        self._functions = functions
        self._names = names
        self._steps = 0

    def found(self) -> list[Use]:
        uses = [u for f in self._functions for node in self._reads(f) for u in self.of(node, f)]
        return list(dict.fromkeys(uses))

    def _reads(self, function: Function) -> Iterator[Node]:
        body = function.node.child_by_field_name("body")
        if body is None or not any(name in text(body) for name in self._names):
            return
        for node in attributes_below(body):
            if text(node.child_by_field_name("attribute")) in self._names and not is_written(node):
                yield node
        for call in captured(query("(call) @found"), body):
            arguments = call_arguments(call)
            reads = text(call.child_by_field_name("function")) == "getattr" and len(arguments) > 1
            if reads and string_value(arguments[1]) in self._names:
                yield call

    def of(self, node: Node, function: Function) -> list[Use]:
        """Empty where it is only printed, or asked whether it is set."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return [Use(node, function, False)]
        whole, end, scaled = _climbed(node)
        parent = end.parent
        if parent is None or _is_told(end, parent):
            return []
        if scaled:
            told = parent.type == "argument_list" and parent.parent is not None and _is_teller(parent.parent)
            return [] if told else [Use(whole, function, False)]
        if parent.type in ("argument_list", "keyword_argument"):
            return self._handed(whole, end, function)
        if parent.type == "comparison_operator":
            return [Use(whole, function, True)]
        if parent.type == "pair" and parent.child_by_field_name("value") == end:
            return [Use(whole, function, not _dictionary_changes(parent, function))]
        if parent.type == "assignment" and parent.child_by_field_name("right") == end:
            return self._kept(whole, parent, function)
        if parent.type == "return_statement":
            return self._returned(whole, function)
        return [Use(whole, function, False)]

    def _kept(self, whole: Node, assignment: Node, function: Function) -> list[Use]:
        """In a local name: what that is used for."""
        left = assignment.child_by_field_name("left")
        body = function.node.child_by_field_name("body")
        if left is None or left.type != "identifier" or body is None:
            return [Use(whole, function, False)]
        name = text(left)
        uses = [u for n in _named(body, name) if n != left for u in self.of(n, function)]
        once = len(locals_of(function.node).get(name, [])) == 1 and bound_in(function.node, name) is None
        return uses if once or not uses else [Use(whole, function, False)]

    def _returned(self, whole: Node, function: Function) -> list[Use]:
        """By a helper: what its callers use that for."""
        name = function.place.name
        uses = []
        for caller in self._functions:
            body = caller.node.child_by_field_name("body")
            if body is None or name not in text(body):
                continue
            for node in [*attributes_below(body), *captured(query("(identifier) @found"), body)]:
                if text(node.child_by_field_name("attribute") or node) != name or _is_part(node):
                    continue
                call = node.parent
                called = call is not None and call.type == "call" and _callee(call) == node
                uses += self.of(call if called and call is not None else node, caller)
        return _as(uses, whole, function)

    def _handed(self, whole: Node, end: Node, function: Function) -> list[Use]:
        call = end.parent
        while call is not None and call.type != "call":
            call = call.parent
        callee = _callee(call) if call is not None else None
        if call is None or callee is None:
            return [Use(whole, function, False)]
        name = text(callee).rpartition(".")[2]
        if name in TELLERS:
            return []
        known = next((f for f in self._functions if f.place.name == name), None)
        if known is None or callee.type not in ("identifier", "attribute"):
            return [Use(whole, function, _is_plain_call(call, name, end))]
        parameter = parameter_of(call, end, known)
        body = known.node.child_by_field_name("body")
        if parameter is None or body is None:
            return [Use(whole, function, False)]
        again = locals_of(known.node).get(parameter, []) or bound_in(known.node, parameter)
        uses = [use for n in _named(body, parameter) for use in self.of(n, known)]
        if again or any(not text(use.node).startswith(parameter) for use in uses if use.function is known):
            return [Use(whole, function, False)]
        return _as(uses, whole, function)


def _as(uses: list[Use], whole: Node, function: Function) -> list[Use]:
    return [Use(whole, function, all(use.plain for use in uses))] if uses else []


def _climbed(node: Node) -> tuple[Node, Node, bool]:
    """The whole expression that a bound stands in; its end, from where it is used; whether it is changed."""
    whole = end = node
    scaled = False
    while (parent := end.parent) is not None:
        kind = parent.type
        if kind == "call" and _callee(parent) == end:
            scaled = True
        elif kind == "conditional_expression" and parent.named_children[1] == end:
            break
        elif kind in ("binary_operator", "unary_operator", "subscript", "attribute", "boolean_operator"):
            is_or = kind == "boolean_operator" and text(parent.child_by_field_name("operator")) == "or"
            left = parent.child_by_field_name("left")
            if kind == "binary_operator" and left is not None and left.type.endswith("string"):
                break
            scaled = scaled or not is_or
        elif kind == "argument_list" and _is_arithmetic(parent.parent):
            end = parent
            scaled = True
            continue
        elif kind not in (*_PASSED_ON, "conditional_expression", "call"):
            break
        end = parent
        whole = end
    return whole, end, scaled


def _is_arithmetic(call: Node | None) -> bool:
    return call is not None and text(_callee(call)).rpartition(".")[2] in _ARITHMETIC


def _is_teller(call: Node) -> bool:
    return text(_callee(call)).rpartition(".")[2] in TELLERS


def _is_told(end: Node, parent: Node) -> bool:
    """Printed, or only asked about."""
    kind = parent.type
    if kind == "comparison_operator":
        others = [child for child in parent.named_children if child != end]
        return any(o.type == "none" or text(o) in ("0", "0.0") for o in others)
    return kind in _CONDITIONS or kind in ("conditional_expression", "binary_operator")


def _is_plain_call(call: Node, name: str, end: Node) -> bool:
    """Whether a function that is not read compares with the bound, and does not make another one of it."""
    if name in ASSERTS or is_check(name):
        return True
    parent = call.parent
    while parent is not None and parent.type in _PASSED_ON:
        parent = parent.parent
    if parent is None or parent.type in _CONDITIONS:
        return True
    if parent.type == "assignment":
        return not sounds_like_bound(text(parent.child_by_field_name("left")))
    holder = parent.parent if parent.type == "argument_list" else None
    return holder is not None and text(_callee(holder)).rpartition(".")[2] in _TRUTHS


def _dictionary_changes(pair: Node, function: Function) -> bool:
    current = pair.parent
    while current is not None and current.type in ("dictionary", "pair", "parenthesized_expression"):
        current = current.parent
    kept = current is not None and current.type == "assignment"
    left = current.child_by_field_name("left") if kept and current is not None else None
    return left is not None and changed_in(function.node, "".join(text(left).split())) is not None


def parameter_of(call: Node, argument: Node, function: Function) -> str | None:
    """The parameter that takes the argument; None where that cannot be told."""
    arguments, names = call_arguments(call), parameters(function.node)
    if any(a.type in ("list_splat", "dictionary_splat") for a in arguments):
        return None
    holder = argument.parent
    if holder is not None and holder.type == "keyword_argument":
        name = text(holder.child_by_field_name("name"))
        return name if name in names else None
    bound = function.cls is not None and names[:1] in (("self",), ("cls",))
    place = next((i for i, a in enumerate(arguments) if a == argument), None)
    index = place + bound if place is not None else len(names)
    return names[index] if index < len(names) else None


def _callee(call: Node) -> Node | None:
    return call.child_by_field_name("function")


def _named(body: Node, name: str) -> list[Node]:
    return _variables(body).get(name, [])


@lru_cache(maxsize=64)
def _variables(body: Node) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in captured(query("(identifier) @found"), body):
        if not _is_part(node):
            found.setdefault(text(node), []).append(node)
    return found


def _is_part(node: Node) -> bool:
    """The name of a keyword argument or of an attribute is no use of a variable."""
    parent = node.parent
    if parent is None or node.type != "identifier":
        return False
    if parent.type == "keyword_argument":
        return parent.child_by_field_name("name") == node
    return parent.type == "attribute" and parent.child_by_field_name("attribute") == node


def handed_literals(functions: Sequence[Function], names: set[str]) -> Iterator[tuple[Function, Node]]:
    """Numbers that the test's functions hand to each other as a bound."""
    uses = Uses(functions, names)
    for function in functions:
        body = function.node.child_by_field_name("body")
        for node in captured(query("(argument_list (float) @found)"), body) if body is not None else ():
            yield from _handed_literal(uses, functions, function, node)
        pattern = "(argument_list (keyword_argument value: (float) @found))"
        for node in captured(query(pattern), body) if body is not None else ():
            yield from _handed_literal(uses, functions, function, node)


def _handed_literal(
    uses: Uses, functions: Sequence[Function], function: Function, node: Node
) -> Iterator[tuple[Function, Node]]:
    call = node.parent
    while call is not None and call.type != "call":
        call = call.parent
    callee = text(_callee(call)).rpartition(".")[2] if call is not None else ""
    known = next((f for f in functions if f.place.name == callee), None)
    if call is None or known is None:
        return
    parameter = parameter_of(call, node, known)
    body = known.node.child_by_field_name("body")
    if parameter is None or body is None:
        return
    compared = any(uses.of(use, known) for use in _named(body, parameter))
    if compared and (sounds_like_bound(parameter) or is_kl(text(body))):
        yield function, node
