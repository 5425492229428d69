"""What a project prints: forms of a red test, and the parts of a measured check. Rule packs name them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.logs.linear import Match, Pattern
from bot.logs.numbers import number

MAX_MESSAGE: Final = 300
MAX_LABEL: Final = 200

_GOES_ON: Final = re.compile(r"[\w%…]|\.[\w.]|[-+]\d")
_UNIT: Final = re.compile(
    r"[-+\d.eE]* ?(?:%|percent\b|bits?\b|[mun]?s\b|µs\b|sec\b|seconds?\b|min\b|[KMGT]i?B\b|tok/s)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """One way a project prints a test that went red.

    `pattern` may have the groups value, threshold, label and model. `fails_when` is 'above' or 'below', None
    for a form without a number. Every match contains `hint` on its first line, so that most lines are passed
    over unread. The pattern is searched in `lines` (1 to 8) consecutive lines joined by newlines, without the
    margins of pytest ('E   ') and of exception groups ('  | ').
    """

    name: str
    pattern: Pattern
    fails_when: str | None
    hint: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Print:
    """One printed part of a measured check; passing and failing runs print it alike.

    `pattern` has at least one of the groups label, per_prompt, value, threshold and model. It matches from
    the start of a line (progress marks before it are skipped), and every match contains `hint`.
    """

    name: str
    pattern: Pattern
    hint: str


@dataclass(frozen=True, slots=True)
class LogForms:
    """What `scan` looks for in the logs of one project."""

    forms: tuple[Form, ...]
    prints: tuple[Print, ...] = ()

    @property
    def hints(self) -> set[str]:
        return {form.hint for form in self.forms} | {part.hint for part in self.prints}


@dataclass(frozen=True, slots=True)
class Crossing:
    """A test went red, as its lines state it. `value` is None where the form has no number."""

    rule: str
    fails_when: str | None
    value: float | None
    threshold: float | None
    label: str | None
    message: str
    lines: int = 1
    """How many lines it was read from."""

    @property
    def key(self) -> tuple[str, str | None]:
        """Two prints of one attempt agree on this. As text, so that nan equals nan."""
        return repr(self.value), self.label

    @property
    def statement(self) -> tuple[str, ...]:
        """Two lines with the same one state the same."""
        if self.value is None:
            return (self.message,)
        return repr(self.value), repr(self.threshold), str(self.label)


def find_crossing(text: str, forms: Sequence[Form]) -> Crossing | None:
    """What the first form that matches says of `text`, the line in question and those that follow it.

    A form with the group value whose match holds no whole number, or a number with a unit, is no match.
    """
    lines = text.split("\n")
    for form in forms:
        if form.hint in lines[0]:
            match = form.pattern.search("\n".join(lines[: form.lines]))
            crossing = None if match is None else _crossing(form, match)
            if crossing is not None:
                return crossing
    return None


def _crossing(form: Form, match: Match) -> Crossing | None:
    groups = match.groupdict()
    value, threshold = _whole_number(form, match, "value"), _whole_number(form, match, "threshold")
    if "value" in groups and (value is None or _has_unit(form, match)):
        return None
    if value is None or (threshold is not None and not math.isfinite(threshold)):
        threshold = None
    whole = match.group(0) or ""
    return Crossing(
        rule=form.name,
        fails_when=form.fails_when if value is not None else None,
        value=value,
        threshold=threshold,
        label=(groups.get("label") or "")[:MAX_LABEL] or None,
        message=" ".join(part.strip() for part in whole.split("\n") if part.strip())[:MAX_MESSAGE],
        lines=whole.count("\n") + 1,
    )


def _whole_number(form: Form, match: Match, group: str) -> float | None:
    """The group's number, unless it goes on around the group: a summary may cut 0.0034 to '0.00...'."""
    text = match.groupdict().get(group)
    if not text:
        return None
    before, after = _around(form, match, group)
    return None if before.isalnum() or _GOES_ON.match(after) else number(text)


def _has_unit(form: Form, match: Match) -> bool:
    """Also where the group takes the unit along: '3.0%'."""
    groups = match.groupdict()
    told = {name: groups.get(name) for name in ("value", "threshold")}
    return any(
        _UNIT.match(_around(form, match, name)[1]) or _UNIT.match(text) for name, text in told.items() if text
    )


def _around(form: Form, match: Match, group: str) -> tuple[str, str]:
    """The character before a group and the few that follow it."""
    index = form.pattern.groupindex[group]
    start, end = match.start(index), match.end(index)
    return match.string[max(0, start - 1) : start], match.string[end : end + 12]
