"""Text of an expression to its tree. Length and depth are bounded; only brackets make it deeper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.demo.actions.values import Value

MAX_EXPRESSION: Final = 21_000
MAX_DEPTH: Final = 32
CONTEXTS: Final = frozenset({"inputs", "github", "env", "runner", "steps", "job"})
STATUS_FUNCTIONS: Final = frozenset({"success", "failure", "cancelled", "always"})
FUNCTIONS: Final = STATUS_FUNCTIONS | {"format", "contains"}
_WORDS: Final[Mapping[str, Value]] = {"true": True, "false": False, "null": None}
_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<text>'(?:[^']|'')*')|(?P<number>[-+]?(?:0[xo][0-9a-fA-F]+"
    r"|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?![\w.]))|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)"
    r"|(?P<sign>==|!=|&&|\|\||[!().,\[\]])",
    re.ASCII,
)


class ExpressionError(ValueError):
    """An expression this runner does not evaluate; the message names it."""


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class Context:
    name: str


@dataclass(frozen=True, slots=True)
class Properties:
    """`of.first['second']`"""

    of: Node
    names: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    of: Node
    even: bool
    """`!!x`: not negated, but made a boolean."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands with a sign between each two, evaluated from the left."""

    operands: tuple[Node, ...]
    signs: tuple[str, ...]


Node = Literal | Context | Properties | Call | Not | Chain


def parse(expression: str) -> Node:
    """The tree of an expression without its `${{ }}`. Raises ExpressionError."""
    try:
        return _Parser(tokens(expression)).tree()
    except ExpressionError as error:
        raise ExpressionError(f"expression '{shown(expression)}': {error}") from None


def asks_status(node: Node) -> bool:
    """Whether a status function stands anywhere in the tree."""
    match node:
        case Call(function, arguments):
            return function in STATUS_FUNCTIONS or any(map(asks_status, arguments))
        case Chain(operands):
            return any(map(asks_status, operands))
        case Not(of):
            return asks_status(of)
        case Properties(of, names):
            return asks_status(of) or any(map(asks_status, names))
    return False


def shown(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"


def tokens(expression: str) -> Sequence[tuple[str, str]]:
    """(kind, word); kinds are text, number, name and sign."""
    if len(expression) > MAX_EXPRESSION:
        raise ExpressionError(f"longer than {MAX_EXPRESSION} characters")
    return tuple(_tokens(expression))


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if match is None or match.lastgroup is None:
            raise ExpressionError(f"'{expression[position]}' is not understood")
        position = match.end()
        if match.lastgroup != "space":
            yield match.lastgroup, match.group()


class _Parser:
    """Loosest first: `||`, `&&`, `==` and `!=`, `!`, then `.name`, `['name']`."""

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        self._words = words
        self._next = 0
        self._depth = 0

    def tree(self) -> Node:
        if not self._words:
            raise ExpressionError("it is empty")
        node = self._or()
        if self._next < len(self._words):
            raise ExpressionError(f"'{self._words[self._next][1]}' is not expected here")
        return node

    def _or(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {MAX_DEPTH}")
        node = self._chain(("||",), self._and)
        self._depth -= 1
        return node

    def _and(self) -> Node:
        return self._chain(("&&",), self._equality)

    def _equality(self) -> Node:
        return self._chain(("==", "!="), self._not)

    def _chain(self, known: Sequence[str], operand: Callable[[], Node]) -> Node:
        operands, signs = [operand()], []
        while sign := next((sign for sign in known if self._take(sign)), None):
            signs.append(sign)
            operands.append(operand())
        return Chain(tuple(operands), tuple(signs)) if signs else operands[0]

    def _not(self) -> Node:
        negations = 0
        while self._take("!"):
            negations += 1
        node = self._properties(self._atom())
        return Not(node, even=negations % 2 == 0) if negations else node

    def _properties(self, node: Node) -> Node:
        names: list[Node] = []
        while True:
            if self._take("."):
                names.append(Literal(self._name()))
            elif self._take("["):
                names.append(self._or())
                self._expect("]")
            else:
                return Properties(node, tuple(names)) if names else node

    def _atom(self) -> Node:
        if self._take("("):
            node = self._or()
            self._expect(")")
            return node
        if self._next >= len(self._words):
            raise ExpressionError("it ends too early")
        kind, word = self._words[self._next]
        self._next += 1
        if kind == "text":
            return Literal(word[1:-1].replace("''", "'"))
        if kind == "number":
            return Literal(_number(word))
        if kind != "name":
            raise ExpressionError(f"'{word}' is not expected here")
        if self._take("("):
            return Call(_known(word, FUNCTIONS, "function"), self._arguments())
        return Literal(_WORDS[word]) if word in _WORDS else Context(_known(word, CONTEXTS, "context"))

    def _arguments(self) -> tuple[Node, ...]:
        if self._take(")"):
            return ()
        arguments = [self._or()]
        while self._take(","):
            arguments.append(self._or())
        self._expect(")")
        return tuple(arguments)

    def _take(self, sign: str) -> bool:
        found = self._next < len(self._words) and self._words[self._next] == ("sign", sign)
        self._next += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise ExpressionError(f"'{sign}' is missing")

    def _name(self) -> str:
        kind, word = self._words[self._next] if self._next < len(self._words) else ("", "")
        if kind != "name":
            raise ExpressionError("a name is missing after '.'")
        self._next += 1
        return word


def _known(word: str, known: frozenset[str], what: str) -> str:
    if word.lower() not in known:
        raise ExpressionError(f"{what} '{word}' is not supported; supported are {', '.join(sorted(known))}")
    return word.lower()


def _number(word: str) -> float:
    sign = -1 if word.startswith("-") else 1
    digits = word.lstrip("+-")
    try:
        return sign * (float(int(digits, 0)) if digits[:2] in ("0x", "0o") else float(digits))
    except (ValueError, OverflowError):
        raise ExpressionError(f"'{shown(word)}' is not a number") from None
