"""Bounds in shell and YAML files, where a rule pack says what they look like: found, moved and proved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bot.source.grounds import Grounds, grounds, yaml_is_shared, yaml_scalars
from bot.source.layout import has_lone_return, indent, line_end, line_start, next_line
from bot.source.locate import EXACT_GATE
from bot.source.proof import EditError, added_line
from bot.source.sentences import line_list, shortened
from bot.source.spelling import comment_line, spell, value_objection
from bot.source.tree import MAX_BYTES
from bot.verdict.answer import Refusal


class Span(Protocol):
    """One bound in a text: `text[start:end] == spelling`; `line` and `column` count from 1, in characters."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def spelling(self) -> str: ...
    @property
    def value(self) -> float: ...


_REMARK: Final = re.compile(r"(?:^|[\s'\"])#")

FindBounds = Callable[[str], Sequence[Span]]
"""Every bound in the text of the file, in order, by a rule pack: Pack.bound_sites of the path."""


@dataclass(frozen=True, slots=True)
class LineSite:
    """As bot.source.site.Site: `line` and `column` 1-based, in characters; `start` and `end` in bytes."""

    path: str
    line: int
    column: int
    start: int
    end: int
    spelling: str
    value: float

    def as_dict(self) -> dict[str, object]:
        """The JSON of `kl-triage locate`. Which tests such a bound governs is not known."""
        return {
            "path": self.path,
            "class": None,
            "attribute": None,
            "line": self.line,
            "column": self.column,
            "spelling": self.spelling,
            "value": self.value,
            "scope": "line",
            "governs": [],
            "complete": False,
            "siblings": [],
            "override": None,
        }


@dataclass(frozen=True, slots=True)
class LineEdit:
    """`commented`: whether the comment line was put; above some lines there is no place for one."""

    data: bytes
    commented: bool


def locate_line(
    path: str, data: bytes, find: FindBounds, line: int | None = None, exact_gate: float = EXACT_GATE
) -> LineSite | Refusal:
    """The one bound of the file, or the one in `line` (1-based). Bounds in comments are none.

    Refusal codes: does_not_parse, bound_not_found, ambiguous, exact_gate, shared.
    """
    name = shortened(path)
    text = _text(data)
    if text is None:
        return Refusal(
            "does_not_parse", f"'{name}' is not UTF-8 or larger than {MAX_BYTES >> 20} MiB; edit it by hand."
        )
    found = _bounds(text, grounds(path, text), find)
    wanted = found if line is None else [span for span in found if span.line == line]
    lines = line_list(sorted({span.line for span in found}))
    if not found:
        return Refusal("bound_not_found", f"'{name}' holds no bound of this rule pack; name its form there.")
    if not wanted:
        return Refusal("bound_not_found", f"Line {line} of '{name}' holds no bound; lines {lines} do.")
    if len(wanted) > 1 and line is None:
        return Refusal("ambiguous", f"'{name}' holds bounds in lines {lines}; say which line is meant.")
    if len(wanted) > 1:
        return Refusal("ambiguous", f"Line {line} of '{name}' holds {len(wanted)} bounds; edit it by hand.")
    span = wanted[0]
    refusal = _exact(f"line {span.line} of '{name}'", span.value, exact_gate)
    if refusal is None and yaml_is_shared(path, text, span.start):
        sentence = (
            f"The bound in line {span.line} of '{name}' is used again by a YAML alias; edit it by hand."
        )
        refusal = Refusal("shared", sentence)
    if refusal is not None:
        return refusal
    start = len(text[: span.start].encode())
    return LineSite(
        path=path,
        line=span.line,
        column=span.column,
        start=start,
        end=start + len(span.spelling.encode()),
        spelling=span.spelling,
        value=span.value,
    )


