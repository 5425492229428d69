"""Finds the site of a bound: the one literal that sets what the failing test compares with. `locate`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.source.governs import Governed, Search, governed
from bot.source.lineage import Lineage, ListFiles, Owner, ReadFile, SourceFile, SourceTree
from bot.source.objections import cache_is_off, constant_set_again, set_again
from bot.source.reads import Reader
from bot.source.scope import override_of, refusal_of, scope_of
from bot.source.sentences import line_list, shortened
from bot.source.siblings import siblings_of
from bot.source.site import Site
from bot.source.tree import MAX_BYTES, ClassDef, captured, descendants, query, text
from bot.source.values import Answer, Literal, Values
from bot.verdict.answer import Refusal

ATTRIBUTES: Final = ("kl_threshold", "kl_div_thres")
ENTRIES: Final = ("kl_div",)
EXACT_GATE: Final = 1e-6

_TEST: Final = re.compile(r"(?:.*?::)?([^\W\d]\w*)(?:(?:\.|::)([^\W\d]\w*))?", re.DOTALL)


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
    named = _TEST.fullmatch(test)
    if named is None:
        return Refusal("bad_test", f"'{shortened(test)}' is no test name; write Class.method.")
    tree = SourceTree(read_file, list_files)
    file = _parsed(tree, path)
    if isinstance(file, Refusal):
        return file
    cls = _the_class(file, named[1])
    if isinstance(cls, Refusal):
        return cls
    lineage = tree.lineage(file, cls)
    asked = _Test(tree, Reader(attributes), Owner(file, cls), lineage, named[2], tuple(entries))
    reading = asked.reader.read(Values(tree, lineage.owners, entries), named[2])
    answer, attribute = reading.answer, reading.attribute
    if isinstance(answer, Literal) and attribute is None and answer.place.kind == "class":
        attribute = answer.place.name
    literal = _literal(asked, answer, attribute)
    return literal if isinstance(literal, Refusal) else _site(asked, literal, attribute, exact_gate)


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
    if len(named) > 1:
        lines = line_list([cls.line for cls in named])
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
        again = set_again(owners, related, name) if name is not None else None
        if again is not None:
            return again if answer is not None else Refusal("computed", again.sentence)
    if answer is None:
        return _not_found(asked)
    if isinstance(answer, Literal):
        for path, name in answer.constants:
            home = asked.tree.file(path)
            changed = constant_set_again(home, name, asked.own.file) if home is not None else None
            if changed is not None:
                return changed
    return answer


def _not_found(asked: _Test) -> Refusal:
    name, unread = asked.own.cls.shown, [b for b in asked.lineage.unread if not _is_standard(b)]
    shown = ", ".join(shortened(base) for base in unread[:3])
    where = f"; its base {shown} was not found in this tree" if unread else ""
    wanted = " or ".join(asked.reader.general)
    sentence = f"{name} sets no {wanted}{where}; name its attribute in the rule pack."
    return Refusal("bound_not_found", sentence)


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
    return _judged(asked, site, literal, attribute, exact_gate, tests)


def _judged(
    asked: _Test,
    site: Site,
    literal: Literal,
    attribute: str | None,
    exact_gate: float,
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
        refusal = refusal_of(tree, literal, own, attribute, site, tests, override)
        override = override if refusal is not None else None
    return replace(site, complete=tree.complete, refusal=refusal, override=override)
