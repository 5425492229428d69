"""Finds the site of a bound: the one literal in the failing class that sets it. `locate`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from bot.source.lineage import Lineage, ReadFile, SourceFile, SourceTree
from bot.source.objections import objection
from bot.source.sentences import line_list, shortened
from bot.source.site import Sibling, Site
from bot.source.tree import MAX_BYTES, Assignment, ClassDef, descendants, parse, text
from bot.verdict.answer import Refusal

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
    tree = SourceTree(read_file)
    file = tree.add(path, root)
    cls = _the_class(file, named[1])
    if isinstance(cls, Refusal):
        return cls
    lineage = tree.lineage(file, cls)
    found = _the_assignment(lineage, attributes)
    if isinstance(found, Refusal):
        return found
    spelled = _plain_number(cls, found)
    if isinstance(spelled, Refusal):
        return spelled
    site = _site(data, file, cls, found.name, spelled, _governed(tree, file, cls, found.name, named[2]))
    return objection(file, lineage, site, exact_gate) or site


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


def _the_class(file: SourceFile, name: str) -> ClassDef | Refusal:
    named = [cls for cls in file.table.classes if cls.name == name]
    if not named:
        sentence = f"'{shortened(file.path)}' defines no class {name}; check the test's name."
        return Refusal("class_not_found", sentence)
    if len(named) > 1:
        lines = line_list([cls.line for cls in named])
        return Refusal("ambiguous", f"The class {name} is defined in lines {lines}; only one may stay.")
    return named[0]


def _the_assignment(lineage: Lineage, attributes: Sequence[str]) -> Assignment | Refusal:
    """The one statement of the class that sets the bound, or where else the bound comes from."""
    cls = lineage.owners[0].cls
    for owner in lineage.owners:
        for assignment in owner.cls.assignments():
            if any(assignment.name.startswith(a + d) for a in attributes for d in _DIRECTIONS):
                return Refusal(
                    "directional",
                    f"{owner.cls.name} has {assignment.name}, a bound of one direction; such bounds are not "
                    "supported yet, edit it by hand.",
                )
    found = [a for a in cls.assignments() if a.name in attributes]
    if len(found) > 1:
        lines = line_list([a.statement.start_point.row + 1 for a in found])
        names = " and ".join(sorted({a.name for a in found}))
        return Refusal("ambiguous", f"{cls.name} sets {names} in lines {lines}; only one may set the bound.")
    return found[0] if found else _set_elsewhere(lineage, attributes)


def _set_elsewhere(lineage: Lineage, attributes: Sequence[str]) -> Refusal:
    cls, path = lineage.owners[0].cls, lineage.owners[0].path
    for owner in lineage.owners[1:]:
        for assignment in owner.cls.assignments():
            if assignment.name in attributes:
                line = assignment.statement.start_point.row + 1
                where = "" if owner.path == path else f" of {shortened(owner.path)}"
                return Refusal(
                    "inherited",
                    f"{cls.name} takes {assignment.name} from {owner.cls.name} (line {line}{where}), and "
                    f"changing it there would move other tests; give {cls.name} a bound of its own.",
                )
    unread = [shortened(name) for name in lineage.unread[:3]]
    where = f"; its base {', '.join(unread)} was not found in this tree" if unread else ""
    sentence = f"{cls.name} sets no {' or '.join(attributes)}{where}; name its attribute in the rule pack."
    return Refusal("bound_not_found", sentence)


def _plain_number(cls: ClassDef, found: Assignment) -> Node | Refusal:
    right, line = found.right, found.statement.start_point.row + 1
    plain = right is not None and right.type in ("float", "integer") and PLAIN_NUMBER.fullmatch(text(right))
    if right is None or not plain or not found.direct:
        return Refusal(
            "computed",
            f"{cls.name}.{found.name} in line {line} is not set to a plain number in a statement of its own; "
            "edit it by hand.",
        )
    return right


def _governed(
    tree: SourceTree, file: SourceFile, cls: ClassDef, attribute: str, method: str | None
) -> tuple[str, ...]:
    """Every test of this file that reads the class's own bound, as far as the tree tells.

    The failing test is one even where no file read defines its method; subclasses then have it too.
    """
    governed: list[str] = []
    for user in file.table.users(cls, attribute):
        methods = [name for owner in tree.lineage(file, user).owners for name in owner.cls.methods()]
        if method is not None:
            methods.append(method)
        names = [f"{user.name}.{name}" for name in dict.fromkeys(methods)] or [user.name]
        governed += [f"{file.path}::{name}" for name in names]
    return tuple(governed)


def _site(
    data: bytes, file: SourceFile, cls: ClassDef, attribute: str, number: Node, governs: tuple[str, ...]
) -> Site:
    start, spelling = number.start_byte, text(number)
    line_start = data.rfind(b"\n", 0, start) + 1
    siblings = [
        Sibling(file.path, other.name, value)
        for other in file.table.classes
        if other is not cls and (value := _plain_value(other, attribute)) is not None
    ]
    return Site(
        path=file.path,
        cls=cls.name,
        attribute=attribute,
        line=number.start_point.row + 1,
        column=len(data[line_start:start].decode("utf-8").removeprefix("\ufeff")) + 1,
        start=start,
        end=number.end_byte,
        spelling=spelling,
        value=float(spelling),
        scope="class",
        governs=governs,
        siblings=tuple(siblings),
    )


def _plain_value(cls: ClassDef, attribute: str) -> float | None:
    values = [text(a.right) for a in cls.assignments() if a.name == attribute and a.direct]
    return float(values[0]) if len(values) == 1 and PLAIN_NUMBER.fullmatch(values[0]) else None
