"""YAML as people mean it: every value with its line and column, and the traps of YAML 1.1 as errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 16

Position = tuple[int, int]
"""Line and column, from 1."""
Location = tuple[int | str, ...]

_INT: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_FLOAT: Final = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d{1,3})?")
_MEANT_AS_TEXT: Final = {("mode",)}
"""`mode: off` reads as false in YAML 1.1; here the word is the value."""


@dataclass(frozen=True, slots=True)
class Problem:
    position: Position
    message: str


NO_MAPPING: Final = Problem((1, 1), "must be a mapping of keys to values")


@dataclass(slots=True)
class Document:
    """`data` is JSON-like; `values` and `keys` hold positions by path, `problems` what is wrong as YAML."""

    data: object = None
    values: dict[Location, Position] = field(default_factory=dict)
    keys: dict[Location, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def position(self, location: Location) -> Position:
        """Of the value at `location`, or of the nearest thing around it."""
        while location not in self.values and location:
            location = location[:-1]
        return self.values.get(location, (1, 1))

    def at(self, location: Location) -> object:
        """The value at `location`; None where there is none."""
        found: Any = self.data
        for part in location:
            try:
                found = None if isinstance(found, str) else found[part]
            except (IndexError, KeyError, TypeError):
                return None
        return found

    def key_position(self, location: Location) -> Position:
        return self.keys.get(location, self.position(location))

    def with_found(self, found: Iterable[Problem]) -> list[Problem]:
        """Its own problems, and of those found later the ones elsewhere: one error a place."""
        told = {problem.position for problem in self.problems}
        return [*self.problems, *(problem for problem in found if problem.position not in told)]


def read_document(text: str | bytes) -> Document:
    """Never raises: a text that is no YAML gives its problem."""
    document = Document()
    if len(text) > MAX_BYTES:
        document.problems.append(Problem((1, 1), f"is longer than {MAX_BYTES // 1024} KiB"))
        return document
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        root = yaml.compose(decoded, Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        document.problems.append(Problem((1, 1), "is not UTF-8"))
    except RecursionError:
        document.problems.append(Problem((1, 1), "is nested too deeply"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "is not YAML"
        document.problems.append(Problem(_position(mark), message))
    except yaml.YAMLError as error:
        document.problems.append(Problem((1, 1), str(error).splitlines()[0]))
    else:
        if root is not None:
            document.data = _Walk(document).value(root, ())
    return document


class _Walk:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, location: Location) -> object:
        document = self._document
        document.values[location] = _position(node.start_mark)
        if id(node) in self._seen:
            return self._refuse(node, "anchors and aliases are not used here: write the value out")
        self._seen.add(id(node))
        if len(location) > MAX_DEPTH:
            return self._refuse(node, "is nested too deeply")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*location, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, location)
        return self._refuse(node, "is not a value known here")

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, "a key must be one word")
                continue
            key = key_node.value
            if key_node.tag != "tag:yaml.org,2002:str":
                self._refuse(key_node, f"the key {key!r} does not read as text: put it in quotes")
                continue
            if key in mapping:
                first = self._document.keys[(*location, key)]
                self._refuse(key_node, f"the key {key!r} stands here twice, first in line {first[0]}")
                continue
            self._document.keys[(*location, key)] = _position(key_node.start_mark)
            mapping[key] = self.value(value_node, (*location, key))
        return mapping

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> object:
        text, kind = node.value, node.tag.removeprefix("tag:yaml.org,2002:")
        if kind != "str" and (node.style is not None or kind not in _KINDS):
            return self._refuse(node, f"the tag {node.tag!r} is not used here")
        if node.style is not None:
            return text
        if text in ("true", "false"):
            return text == "true"
        if text in ("", "null", "~"):
            return None
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if kind != "str" and location not in _MEANT_AS_TEXT:
            self._refuse(node, f"{text!r} reads as {_KINDS[kind][0]} in YAML 1.1: {_KINDS[kind][1]}")
        return text

    def _refuse(self, node: yaml.Node, message: str) -> object:
        self._document.problems.append(Problem(_position(node.start_mark), message))
        return None


_QUOTE: Final = "put it in quotes"
_KINDS: Final = {
    "bool": ("true or false", _QUOTE),
    "int": ("another number", f"{_QUOTE}, or write a plain decimal number"),
    "float": ("another number", f"{_QUOTE}, or write a plain decimal number"),
    "timestamp": ("a date", _QUOTE),
    "null": ("nothing", _QUOTE),
    "merge": ("a merge key", _QUOTE),
    "value": ("a default key", _QUOTE),
}
"""How YAML 1.1 reads a value, and what to write instead."""


def _position(mark: yaml.Mark | None) -> Position:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
