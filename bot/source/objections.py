"""What makes a literal one that must not be edited, or not be trusted to be the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from bot.source.decorators import unknown_parts
from bot.source.imports import Imports
from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.nodes import SELVES, attribute_writes, call_arguments, string_value
from bot.source.sentences import of_file, shortened
from bot.source.tree import ClassDef, attributes_below, captured, descendants, query, text
from bot.verdict.answer import Refusal

_BINDERS: Final = {"for_statement": "left", "named_expression": "name"}
_BINDING: Final = ("as_pattern_target", "delete_statement", "case_pattern")
_WRITERS: Final = (b"setattr", b"__dict__", b"patch", b"vars(", b"__getattribute__", b"exec(")
_READERS: Final = frozenset({"getattr", "hasattr"})


def set_again(
    tree: SourceTree, owners: Sequence[Owner], related: Sequence[Owner], attribute: str, method: str | None
) -> Refusal | None:
    """Something besides the class statement may give the attribute a value: a method, a decorator, setattr.

    `related`: subclasses in the test's file, whose methods may write through the class.
    """
    own = owners[0]
    name = f"{own.cls.shown}.{attribute}"
    for file, node in _bound_otherwise(owners, attribute):
        where = f"line {node.start_point.row + 1}{of_file(file.path, own.file.path)}"
        sentence = f"{shortened(name)} is bound in {where} by more than an assignment; edit it by hand."
        return Refusal("computed", sentence)
    for owner in (*owners, *related):
        if attribute.encode() in owner.file.data:
            for node in _setters(owner, attribute):
                return _set_again(node, owner.file, own.file, name)
    for file in dict.fromkeys(owner.file for owner in owners):
        for node in _written_outside(tree, file, {*owners, *related}, attribute):
            return _set_again(node, file, own.file, name)
    for owner in owners:
        for node in _dynamic(owner, own.file, attribute):
            return _set_again(node, owner.file, own.file, name)
    for file, node in unknown_parts(tree, owners, attribute, method):
        where = f"line {node.start_point.row + 1}{of_file(file.path, own.file.path)}"
        shown = shortened("".join(text(node).split()))
        sentence = f"{shown} in {where} may set {shortened(name)}, which cannot be read; edit it by hand."
        return Refusal("computed", sentence)
    return None


def _bound_otherwise(owners: Sequence[Owner], attribute: str) -> Iterator[tuple[SourceFile, Node]]:
    """A class body that binds the attribute by `def`, `import`, `for`, `with`, `:=` or `del`.

    Classes behind the first that assigns it do not matter.
    """
    for owner in owners:
        block = owner.cls.block
        if attribute in block.functions:
            yield owner.file, block.functions[attribute]
        yield from ((owner.file, c.node) for c in block.classes if c.name == attribute)
        imports = Imports(block.imports)
        if attribute in imports.bound or imports.stars:
            yield owner.file, block.imports[0]
        if attribute in text(owner.cls.body):
            for use in captured(query("(identifier) @found"), owner.cls.body):
                if text(use) == attribute and _binds_in(use, owner.cls.node):
                    yield owner.file, use
        if owner.cls.named(attribute):
            return


def _binds_in(use: Node, cls: Node) -> bool:
    """Whether the class body itself, no function in it, binds the name other than by assignment."""
    child, binds = use, False
    while child.parent is not None and child.parent != cls:
        parent = child.parent
        if parent.type in ("function_definition", "lambda", "class_definition"):
            return False
        part = _BINDERS.get(parent.type)
        binds |= parent.type in _BINDING or (part is not None and parent.child_by_field_name(part) == child)
        child = parent
    return binds


def _written_outside(
    tree: SourceTree, file: SourceFile, lineage: set[Owner], attribute: str
) -> Iterator[Node]:
    """Writes of the attribute, also by its name, that do not clearly go to a class of another lineage."""
    if attribute.encode() not in file.data:
        return
    others = [c for c in file.block.classes if Owner(file, c) not in lineage]
    for node in attribute_writes(file.root, attribute):
        holder = "".join(text(node.child_by_field_name("object")).split())
        if holder in SELVES and any(c.start <= node.start_byte < c.node.end_byte for c in others):
            continue
        found = tree.find_class(file, holder) if holder not in SELVES else None
        if found is None or found in lineage or any(o in lineage for o in tree.lineage(*_pair(found)).owners):
            yield node
    yield from _set_by_name(file.root, attribute)


def _pair(owner: Owner) -> tuple[SourceFile, ClassDef]:
    return owner.file, owner.cls


def _dynamic(owner: Owner, own: SourceFile, attribute: str) -> Iterator[Node]:
    """Attributes set under a name that is computed, or looked up in a way of the class's own."""
    hooks = (owner.cls.block.functions.get(name) for name in ("__getattribute__", "__setattr__"))
    yield from (node for node in hooks if node is not None)
    root = own.root if owner.file is own else owner.cls.node
    data = own.data if owner.file is own else text(owner.cls.node).encode()
    if b"setattr" in data:
        for call in captured(query("(call) @found"), root):
            called = text(call.child_by_field_name("function"))
            handed = call_arguments(call) if called.rpartition(".")[2] in ("setattr", "__setattr__") else []
            named = [string_value(node) for node in handed[:2]]
            if handed and all(name is None for name in named):
                yield call
    if any(word in data for word in _WRITERS):
        for string in captured(query("(string) @found"), root):
            if string_value(string) == attribute and not _is_read(string):
                yield string
        for keyword in captured(query("(keyword_argument) @found"), root):
            if text(keyword.child_by_field_name("name")) == attribute:
                yield keyword


