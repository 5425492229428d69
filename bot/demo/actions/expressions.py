"""`${{ … }}`: the part of GitHub's expression language that real workflows need.

Known: the contexts that are handed in, text, number, boolean and null literals, `==`, `!=`, `&&`, `||`,
`!`, brackets, `.name` and `['name']`, `format`, `contains`, and in a step's `if` the status functions
`success`, `failure`, `cancelled`, `always`. Anything else is an ExpressionError that names the expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from bot.demo.actions import grammar
from bot.demo.actions.grammar import ExpressionError, Node, shown
from bot.demo.actions.values import Value, as_text, contains, equal, truthy

__all__ = ["Contexts", "ExpressionError", "Status", "check", "condition", "evaluate", "interpolate"]

Contexts = Mapping[str, Value]

MAX_TEXT: Final = 1_000_000
_FORMAT: Final = re.compile(r"\{\{|\}\}|\{([0-9]{1,3})\}|[{}]", re.ASCII)


class Status(StrEnum):
    """How a job stands when a step's `if` is asked."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


def evaluate(expression: str, contexts: Contexts, status: Status | None = None) -> Value:
    """The value of an expression without its `${{ }}`. `status` makes the status functions known."""
    tree = grammar.parse(expression)
    try:
        return _Evaluation(contexts, status).value(tree)
    except ExpressionError as error:
        raise ExpressionError(f"expression '{shown(expression)}': {error}") from None


def interpolate(text: str, contexts: Contexts) -> str:
    """The text with every `${{ … }}` in it replaced by its value."""
    pieces: list[str] = []
    size = 0
    for literal, expression in _pieces(text):
        pieces.append(literal)
        if expression is not None:
            pieces.append(as_text(evaluate(expression, contexts)))
            size += len(pieces[-1])
        if size > MAX_TEXT:
            raise ExpressionError(f"text '{shown(text)}' becomes longer than {MAX_TEXT} characters")
    return "".join(pieces)


def condition(text: str | None, contexts: Contexts, status: Status) -> bool:
    """A step's `if`. As on GitHub, `success() &&` is put before one that asks no status function."""
    if text is None or not text.strip():
        return status is Status.SUCCESS
    expression = _unwrapped(text)
    if status is not Status.SUCCESS and not grammar.asks_status(grammar.parse(expression)):
        return False
    return truthy(evaluate(expression, contexts, status))


def check(text: str, *, is_condition: bool = False) -> None:
    """Raises ExpressionError unless every expression in the text is one this runner knows."""
    found = [_unwrapped(text)] if is_condition else [e for _, e in _pieces(text) if e is not None]
    for expression in found:
        if grammar.asks_status(grammar.parse(expression)) and not is_condition:
            raise ExpressionError(f"expression '{shown(expression)}': status functions belong in an if")


def _unwrapped(text: str) -> str:
    """A condition may stand with or without `${{ }}`, but not as a text with an expression in it."""
    text = text.strip()
    if "${{" not in text:
        return text
    pieces = list(_pieces(text))
    if pieces[0][0] or pieces[1:] != [("", None)]:
        raise ExpressionError(f"condition '{shown(text)}' must be one expression")
    return pieces[0][1] or ""


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """(text before, expression), the last one with None. A `}}` inside quotes ends nothing."""
    position = 0
    while (start := text.find("${{", position)) >= 0:
        end, quoted = start + 3, False
        while end < len(text) and (quoted or not text.startswith("}}", end)):
            quoted ^= text[end] == "'"
            end += 1
        if end >= len(text):
            raise ExpressionError(f"text '{shown(text)}': a ${{{{ is not closed")
        yield text[position:start], text[start + 3 : end].strip()
        position = end + 2
    yield text[position:], None


class _Evaluation:
    def __init__(self, contexts: Contexts, status: Status | None) -> None:
        self._contexts = contexts
        self._status = status

    def value(self, node: Node) -> Value:
        match node:
            case grammar.Literal(value):
                return value
            case grammar.Context(name):
                if name not in self._contexts:
                    raise ExpressionError(f"context '{name}' is not available here")
                return self._contexts[name]
            case grammar.Properties(of, names):
                found = self.value(of)
                for name_node in names:
                    found = _property(found, self.value(name_node))
                return found
            case grammar.Not(of, even):
                return truthy(self.value(of)) == even
            case grammar.Call(function, arguments):
                return self._call(function, [self.value(argument) for argument in arguments])
            case grammar.Chain(operands, signs):
                return self._chain(operands, signs)

    def _chain(self, operands: Sequence[Node], signs: Sequence[str]) -> Value:
        """`&&` and `||` give an operand, not a boolean, and skip what no longer matters."""
        left = self.value(operands[0])
        for sign, operand in zip(signs, operands[1:], strict=True):
            if sign in ("==", "!="):
                left = equal(left, self.value(operand)) == (sign == "==")
            elif truthy(left) == (sign == "&&"):
                left = self.value(operand)
        return left

    def _call(self, function: str, arguments: Sequence[Value]) -> Value:
        if function == "format" and arguments:
            return _format(as_text(arguments[0]), [as_text(argument) for argument in arguments[1:]])
        if function == "contains" and len(arguments) == 2:
            return contains(arguments[0], arguments[1])
        if function in grammar.STATUS_FUNCTIONS and not arguments:
            if self._status is None:
                raise ExpressionError(f"function {function}() is not available here")
            return function in ("always", self._status)
        raise ExpressionError(f"function {function}() does not take {len(arguments)} arguments")


def _property(value: Value, name: Value) -> Value:
    """Null where there is none, as on GitHub; names are found without regard to case."""
    if isinstance(value, Mapping) and isinstance(name, str):
        if name in value:
            return value[name]
        return next((item for key, item in value.items() if key.lower() == name.lower()), None)
    if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(name, int | float):
        return value[int(name)] if 0 <= name < len(value) else None
    return None


def _format(pattern: str, arguments: Sequence[str]) -> str:
    pieces: list[str] = []
    position = size = 0
    for match in _FORMAT.finditer(pattern):
        pieces += pattern[position : match.start()], _replacement(match, arguments)
        position = match.end()
        size += len(pieces[-1])
        if size > MAX_TEXT:
            raise ExpressionError(f"format() makes a text longer than {MAX_TEXT} characters")
    return "".join(pieces) + pattern[position:]


def _replacement(match: re.Match[str], arguments: Sequence[str]) -> str:
    if match.group() in ("{{", "}}"):
        return match.group()[0]
    if match.group(1) is None or int(match.group(1)) >= len(arguments):
        raise ExpressionError(f"format() has no argument for '{match.group()}'")
    return arguments[int(match.group(1))]
