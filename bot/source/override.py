"""A bound of the failing class's own, where the one it has is inherited: a comment line and a statement."""

from __future__ import annotations

from typing import Final

from tree_sitter import Node

from bot.source.layout import indent, is_continued, line_end, line_start, next_line, starts_line
from bot.source.site import Override
from bot.source.tree import statements, text
from bot.verdict.answer import Refusal

DEFINITIONS: Final = ("function_definition", "class_definition", "decorated_definition")


def add_override(data: bytes, root: Node, override: Override, comment: str, spelling: str) -> bytes | Refusal:
    """The file with `comment` and `attribute = spelling` in the class's body: after its docstring, beside its
    other attributes, before its first method. A blank line is added where the house has one.

    Refusal codes: stale_site, unsupported_layout.
    """
    cls = class_at(root, override.cls, override.line)
    block = cls.child_by_field_name("body") if cls is not None else None
    name = f"{override.cls}.{override.attribute}"
    if cls is None or block is None or any(target(own) == override.attribute for own in statements(block)):
        return Refusal("stale_site", f"{name} is not as it was found; locate it again.")
    body = body_statements(block)
    attributes = _leading(body)
    anchor = attributes[-1] if attributes else _colon(cls)
    start = next_line(data, anchor.end_byte)
    if not body or not _stands_below(data, root, body[0]) or is_continued(data, root, start):
        return Refusal(
            "unsupported_layout",
            f"The body of {override.cls} in line {override.line} does not start a line of its own; "
            f"write {override.attribute} = {spelling} there by hand.",
        )
    before, after = blank_lines(data, cls)
    annotation = ": float" if _is_annotated(attributes) else ""
    blanks, end = indent(data, body[0].start_byte), line_end(data, line_start(data, anchor.end_byte))
    statement = f"{override.attribute}{annotation} = {spelling}"
    lines = [blanks + comment.encode("ascii"), blanks + statement.encode()]
    lines = [b""] * before + lines + [b""] * after
    if start == len(data) and not data.endswith(b"\n"):
        return data + b"".join(end + line for line in lines)
    return data[:start] + b"".join(line + end for line in lines) + data[start:]


def class_at(root: Node, name: str, line: int) -> Node | None:
    """The class of this name whose header starts in this line, 1-based; it stands in no function and no other
    class."""
    stack = [root]
    while stack:
        for node in stack.pop().named_children:
            if node.type == "class_definition":
                named = text(node.child_by_field_name("name"))
                if (named, node.start_point.row + 1) == (name, line):
                    return node
            elif node.type not in ("function_definition", "expression_statement"):
                stack.append(node)
    return None


def body_statements(body: Node) -> list[Node]:
    return [child for child in body.named_children if child.type != "comment"]


def target(statement: Node) -> str:
    """The name that the statement sets, if it does nothing else."""
    inner = statement.named_children[0] if statement.named_child_count == 1 else statement
    return text(inner.child_by_field_name("left")) if inner.type == "assignment" else ""


def _stands_below(data: bytes, root: Node, first: Node) -> bool:
    """Whether the body's first statement is in a line below the header."""
    start = first.start_byte
    return starts_line(data, start) and not is_continued(data, root, line_start(data, start))


def _colon(cls: Node) -> Node:
    return next(child for child in reversed(cls.children) if child.type == ":")


def _leading(body: list[Node]) -> list[Node]:
    """The docstring, plain attributes and fillers (`pass`, `...`) at the top of the body, and whatever shares
    the last one's line."""
    found: list[Node] = []
    for statement in body:
        shared = bool(found) and statement.start_point.row == found[-1].end_point.row
        if not shared and not _is_attribute(statement) and not (not found and _is_string(statement)):
            break
        found.append(statement)
    return found


def _is_string(statement: Node) -> bool:
    kinds = [child.type for child in statement.named_children]
    return statement.type == "expression_statement" and kinds in (["string"], ["concatenated_string"])


def _is_attribute(statement: Node) -> bool:
    if statement.type == "pass_statement":
        return True
    if statement.type != "expression_statement" or statement.named_child_count != 1:
        return False
    inner = statement.named_children[0]
    left = inner.child_by_field_name("left")
    return inner.type == "ellipsis" or (
        inner.type == "assignment" and left is not None and left.type == "identifier"
    )


def _is_annotated(attributes: list[Node]) -> bool:
    """Whether all the attributes that are set there carry a type."""
    inner = [child for statement in attributes for child in statement.named_children]
    is_set = [node for node in inner if node.child_by_field_name("right") is not None]
    return bool(is_set) and all(node.child_by_field_name("type") is not None for node in is_set)


def blank_lines(data: bytes, cls: Node) -> tuple[int, int]:
    """How many blank lines go before and after the new statement, each 0 or 1.

    Beside other attributes none. After a docstring or the class header one, where the house has one there or
    nothing else follows; before a method that follows the header one.
    """
    block = cls.child_by_field_name("body")
    body = body_statements(block) if block is not None else []
    attributes = _leading(body)
    if len(attributes) > 1 or (attributes and not _is_string(attributes[0])):
        return 0, 0
    start = next_line(data, (attributes[0] if attributes else _colon(cls)).end_byte)
    blank = start < len(data) and not data[start : next_line(data, start)].strip()
    if attributes:
        return int(blank or len(body) == 1), 0
    return int(blank), int(not blank and bool(body) and body[0].type in DEFINITIONS)
