"""Finds the site of a bound: the one literal in the failing class that sets it. `locate`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from tree_sitter import Node

from bot.source.classes import ClassTable
from bot.source.imports import imported_from
from bot.source.objections import objection
from bot.source.sentences import line_list, shortened
from bot.source.site import Sibling, Site
from bot.source.tree import MAX_BYTES, Assignment, ClassDef, descendants, module_classes, parse, text
from bot.verdict.answer import Refusal

ReadFile = Callable[[str], bytes | None]

ATTRIBUTES: Final = ("kl_threshold", "kl_div_thres")
EXACT_GATE: Final = 1e-6

PLAIN_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_TEST: Final = re.compile(r"(?:.*?::)?([^\W\d]\w*)(?:(?:\.|::)([^\W\d]\w*))?", re.DOTALL)
_DIRECTIONS: Final = ("_prefill", "_decode")


def locate(
    path: str,
    test: str,
    read_file: ReadFile,
    attributes: Sequence[str] = ATTRIBUTES,
    exact_gate: float = EXACT_GATE,
) -> Site | Refusal:
    """The site that governs `test` ('Class.method', with or without 'path::' before it) in the file `path`.

    `read_file` gives the bytes of a file of the tree, or None. Refusal codes: file_not_found, does_not_parse,
    bad_test, class_not_found, bound_not_found, ambiguous, computed, inherited, directional, vacuous, shared,
    exact_gate.
    """
    named = _TEST.fullmatch(test)
    if named is None:
        return Refusal("bad_test", f"'{shortened(test)}' is no test name; write Class.method.")
    data = read_file(path)
    if data is None:
        return Refusal(
            "file_not_found", f"There is no file '{shortened(path)}' in this tree; check the path."
        )
    root = _parsed(path, data)
    if isinstance(root, Refusal):
        return root
    classes = module_classes(root)
    cls = _the_class(path, named[1], classes)
    if isinstance(cls, Refusal):
        return cls
    table = ClassTable(classes)
    found = _the_assignment(path, cls, table, attributes)
    if found is None:
        return _not_in_class(path, cls, table, attributes, root, read_file)
    if isinstance(found, Refusal):
        return found
    site = _site(path, data, cls, found, table, named[2])
    if isinstance(site, Refusal):
        return site
    return objection(root, cls, table, site, exact_gate) or site


def _parsed(path: str, data: bytes) -> Node | Refusal:
    name = shortened(path)
    if len(data) > MAX_BYTES:
        return Refusal("does_not_parse", f"'{name}' is larger than {MAX_BYTES >> 20} MiB; it is not read.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return Refusal("does_not_parse", f"'{name}' is not UTF-8; edit it by hand.")
    root = parse(data).root_node
    if root.has_error:
        line = next((n.start_point.row + 1 for n in descendants(root) if n.is_error or n.is_missing), 1)
        return Refusal("does_not_parse", f"'{name}' does not parse as Python near line {line}; fix it first.")
    return root


def _the_class(path: str, name: str, classes: list[ClassDef]) -> ClassDef | Refusal:
    named = [cls for cls in classes if cls.name == name]
    if not named:
        return Refusal(
            "class_not_found", f"'{shortened(path)}' defines no class {name}; check the test's name."
        )
    if len(named) > 1:
        lines = line_list([cls.line for cls in named])
        return Refusal("ambiguous", f"The class {name} is defined in lines {lines}; only one may stay.")
    return named[0]


def _the_assignment(
    path: str, cls: ClassDef, table: ClassTable, attributes: Sequence[str]
) -> Assignment | Refusal | None:
    """The one statement of the class that sets the bound; None if the class does not set it."""
    for owner in (cls, *table.bases(cls)):
        for assignment in owner.assignments():
            if any(assignment.name.startswith(a + d) for a in attributes for d in _DIRECTIONS):
                return Refusal(
                    "directional",
                    f"{owner.name} sets {assignment.name}, a bound of one direction; such bounds are not "
                    "supported yet, edit it by hand.",
                )
    found = [a for a in cls.assignments() if a.name in attributes]
    if not found:
        return None
    if len(found) > 1:
        lines = line_list([a.statement.start_point.row + 1 for a in found])
        names = " and ".join(sorted({a.name for a in found}))
        return Refusal("ambiguous", f"{cls.name} sets {names} in lines {lines}; only one may set the bound.")
    return found[0]


def _site(
    path: str, data: bytes, cls: ClassDef, found: Assignment, table: ClassTable, method: str | None
) -> Site | Refusal:
    right, line = found.right, found.statement.start_point.row + 1
    spelling = text(right)
    plain = right is not None and right.type in ("float", "integer") and PLAIN_NUMBER.fullmatch(spelling)
    if right is None or not plain or not found.direct:
        return Refusal(
            "computed",
            f"{cls.name}.{found.name} in line {line} is not set to a plain number in a statement of its own; "
            "edit it by hand.",
        )
    row, start = right.start_point.row, right.start_byte
    line_start = data.rfind(b"\n", 0, start) + 1
    siblings = [
        Sibling(path, other.name, value)
        for other in table.classes
        if other is not cls and (value := _plain_value(other, found.name)) is not None
    ]
    governs = [f"{path}::{name}" for name in table.governed(cls, found.name, method)]
    return Site(
        path=path,
        cls=cls.name,
        attribute=found.name,
        line=row + 1,
        column=len(data[line_start:start].decode("utf-8").removeprefix("\ufeff")) + 1,
        start=start,
        end=right.end_byte,
        spelling=spelling,
        value=float(spelling),
        scope="class",
        governs=tuple(governs),
        siblings=tuple(siblings),
    )


def _plain_value(cls: ClassDef, attribute: str) -> float | None:
    values = [text(a.right) for a in cls.assignments() if a.name == attribute and a.direct]
    return float(values[0]) if len(values) == 1 and PLAIN_NUMBER.fullmatch(values[0]) else None


def _not_in_class(
    path: str,
    cls: ClassDef,
    table: ClassTable,
    attributes: Sequence[str],
    root: Node,
    read_file: ReadFile,
) -> Refusal:
    """Says where the class takes its bound from, as far as the files tell."""
    for base in table.bases(cls):
        for assignment in base.assignments():
            if assignment.name in attributes:
                return _inherited(cls, assignment, base.name, "")
    unread = []
    for name in table.foreign_bases(cls):
        origin, paths = imported_from(root, path, name)
        found = next((p for p in paths if read_file(p) is not None), None)
        if found is None:
            unread.append(name)
            continue
        other = ClassTable(module_classes(parse(read_file(found) or b"").root_node))
        for base in other.with_bases(origin):
            for assignment in base.assignments():
                if assignment.name in attributes:
                    return _inherited(cls, assignment, base.name, f" of {shortened(found)}")
    where = f"; its base {', '.join(unread[:3])} was not found in this tree" if unread else ""
    names = " or ".join(attributes)
    return Refusal(
        "bound_not_found", f"{cls.name} sets no {names}{where}; name the attribute in the rule pack."
    )


def _inherited(cls: ClassDef, assignment: Assignment, base: str, where: str) -> Refusal:
    line = assignment.statement.start_point.row + 1
    return Refusal(
        "inherited",
        f"{cls.name} takes {assignment.name} from {base} (line {line}{where}), and changing it there would "
        f"move other tests; give {cls.name} a bound of its own.",
    )
