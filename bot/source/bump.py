"""Moves a bound: one number and one comment line, or a bound of the failing class's own; spliced into the
bytes and proved afterwards."""

from __future__ import annotations

import difflib
from typing import Final

from tree_sitter import Node

from bot.source.layout import (
    has_lone_return,
    indent,
    is_continued,
    line_end,
    line_start,
    path_to,
    starts_line,
)
from bot.source.override import add_override
from bot.source.proof import EditError, Relocate, prove, prove_override
from bot.source.site import Site
from bot.source.spelling import comment_line, spell, value_objection
from bot.source.tree import MAX_BYTES, parse
from bot.verdict.answer import Refusal

_NO_NEWLINE: Final = "\\ No newline at end of file"


def bump(
    data: bytes, site: Site, new: float, comment: str, relocate: Relocate | None = None
) -> bytes | Refusal:
    """The file with the bound at `new` and a comment line above the statement, or the entry, that holds it.

    Where the site has an override, `data` is the file `site.override.path`, and the class gets a statement
    of its own. `relocate` says which bound the failing test has in an edited text; it is asked as part of the
    proof.

    Refusal codes: that of the site, stale_site, not_finite, equal, not_looser, too_loose, no_comment,
    does_not_parse, unsupported_layout. Raises EditError if the result fails its proof, which is a
    bug of ours.
    """
    refusal = _objection(data, site, new)
    if refusal is not None:
        return refusal
    line = comment_line(comment)
    if line is None:
        return Refusal("no_comment", "A bound is not moved without a comment that says why; give one.")
    root = parse(data).root_node
    if root.has_error:
        return Refusal("does_not_parse", f"'{site.path}' does not parse as Python; fix it first.")
    spelling = spell(new, site.spelling)
    if site.override is not None:
        added = add_override(data, root, site.override, line, spelling)
        if not isinstance(added, Refusal):
            prove_override(data, added, site.override, spelling, new, relocate)
        return added
    edited = _moved(data, root, site, line, spelling)
    if not isinstance(edited, Refusal):
        prove(data, edited, site, new, relocate)
    return edited


def _objection(data: bytes, site: Site, new: float) -> Refusal | None:
    if site.override is None:
        if site.refusal is not None:
            return site.refusal
        if data[site.start : site.end] != site.spelling.encode():
            return Refusal("stale_site", f"{site.name} no longer stands where it was found; locate it again.")
    if len(data) > MAX_BYTES:
        return Refusal(
            "unsupported_layout", f"The file is larger than {MAX_BYTES >> 20} MiB; edit it by hand."
        )
    if has_lone_return(data):
        return Refusal(
            "unsupported_layout", "The file ends lines with a bare carriage return; edit it by hand."
        )
    return value_objection(site.name, site.spelling, site.value, new)


def _moved(data: bytes, root: Node, site: Site, comment: str, spelling: str) -> bytes | Refusal:
    path = path_to(root, site.start)
    number = path[-1]
    if number.type not in ("float", "integer") or (number.start_byte, number.end_byte) != (
        site.start,
        site.end,
    ):
        return Refusal("stale_site", f"{site.name} no longer stands where it was found; locate it again.")
    anchor = _anchor(data, path)
    if anchor is None:
        return Refusal(
            "unsupported_layout",
            f"The statement of {site.name} in line {site.line} does not start a line of its own; "
            "edit it by hand.",
        )
    start = line_start(data, anchor.start_byte)
    added = indent(data, anchor.start_byte) + comment.encode("ascii") + line_end(data, start)
    return data[:start] + added + data[start : site.start] + spelling.encode("ascii") + data[site.end :]


def _anchor(data: bytes, path: list[Node]) -> Node | None:
    """What the comment goes above: the innermost entry of a dict that starts a line of its own, else the
    whole statement; None where neither does, and inside an f-string."""
    statement = max(index for index, node in enumerate(path) if node.type in ("module", "block")) + 1
    below = path[statement:]
    if any(node.type == "interpolation" for node in below):
        return None
    entries = [node for node in reversed(below) if node.type == "pair"]
    return next((node for node in [*entries, below[0]] if _may_follow(data, path[0], node)), None)


def _may_follow(data: bytes, root: Node, node: Node) -> bool:
    """Whether a comment line may be put above the node."""
    start = node.start_byte
    return starts_line(data, start) and not is_continued(data, root, line_start(data, start))


def diff(old: bytes, new: bytes, path: str) -> str:
    """Unified diff as git prints it; empty if nothing changed. Bytes that are not UTF-8 show as U+FFFD."""
    names = (_diff_name(f"a/{path}"), _diff_name(f"b/{path}"))
    lines = difflib.unified_diff(_lines(old), _lines(new), *names)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines)


def _diff_name(name: str) -> str:
    """Quoted as git quotes it where it holds a quote, a backslash or what is not printable."""
    if name.isprintable() and not set(name) & {'"', "\\"}:
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    parts = (c if c.isprintable() else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in escaped)
    return f'"{"".join(parts)}"'


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


__all__ = ["EditError", "bump", "comment_line", "diff", "spell"]
