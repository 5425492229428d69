"""The printed form of a bound that was crossed. Rule packs name the forms; this package only applies them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.logs.linear import Pattern
from bot.logs.numbers import number

MAX_MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Form:
    """One way a project prints a crossed bound, searched in each line.

    `pattern` has the groups value and threshold, and may have label and model; `fails_when` is 'above' or
    'below'; `hint` is text that every match contains, so that most lines are passed over unread.
    """

    name: str
    pattern: Pattern
    fails_when: str
    hint: str


@dataclass(frozen=True, slots=True)
class Crossing:
    """A bound crossed, as one line states it."""

    rule: str
    fails_when: str
    value: float
    threshold: float | None
    label: str | None
    message: str

    @property
    def key(self) -> tuple[str, str | None]:
        """Two lines about one attempt agree on this. As text, so that nan equals nan."""
        return repr(self.value), self.label


def find_crossing(line: str, forms: Sequence[Form]) -> Crossing | None:
    """What the first form that matches the line says. A match without a number is no crossing."""
    for form in forms:
        if form.hint not in line:
            continue
        match = form.pattern.search(line)
        if match is None:
            continue
        groups = match.groupdict()
        value = number(groups.get("value") or "")
        if value is None:
            continue
        message = (match.group(0) or "").strip()[:MAX_MESSAGE]
        threshold = number(groups.get("threshold") or "")
        if threshold is not None and not math.isfinite(threshold):
            threshold = None
        return Crossing(form.name, form.fails_when, value, threshold, groups.get("label"), message)
    return None