def _is_read(string: Node) -> bool:
    call = string.parent.parent if string.parent is not None else None
    return call is not None and text(call.child_by_field_name("function")) in _READERS


def _setters(owner: Owner, attribute: str) -> Iterator[Node]:
    cls, file = owner.cls, owner.file
    yield from attribute_writes(cls.node, attribute)
    yield from _set_by_name(cls.node, attribute)
    if attribute in cls.keywords:
        yield cls.keywords[attribute]
    for other in file.classes_named(_metaclass(cls)):
        if attribute in text(other.node):
            yield cls.keywords["metaclass"]
    for decorator in cls.decorators:
        yield from _named_in(decorator, attribute)
        called = text(decorator).lstrip("@").partition("(")[0].strip()
        function = file.block.functions.get(called)
        if function is not None:
            yield from attribute_writes(function, attribute)
            yield from _set_by_name(function, attribute)


def _metaclass(cls: ClassDef) -> str:
    keyword = cls.keywords.get("metaclass")
    return text(keyword.child_by_field_name("value")) if keyword is not None else ""


def _named_in(node: Node, attribute: str) -> Iterator[Node]:
    """The attribute as a keyword or as a string, in the arguments of a decorator."""
    if attribute not in text(node):
        return
    for below in descendants(node):
        keyword = below.type == "keyword_argument" and text(below.child_by_field_name("name")) == attribute
        if keyword or (below.type == "string" and string_value(below) == attribute):
            yield below


def _set_by_name(node: Node, attribute: str) -> Iterator[Node]:
    """The attribute as a string among the arguments of a call that is no reader: setattr, patch.object."""
    if f"'{attribute}'" not in (written := text(node)) and f'"{attribute}"' not in written:
        return
    for string in captured(query("(argument_list (string) @found)"), node):
        call = string.parent.parent if string.parent is not None else None
        called = text(call.child_by_field_name("function")) if call is not None else ""
        setter = called.rpartition(".")[2] in ("setattr", "object") or called.endswith("setattr")
        if setter and called not in _READERS and string_value(string) == attribute:
            yield string


def _set_again(node: Node, file: SourceFile, own: SourceFile, name: str) -> Refusal:
    shown = text(node) if node.type == "attribute" else name
    where = f"line {node.start_point.row + 1}{of_file(file.path, own.path)}"
    sentence = f"{shortened(shown)} is set again in {where}; only one statement may set the bound."
    return Refusal("ambiguous", sentence)


def constant_set_again(file: SourceFile, name: str, own: SourceFile) -> Refusal | None:
    """A module-level name that a function rebinds, or a dictionary that is changed after it was written."""
    if file.data.count(name.encode()) < 2:
        return None
    for statement in captured(query("(global_statement) @found"), file.root):
        if name in [text(child) for child in statement.named_children]:
            return _set_again(statement, file, own, name)
    for left in captured(query("(assignment left: (subscript) @found)"), file.root):
        root = left
        while root.type == "subscript":
            root = root.child_by_field_name("value") or root.named_children[0]
        if text(root) == name:
            return _set_again(left, file, own, name)
    for use in attributes_below(file.root):
        changes = text(use.child_by_field_name("attribute")) in ("update", "setdefault", "pop", "clear")
        if changes and _root(use) == name:
            return _set_again(use, file, own, name)
    return None


def _root(node: Node) -> str:
    inner = node.child_by_field_name("object")
    while inner is not None and inner.type == "subscript":
        inner = inner.child_by_field_name("value")
    return text(inner)
