"""Finds the site of a bound: the one literal that sets what the failing test compares with. `locate`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from bot.source.governs import Governed, Search, governed
from bot.source.lineage import Lineage, ListFiles, Owner, ReadFile, SourceFile, SourceTree
from bot.source.mentions import Asked
from bot.source.nodes import attribute_writes
from bot.source.objections import constant_set_again, set_again
from bot.source.reads import Reader
from bot.source.scope import override_of, refusal_of, scope_of
from bot.source.sentences import line_list, shortened
from bot.source.siblings import siblings_of
from bot.source.site import Site
from bot.source.tree import MAX_BYTES, ClassDef, captured, descendants, query, text
from bot.source.vacuous import cache_is_off
from bot.source.values import Answer, Literal, Values
from bot.verdict.answer import Refusal

ATTRIBUTES: Final = ("kl_threshold", "kl_div_thres")
ENTRIES: Final = ("kl_div",)
EXACT_GATE: Final = 1e-6

_NAME: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class _Test:
    """The failing test, its class's lineage, and what it reads."""

    tree: SourceTree
    reader: Reader
    own: Owner
    lineage: Lineage
    method: str | None
    entries: tuple[str, ...]


def locate(
    path: str,
    test: str,
    read_file: ReadFile,
    attributes: Sequence[str] = ATTRIBUTES,
    exact_gate: float = EXACT_GATE,
    *,
    entries: Sequence[str] = ENTRIES,
    list_files: ListFiles | None = None,
) -> Site | Refusal:
    """The site that governs `test` ('Class.method', with or without 'path::' before it) in the file `path`.

    `read_file` gives the bytes of a file of the tree, or None; `list_files` its .py paths, without which only
    the files that the test leads to are searched. `attributes` names the class attributes that hold bounds,
    each also with _prefill and _decode; `entries` what a dictionary of bounds calls them.

    Refusals: file_not_found, does_not_parse, bad_test, class_not_found, bound_not_found, ambiguous, computed.
    A site may carry one too: exact_gate, vacuous, inherited, kit_default, shared.
    """
    named = _named(path, test)
    if isinstance(named, Refusal):
        return named
    class_name, method = named
    tree = SourceTree(read_file, list_files, path)
    file = _parsed(tree, path)
    if isinstance(file, Refusal):
        return file
    cls = _the_class(file, class_name)
    if isinstance(cls, Refusal):
        return cls
    lineage = tree.lineage(file, cls)
    asked = _Test(tree, Reader(attributes), Owner(file, cls), lineage, method, tuple(entries))
    if method is not None and not _has_method(asked, method):
        sentence = f"{cls.shown} has no method {shortened(method)}; check the test's name."
        return Refusal("bad_test", sentence)
    reading = asked.reader.read(Values(tree, lineage.owners, entries), method)
    answer, attribute = reading.answer, reading.attribute
    if isinstance(answer, Literal) and attribute is None and answer.place.kind == "class":
        attribute = answer.place.name
    literal = _literal(asked, answer, attribute)
    return literal if isinstance(literal, Refusal) else _site(asked, literal, attribute, exact_gate)


def _named(path: str, test: str) -> tuple[str, str | None] | Refusal:
    """The class and, where it is named, the method of `test`; the `[…]` of a parameter set is left out."""
    *before, last = test.partition("[")[0].split("::")
    files = [part for part in before if "/" in part or part.endswith(".py")]
    other = next((f for f in files if not _same_file(f, path)), None)
    if other is not None:
        sentence = f"The test is of '{shortened(other)}', not of '{shortened(path)}'; name that file."
        return Refusal("bad_test", sentence)
    names = [name for part in (*before[len(files) :], last) for name in part.split(".")]
    if not 1 <= len(names) <= 2 or not all(_NAME.fullmatch(name) for name in names):
        return Refusal("bad_test", f"'{shortened(test)}' is no test name; write Class.method.")
    return names[0], names[1] if len(names) == 2 else None


