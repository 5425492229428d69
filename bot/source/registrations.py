"""What a test file registers itself for: calls of constants at the top of its module. Nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from bot.source.tree import MAX_BYTES, parse
from bot.source.tree import text as source

Constant = str | int | float | bool | None

_CONSTANTS: Final = {
    "string",
    "concatenated_string",
    "integer",
    "float",
    "true",
    "false",
    "none",
    "unary_operator",
}
_MAX_CONSTANT: Final = 1_000
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Registration:
    """One call. `arguments` are its keyword arguments that are constants and given once."""

    call: str
    arguments: dict[str, Constant]


def registrations(text: bytes, calls: Collection[str]) -> tuple[Registration, ...]:
    """The calls of these names that are statements of the module itself, in the order of the text.

    A statement that does not parse is left out, and so is a file over 4 MiB.
    """
    if len(text) > MAX_BYTES:
        return ()
    found = []
    for statement in parse(text).root_node.named_children:
        if (
            statement.type != "expression_statement"
            or statement.has_error
            or statement.named_child_count != 1
        ):
            continue
        call = statement.named_children[0]
        name = source(call.child_by_field_name("function"))
        if call.type == "call" and name in calls:
            found.append(Registration(name, _arguments(call.child_by_field_name("arguments"))))
    return tuple(found)


def _arguments(node: Node | None) -> dict[str, Constant]:
    given = [child for child in node.named_children if child.type == "keyword_argument"] if node else []
    names = [source(argument.child_by_field_name("name")) for argument in given]
    arguments: dict[str, Constant] = {}
    for name, argument in zip(names, given, strict=True):
        value = _constant(argument.child_by_field_name("value"))
        if names.count(name) == 1 and (value is None or isinstance(value, str | int | float)):
            arguments[name] = value
    return arguments


def _constant(node: Node | None) -> object:
    """The value of a literal; _ABSENT where it is anything else."""
    if node is None or node.type not in _CONSTANTS or node.end_byte - node.start_byte > _MAX_CONSTANT:
        return _ABSENT
    try:
        value: object = ast.literal_eval(source(node))
    except (ValueError, SyntaxError):
        return _ABSENT
    return value
