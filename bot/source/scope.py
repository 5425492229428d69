"""How far a literal reaches, why it must then not be changed, and where a bound of one's own goes instead."""

from __future__ import annotations

from tree_sitter import Node

from bot.source.governs import Governed, is_test_path
from bot.source.lineage import Owner, SourceFile, SourceTree
from bot.source.sentences import of_file, shortened
from bot.source.site import Override, Site
from bot.source.tree import attributes_below, captured, query, text
from bot.source.values import Literal
from bot.verdict.answer import Refusal


def scope_of(literal: Literal, own: Owner) -> str:
    place = literal.place
    if literal.file.path != own.file.path:
        return "inherited from another test file" if is_test_path(literal.file.path) else "kit default"
    if place.kind == "entry":
        return "dict entry"
    if place.kind == "constant":
        return "module constant"
    if place.cls is not None and place.cls is not own.cls:
        return "inherited in file"
    return place.kind


def override_of(literal: Literal, own: Owner, attribute: str | None) -> Override | None:
    """The failing class's own statement, where it has none and reads its bound from an attribute."""
    if attribute is None or own.cls.named(attribute):
        return None
    body = own.cls.body
    first = next((s for s in body.named_children if s.type != "comment"), None)
    if first is None or first.start_point.row == own.cls.node.start_point.row:
        return None
    rest = [s for s in body.named_children if s.start_byte > first.start_byte]
    after = first if _is_docstring(first) else None
    data = own.file.data
    below = after is not None and rest and rest[0].start_point.row > first.end_point.row
    anchor = rest[0] if below else first
    line_start = data.rfind(b"\n", 0, anchor.start_byte) + 1
    line_end = data.find(b"\n", own.cls.start)
    return Override(
        path=own.file.path,
        cls=own.cls.name,
        attribute=attribute,
        line=own.cls.line,
        start=line_start,
        indent=data[line_start : anchor.start_byte].decode("utf-8", "replace"),
        line_end="\r\n" if data[line_end - 1 : line_end] == b"\r" else "\n",
    )


def _is_docstring(statement: Node) -> bool:
    return statement.type == "expression_statement" and statement.named_children[0].type == "string"


def refusal_of(
    tree: SourceTree,
    literal: Literal,
    own: Owner,
    attribute: str | None,
    site: Site,
    tests: list[Governed],
    override: Override | None,
) -> Refusal | None:
    """Why the literal is not the failing class's alone to change."""
    instead = (
        f"give {own.cls.shown} a bound of its own: {override.attribute} = …"
        if override is not None
        else "edit it by hand, for all of them"
    )
    holder = literal.place.cls.name if literal.place.cls is not None else literal.place.name
    where = f"(line {literal.line}{of_file(literal.file.path, own.file.path)})"
    taken = f"{own.cls.shown} takes {attribute or 'its bound'} from {shortened(holder)} {where}"
    if site.scope == "kit default":
        sentence = f"{taken}, a default that other tests share; {instead}."
        return Refusal("kit_default", sentence)
    if site.scope.startswith("inherited"):
        sentence = f"{taken}, and changing it there would move other tests; {instead}."
        return Refusal("inherited", sentence)
    others = _other_users(tree, literal, own, tests)
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        sentence = f"{shortened(site.name)} {where} is also read by {shown}"
        return Refusal("shared", f"{sentence}; {instead}.")
    return None


def _other_users(tree: SourceTree, literal: Literal, own: Owner, tests: list[Governed]) -> list[str]:
    """Other test classes under the literal, and other places whose text names it."""
    if literal.place.cls is own.cls and literal.place.kind == "class":
        readers = [g.owner for g in tests if own not in tree.lineage(g.owner.file, g.owner.cls).owners]
        return [_shown(owner, own) for owner in readers] + _outside_uses(literal, own)
    others = [g.owner for g in tests if g.owner != own]
    if literal.place.kind == "method" or not literal.constants:
        return [_shown(o, own) for o in others]
    found = [_shown(owner, own) for owner in others]
    path, name = literal.constants[0]
    if literal.place.kind == "constant":
        home = tree.file(path)
        found += _mentions(home, name, own, literal) if home is not None else []
    return list(dict.fromkeys(found))


def _shown(owner: Owner, own: Owner) -> str:
    name = shortened(owner.cls.name)
    return name if owner.file.path == own.file.path else f"{name} in {shortened(owner.file.path)}"


def _outside_uses(literal: Literal, own: Owner) -> list[str]:
    """`TestA.kl_threshold` in the file, outside the class."""
    cls, name = own.cls, literal.place.name
    if f"{cls.name}.{name}".encode() not in own.file.data:
        return []
    uses = (
        node
        for node in attributes_below(own.file.root)
        if text(node.child_by_field_name("attribute")) == name
        and text(node.child_by_field_name("object")) == cls.name
        and not cls.start <= node.start_byte < cls.node.end_byte
    )
    return [f"line {node.start_point.row + 1}" for node in uses]


def _mentions(home: SourceFile, name: str, own: Owner, literal: Literal) -> list[str]:
    """Statements of the file that name the constant, besides its own, the failing class and functions."""
    passed = {constant for _, constant in literal.constants}
    found = []
    for use in captured(query("(identifier) @found"), home.root):
        if text(use) != name or use.start_byte == literal.statement.start_byte:
            continue
        top = use
        while top.parent is not None and top.parent.type != "module":
            top = top.parent
        inner = top.child_by_field_name("definition") or top
        defined = text(inner.child_by_field_name("name"))
        if inner.type == "function_definition" or top.start_byte == literal.statement.start_byte:
            continue
        if inner.type == "class_definition":
            if inner.start_byte != own.cls.start:
                found.append(shortened(defined))
        elif top.type in ("import_from_statement", "import_statement"):
            continue
        elif not any(assigned in passed for assigned in _assigned_names(top)):
            found.append(f"line {use.start_point.row + 1}")
    return list(dict.fromkeys(found))


def _assigned_names(statement: Node) -> list[str]:
    return [
        text(child.child_by_field_name("left"))
        for child in statement.named_children
        if child.type == "assignment"
    ]