def bump_line(
    data: bytes,
    site: LineSite,
    new: float,
    comment: str,
    find: FindBounds,
    exact_gate: float = EXACT_GATE,
) -> LineEdit | Refusal:
    """The file with the bound at `new`, and a comment line above where the file takes one there: not in a
    continued command, a quote, a here-document or a scalar of several lines.

    Refusal codes: stale_site, exact_gate, not_finite, equal, not_looser, too_loose, no_comment,
    unsupported_layout. Raises EditError if the result fails its proof, which is a bug of ours.
    """
    text = _text(data)
    name = f"The bound in line {site.line} of '{shortened(site.path)}'"
    if text is None or data[site.start : site.end] != site.spelling.encode():
        return Refusal("stale_site", f"{name} no longer stands where it was found; locate it again.")
    if has_lone_return(data):
        return Refusal("unsupported_layout", f"{name} stands among bare carriage returns; edit it by hand.")
    refusal = _exact(f"line {site.line} of '{shortened(site.path)}'", site.value, exact_gate)
    refusal = refusal or value_objection(name, site.spelling, site.value, new)
    if refusal is not None:
        return refusal
    line = comment_line(comment)
    if line is None:
        return Refusal("no_comment", "A bound is not moved without a comment that says why; give one.")
    start = line_start(data, site.start)
    commented = grounds(site.path, text).takes_comment(len(data[:start].decode()))
    added = b""
    if commented:
        words = data[start : next_line(data, start)]
        first = start + len(words) - len(words.lstrip(b" \t\f"))
        added = indent(data, first) + line.encode("ascii") + line_end(data, start)
    spelling = spell(new, site.spelling).encode("ascii")
    edited = data[:start] + added + data[start : site.start] + spelling + data[site.end :]
    prove_line(data, edited, site, new, find, commented=commented)
    return LineEdit(edited, commented)


def prove_line(
    old: bytes, new: bytes, site: LineSite, value: float, find: FindBounds, *, commented: bool
) -> None:
    """Raises EditError unless `new` is `old` with the one number at `value` and, where `commented`, a comment
    line directly above, and unless the pack finds the same bounds in both but for that one."""
    spelling = spell(value, site.spelling)
    moved = 0
    if commented:
        first, stop = added_line(old, new, site.start, site.end, spelling)
        moved = stop - first
        if stop != line_start(new, site.start + moved):
            raise EditError("the comment does not stand above the bound")
    elif new != old[: site.start] + spelling.encode() + old[site.end :]:
        raise EditError("something else than the number changed")
    if float(spelling) != value:
        raise EditError(f"the bound became {spelling} instead of {value}")
    text, after = old.decode(), new.decode()
    ground = grounds(site.path, after)
    if commented:
        sign = len(new[: new.index(b"#", first)].decode())
        if not ground.is_comment(sign) or not ground.takes_comment(len(new[:first].decode())):
            raise EditError("the added line is no comment")
    _prove_bounds(_bounds(text, grounds(site.path, text), find), _bounds(after, ground, find), site, value)
    _prove_scalars(yaml_scalars(site.path, text), yaml_scalars(site.path, after))


def _prove_bounds(before: Sequence[Span], after: Sequence[Span], site: LineSite, value: float) -> None:
    if len(before) != len(after):
        raise EditError(f"the pack finds {len(after)} bounds instead of {len(before)}")
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a.spelling != b.spelling]
    if len(changed) != 1 or changed[0][0].line != site.line or changed[0][1].value != value:
        raise EditError("the pack does not find the new bound where the old one was")


def _prove_scalars(before: list[str] | None, after: list[str] | None) -> None:
    """A YAML file keeps its scalars but for one."""
    if before is None:
        return
    if after is None or len(before) != len(after):
        raise EditError("the edited file is another YAML document")
    if sum(a != b for a, b in zip(before, after, strict=True)) != 1:
        raise EditError("the scalars of the YAML document changed otherwise than in one number")


def _exact(where: str, value: float, exact_gate: float) -> Refusal | None:
    if value > exact_gate:
        return None
    sentence = f"The bound in {where} is {value:g}: it demands equality, so any difference is a bug."
    return Refusal("exact_gate", sentence)


def _bounds(text: str, ground: Grounds, find: FindBounds) -> list[Span]:
    return [span for span in find(text) if not _is_remark(text, ground, span.start)]


def _is_remark(text: str, ground: Grounds, offset: int) -> bool:
    """Whether it stands in a comment, or behind a # in a quote, where it is text or a comment of the text."""
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return ground.is_comment(offset) or _REMARK.search(before) is not None


def _text(data: bytes) -> str | None:
    if len(data) > MAX_BYTES:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