def _same_file(named: str, path: str) -> bool:
    """Whether the paths end alike, as one may be relative to another folder."""
    parts, others = PurePosixPath(named).parts, PurePosixPath(path).parts
    shorter = min(len(parts), len(others))
    return shorter > 0 and parts[-shorter:] == others[-shorter:]


def _has_method(asked: _Test, method: str) -> bool:
    """Whether the text gives the class the method; a base that is not read may have it.

    A class without any test in its text takes them from somewhere else.
    """
    owners = asked.lineage.owners
    tests = any(o.cls.methods() for o in owners)
    if not tests or any(not _is_standard(base) for base in asked.lineage.unread):
        return True
    if any(method in o.cls.block.functions or o.cls.named(method) for o in owners):
        return True
    return any(attribute_writes(file.root, method) for file in {o.file for o in owners})


def _parsed(tree: SourceTree, path: str) -> SourceFile | Refusal:
    name, data = shortened(path), tree.data(path)
    if data is None:
        return Refusal("file_not_found", f"There is no file '{name}' in this tree; check the path.")
    if len(data) > MAX_BYTES:
        return Refusal("does_not_parse", f"'{name}' is larger than {MAX_BYTES >> 20} MiB; it is not read.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return Refusal("does_not_parse", f"'{name}' is not UTF-8; edit it by hand.")
    file = tree.file(path)
    line = _broken_line(file) if file is not None else 1
    if file is None or line is not None:
        return Refusal("does_not_parse", f"'{name}' does not parse as Python near line {line}; fix it first.")
    return file


def _broken_line(file: SourceFile) -> int | None:
    """The first line that is no Python 3; the grammar takes the statements of Python 2 as well."""
    if file.root.has_error:
        broken = (n for n in descendants(file.root) if n.is_error or n.is_missing)
        return next((node.start_point.row + 1 for node in broken), 1)
    old = captured(query("[(print_statement) (exec_statement)] @found"), file.root)
    return old[0].start_point.row + 1 if old else None


def _the_class(file: SourceFile, name: str) -> ClassDef | Refusal:
    named = file.classes_named(name)
    if not named:
        sentence = f"'{shortened(file.path)}' defines no class {shortened(name)}; check the test's name."
        return Refusal("class_not_found", sentence)
    again = [a.line for a in file.block.named.get(name, [])]
    if len(named) > 1 or again:
        lines = line_list(sorted([*(cls.line for cls in named), *again]))
        sentence = f"The class {shortened(name)} is defined in lines {lines}; only one may stay."
        return Refusal("ambiguous", sentence)
    return named[0]


def _literal(asked: _Test, answer: Answer, attribute: str | None) -> Literal | Refusal:
    """The number that the test reads, once nothing else can be what it reads."""
    owners = asked.lineage.owners
    related = [
        other
        for cls in asked.own.file.block.classes
        if (other := Owner(asked.own.file, cls)) != asked.own and cls.bases
        if asked.own in asked.tree.lineage(other.file, cls).owners
    ]
    for name in asked.reader.general if answer is None else (attribute,):
        again = set_again(asked.tree, owners, related, name, asked.method) if name is not None else None
        if again is not None:
            return again if answer is not None else Refusal("computed", again.sentence)
    if answer is None:
        return _not_found(asked)
    hidden = _unread_before(asked, attribute)
    if hidden is not None:
        return hidden
    if isinstance(answer, Literal):
        for path, name in answer.constants:
            home = asked.tree.file(path)
            changed = constant_set_again(home, name, asked.own.file) if home is not None else None
            if changed is not None:
                return changed
    return answer


def _unread_before(asked: _Test, attribute: str | None) -> Refusal | None:
    """A base that cannot be read, and that Python asks before the class that sets the attribute."""
    lineage = asked.lineage
    place = next((i for i, o in enumerate(lineage.owners) if attribute and o.cls.named(attribute)), 0)
    holder = lineage.owners[place]
    for owner in lineage.owners[:place]:
        for base in asked.tree.bases(owner):
            if isinstance(base, Owner) and holder in asked.tree.lineage(base.file, base.cls).owners:
                break
            if isinstance(base, str) and not _is_standard(base):
                return _unread(owner, base, attribute or "its bound")
    return None


def _unread(owner: Owner, base: str, attribute: str) -> Refusal:
    sentence = f"{owner.cls.shown} has the base {shortened(base)}, which cannot be read and may set"
    return Refusal("computed", f"{sentence} {attribute}; edit it by hand.")


def _not_found(asked: _Test) -> Refusal:
    name, unread = asked.own.cls.shown, [b for b in asked.lineage.unread if not _is_standard(b)]
    unclear = next((b for b in unread if "(" in b or b in asked.tree.unclear), None)
    if unclear is not None:
        return _unread(asked.own, unclear, asked.reader.general[0])
    for general in asked.reader.general:
        line = _bare_annotation(asked.lineage, general)
        if line is not None:
            sentence = f"{name}.{shortened(general)} has a type but no value (line {line}); give it one."
            return Refusal("bound_not_found", sentence)
    shown = ", ".join(shortened(base) for base in unread[:3])
    where = f"; its base {shown} was not found in this tree" if unread else ""
    wanted = " or ".join(asked.reader.general)
    sentence = f"{name} sets no {wanted}{where}; name its attribute in the rule pack."
    return Refusal("bound_not_found", sentence)


def _bare_annotation(lineage: Lineage, attribute: str) -> int | None:
    for owner in lineage.owners:
        for node in captured(query("(assignment type: (_)) @found"), owner.cls.body):
            bare = node.child_by_field_name("right") is None
            if bare and text(node.child_by_field_name("left")) == attribute:
                return node.start_point.row + 1
    return None


def _is_standard(base: str) -> bool:
    return base in ("object", "TestCase") or base.partition(".")[0] in sys.stdlib_module_names


def _site(asked: _Test, literal: Literal, attribute: str | None, exact_gate: float) -> Site | Refusal:
    tree, own = asked.tree, asked.own
    search = Search(tree, own.file)
    tests = governed(search, tree, asked.reader, literal, own, asked.method, asked.entries)
    data, start = literal.file.data, literal.node.start_byte
    line_start = data.rfind(b"\n", 0, start) + 1
    cls = literal.place.cls
    site = Site(
        path=literal.file.path,
        cls=cls.name if cls is not None else None,
        attribute=literal.place.name,
        line=literal.line,
        column=len(data[line_start:start].decode("utf-8", "replace").removeprefix("\ufeff")) + 1,
        start=start,
        end=literal.node.end_byte,
        spelling=text(literal.node),
        value=literal.value,
        scope=scope_of(literal, own),
        governs=tuple(test for group in tests for test in group.tests),
        siblings=siblings_of(search, tree, literal, own, attribute),
    )
    return _judged(asked, site, literal, attribute, exact_gate, search, tests)


def _judged(
    asked: _Test,
    site: Site,
    literal: Literal,
    attribute: str | None,
    exact_gate: float,
    search: Search,
    tests: list[Governed],
) -> Site:
    tree, own = asked.tree, asked.own
    refusal, override = None, None
    if site.value <= exact_gate:
        sentence = (
            f"{shortened(site.name)} is {site.spelling}: an exact gate, where any difference is a bug; "
            "it is never loosened."
        )
        refusal = Refusal("exact_gate", sentence)
    elif cache_is_off(tree, asked.lineage.owners, asked.method):
        refusal = Refusal(
            "vacuous",
            f"{own.cls.shown} runs with --disable-radix-cache, so nothing is compared and its bound says "
            "nothing.",
        )
    else:
        override = override_of(literal, own, attribute)
        shared = Asked(search, tree, asked.reader, literal, own, tests, asked.entries)
        refusal = refusal_of(shared, attribute, site, override)
        override = override if refusal is not None else None
    return replace(site, complete=tree.complete, refusal=refusal, override=override)
