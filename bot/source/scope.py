"""How far a literal reaches, why it must then not be changed, and where a bound of one's own goes instead."""

from __future__ import annotations

from tree_sitter import Node

from bot.source.governs import is_test_path
from bot.source.lineage import Owner
from bot.source.mentions import Asked, other_mentions
from bot.source.sentences import of_file, shortened
from bot.source.site import Override, Site
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


def refusal_of(asked: Asked, attribute: str | None, site: Site, override: Override | None) -> Refusal | None:
    """Why the literal is not the failing class's alone to change."""
    literal, own = asked.literal, asked.own
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
    others = _other_users(asked)
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        sentence = f"{shortened(site.name)} {where} is also read by {shown}"
        return Refusal("shared", f"{sentence}; {instead}.")
    return None


def _other_users(asked: Asked) -> list[str]:
    """Other test classes under the literal, and other places whose text names it."""
    literal, own = asked.literal, asked.own
    owners = [group.owner for group in asked.tests if group.owner != own]
    if literal.place.cls is own.cls and literal.place.kind == "class":
        owners = [o for o in owners if own not in asked.tree.lineage(o.file, o.cls).owners]
    return list(dict.fromkeys([*(_shown(owner, own) for owner in owners), *other_mentions(asked)]))


def _shown(owner: Owner, own: Owner) -> str:
    name = shortened(owner.cls.name)
    return name if owner.file.path == own.file.path else f"{name} in {shortened(owner.file.path)}"
