"""Lines of a file as bytes: where they start, how they are indented, how they end."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

BOM: Final = b"\xef\xbb\xbf"

_BLANKS: Final = re.compile(rb"[ \t\f]*")


def line_start(data: bytes, offset: int) -> int:
    """Offset of the first byte of the line, after a byte order mark."""
    start = data.rfind(b"\n", 0, offset) + 1
    return len(BOM) if start == 0 and data.startswith(BOM) else start


def next_line(data: bytes, offset: int) -> int:
    """Offset of the line after this one; the end of the file where there is none."""
    stop = data.find(b"\n", offset)
    return len(data) if stop < 0 else stop + 1


def line_end(data: bytes, offset: int) -> bytes:
    """How the line ends; the one before it where the file ends without a line end; else "\\n"."""
    stop = data.find(b"\n", offset)
    stop = stop if stop >= 0 else data.rfind(b"\n", 0, offset)
    return b"\r\n" if data[max(stop - 1, 0) : stop] == b"\r" else b"\n"


def starts_line(data: bytes, offset: int) -> bool:
    """Whether only blanks stand before the offset in its line."""
    return _BLANKS.fullmatch(data[line_start(data, offset) : offset]) is not None


def indent(data: bytes, offset: int) -> bytes:
    """Spaces and tabs directly before the offset; what a form feed ends is none."""
    before = data[line_start(data, offset) : offset]
    return before[len(before.rstrip(b" \t")) :]


def is_continued(data: bytes, root: Node, start: int) -> bool:
    """Whether the line before the one at `start` runs into it with a backslash that is code."""
    before = data[:start].removesuffix(b"\n").removesuffix(b"\r")
    if not before.endswith(b"\\"):
        return False
    node = root.descendant_for_byte_range(len(before) - 1, len(before))
    return node is None or node.type != "comment"


def path_to(root: Node, offset: int) -> list[Node]:
    """The nodes that hold the byte at the offset, from the root down. A node's own way up is slow."""
    cursor = root.walk()
    found = [root]
    while cursor.goto_first_child_for_byte(offset) is not None:
        node = cursor.node
        if node is None or not node.start_byte <= offset < node.end_byte:
            break
        found.append(node)
    return found


def has_lone_return(data: bytes) -> bool:
    """Carriage returns that end no line; Python and the parser disagree on them."""
    return data.count(b"\r") != data.count(b"\r\n")
