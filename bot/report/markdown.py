"""Untrusted text in GitHub Markdown: shown as it is, never obeyed.

Test ids, labels, hosts and messages come from logs. They are put into inline code where GitHub neither
links nor mentions, or, inside a sentence, have every active character defused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote, urlsplit

LIMIT: Final = 60_000  # GitHub refuses a comment over 65,536 characters
CHECK_LIMIT: Final = 65_535
_ZERO_WIDTH: Final = "\u200b"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~]")
_ACTIVE: Final = re.compile(r"[\\`<>&|\[\]$~*]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_AT_LINE_START: Final = re.compile(r"^(?:[#+=/:-]|\d{1,9}(?=[.)]))")
_REFERENCE: Final = re.compile(r"@|#(?=\d)|(?<=GH)-(?=\d)|:(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


def one_line(text: str, limit: int = 300) -> str:
    """Line breaks, control, direction and invisible characters become spaces; at most `limit` characters."""
    head = text[: 4 * limit]
    visible = "".join(" " if unicodedata.category(char) in _INVISIBLE else char for char in head)
    line = " ".join(visible.split())
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1].rstrip() + "…"


def code(text: str, limit: int = 200) -> str:
    """Inline code, safe in sentences and in table cells alike."""
    line = one_line(text, limit)
    if not line:
        return "(empty)"
    if "`" in line or "|" in line:
        # A backtick ends inline code and a pipe ends a table cell even inside it; entities do neither.
        return f"<code>{_PUNCTUATION.sub(_entity, line)}</code>"
    return f"`{line}`"


def prose(text: str, limit: int = 600) -> str:
    """A sentence with strangers' words in it: no markup, mention, reference, link or command survives."""
    line = _ACTIVE.sub(_entity, unmentioned(text, limit))
    return _AT_LINE_START.sub(lambda match: match[0] + "\\" if match[0].isdigit() else _entity(match), line)


def sentence(text: str, limit: int = 600) -> str:
    """`prose` with a capital letter and a full stop."""
    line = one_line(text, limit)
    ends = line.endswith((".", "!", "?", "…"))
    return prose(line[:1].upper() + line[1:], limit) + ("" if ends or not line else ".")


def unmentioned(text: str, limit: int = 300) -> str:
    """For places that are not Markdown but still mention and refer: titles, commit messages."""
    return _REFERENCE.sub(lambda match: match[0] + _ZERO_WIDTH, one_line(text, limit))


def link(label: str, url: str) -> str:
    """`label` is Markdown already. What is not a plain http address is shown as code, not linked."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        plain = False
    if not plain or len(url) > 1000 or one_line(url, 1000) != url:
        return f"{label} ({code(url)})"
    return f"[{label}]({quote(url, safe=':/?#@!$&+,;=%~')})"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def table(header: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([row(*header), "|" + "---|" * len(header), *rows])


def folded(summary: str, header: Sequence[str], rows: Sequence[str], room: int) -> str:
    """A folded table in at most `room` characters; rows left out are counted. '' where no row fits."""
    if not rows:
        return ""
    start, end = f"<details><summary>{summary}</summary>\n\n", "\n\n</details>"
    left = room - len(f"{start}{table(header, ())}\n\n\n{len(rows)} more rows{end}")
    kept = 0
    while kept < len(rows) and len(rows[kept]) + 1 <= left:
        left -= len(rows[kept]) + 1
        kept += 1
    if not kept:
        return ""
    more = len(rows) - kept
    note = f"\n\n{more} more row{'s' if more > 1 else ''}" if more else ""
    return f"{start}{table(header, rows[:kept])}{note}{end}"


def stacked(room: int, *builds: Callable[[int], str]) -> str:
    """Blocks one under another; each is built for the room that those before it left."""
    text = ""
    for build in builds:
        block = build(room - len(text) - 2)
        text = "\n\n".join(part for part in (text, block) if part)
    return text


def capped(text: str, limit: int) -> str:
    """The beginning of `text`, cut at a line; the verdict stands first, so it is what stays."""
    note = "\n\n(cut: too long)"
    if len(text) <= limit:
        return text
    return text[: limit - len(note)].rpartition("\n")[0].rstrip() + note


def short(sha: str) -> str:
    """The first seven digits of a commit, as code; anything else than a SHA as it is."""
    return code(sha[:7] if re.fullmatch(r"[0-9a-f]{7,64}", sha) else sha, 40)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
