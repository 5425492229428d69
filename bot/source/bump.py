"""Moves a bound: one number and one comment line, spliced into the bytes and proved afterwards."""

from __future__ import annotations

import difflib
import math
import re
from decimal import Decimal
from typing import Final

from bot.source.proof import EditError, prove
from bot.source.site import Site
from bot.verdict.answer import Refusal

MAX_COMMENT: Final = 160

_NO_NEWLINE: Final = "\\ No newline at end of file"
_CODING: Final = re.compile(r"(coding)[:=]")


def bump(data: bytes, site: Site, new: float, comment: str) -> bytes | Refusal:
    """The file with the bound at `new` and a comment line above its statement.

    Refusal codes: stale_site, not_finite, equal, not_looser, no_comment, unsupported_layout. Raises EditError
    if the result fails its proof, which is a bug of ours.
    """
    refusal = _objection(data, site, new)
    if refusal is not None:
        return refusal
    line = comment_line(comment)
    if line is None:
        return Refusal("no_comment", "A bound is not moved without a comment that says why; give one.")
    start = data.rfind(b"\n", 0, site.start) + 1
    statement = data[start : site.start]
    indent = statement[: len(statement) - len(statement.lstrip(b" \t"))]
    if not _stands_alone(data, start, statement, site):
        return Refusal(
            "unsupported_layout",
            f"{site.cls}.{site.attribute} in line {site.line} does not start a line of its own; "
            "edit it by hand.",
        )
    spelling = spell(new, site.spelling)
    inserted = indent + line.encode("ascii") + _line_end(data, start, site.end)
    edited = data[:start] + inserted + statement + spelling.encode("ascii") + data[site.end :]
    prove(data, edited, site, new)
    return edited


def _objection(data: bytes, site: Site, new: float) -> Refusal | None:
    name = f"{site.cls}.{site.attribute}"
    if data[site.start : site.end] != site.spelling.encode():
        return Refusal("stale_site", f"{name} no longer stands where it was found; locate it again.")
    if not math.isfinite(new):
        return Refusal("not_finite", f"{new} is no bound; give a finite number.")
    if new == site.value:
        return Refusal("equal", f"{name} is {site.spelling} already; nothing to do.")
    if new < site.value:
        return Refusal("not_looser", f"{new} is below {name} = {site.spelling}; give a greater one.")
    return None


def _stands_alone(data: bytes, start: int, statement: bytes, site: Site) -> bool:
    """The statement begins its line, and the line before does not run into it."""
    before = data[:start].rstrip(b"\r\n") if start else b""
    own = statement.lstrip(b" \t").startswith(site.attribute.encode())
    return start > 0 and own and not before.endswith(b"\\")


def comment_line(comment: str) -> str | None:
    """`comment` as one ASCII source comment; None if nothing is left of it. A comment near the top of a file
    may not read as a declaration of its encoding."""
    words = " ".join(comment.split())
    plain = "".join(c if c.isprintable() else " " for c in words).encode("ascii", "replace").decode()
    plain = _CODING.sub(r"\1 ", plain.lstrip("# ").strip())[:MAX_COMMENT].rstrip()
    return f"# {plain}" if plain else None


def spell(new: float, old: str) -> str:
    """`new` written as the house writes: 0.003 → 0.005, 4e-3 → 5e-3, .01 → .02."""
    value = Decimal(repr(new))
    mantissa, exponent_sign, exponent = old.partition("e" if "e" in old else "E")
    if exponent_sign:
        scaled = value.scaleb(-int(exponent))
        if 1 <= scaled < 10:
            return f"{_plain(scaled)}{exponent_sign}{exponent}"
        shift = value.adjusted()
        return f"{_plain(value.scaleb(-shift))}{exponent_sign}{shift}"
    spelled = _plain(value)
    if mantissa.startswith("."):
        return spelled.removeprefix("0")
    return spelled if "." in spelled or "." not in mantissa else f"{spelled}.0"


def _plain(value: Decimal) -> str:
    spelled = format(value, "f")
    return spelled.rstrip("0").rstrip(".") if "." in spelled else spelled


def _line_end(data: bytes, start: int, end: int) -> bytes:
    """As the statement's own line ends; as the line before it does where the file ends without one."""
    stop = data.find(b"\n", end)
    stop = stop if stop >= 0 else start - 1
    return b"\r\n" if data[stop - 1 : stop] == b"\r" else b"\n"


def diff(old: bytes, new: bytes, path: str) -> str:
    """Unified diff as git prints it; empty if nothing changed. Bytes that are not UTF-8 show as U+FFFD."""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines)


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


__all__ = ["EditError", "bump", "comment_line", "diff", "spell"]
