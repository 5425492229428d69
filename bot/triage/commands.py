"""Commands in comments.

    command  = "/rerun-kl" [ " " anything ]      at the start of a line

Nothing inside fenced or indented code, inline code, quotes or HTML comments is a command. Arguments are
not understood yet; a command that carries one is answered with a sentence that says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HTML_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_COMMAND: Final = re.compile(r"/rerun-kl(?:[ \t]+(\S.*))?")


@dataclass(frozen=True, slots=True)
class RerunKl:
    """`/rerun-kl`; `argument` is what stood behind it, empty for the plain form."""

    argument: str


def parse(body: str) -> tuple[RerunKl, ...]:
    """The commands of a comment, in order. Time is linear in the length of the body."""
    found = []
    for line in _plain_lines(_HTML_COMMENT.sub("", body)):
        match = _COMMAND.fullmatch(line.replace("\u00a0", " ").rstrip())
        if match is not None:
            found.append(RerunKl((match.group(1) or "").strip()[:200]))
    return tuple(found)


def _plain_lines(body: str) -> list[str]:
    """Lines outside fenced code; an unclosed fence runs to the end, as GitHub renders it."""
    lines: list[str] = []
    fence = ""
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark.group(1)
        else:
            lines.append(line)
    return lines
