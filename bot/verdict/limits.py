"""What a policy may hold: every problem of a mapping of its fields, or the policy it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final

from bot.verdict.policy import Policy

Place = tuple[str | int, ...]
"""A field, or a field and the place of an item in its list (from 0)."""

_KINDS: Final = {field.name: str(field.type) for field in fields(Policy)}
"""Type of each field as the class spells it: float, int or tuple[float, ...]."""
FIELDS: Final = frozenset(_KINDS)
MOST: Final = 100
"""Problems told at once: a stranger's file must not cost more."""


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float
    ends: bool = True
    """Whether both ends belong to it."""

    def problem(self, value: float) -> str:
        """What is wrong with a number; empty where nothing is."""
        if not math.isfinite(value):
            return "must be finite"
        if self.low < value < self.high or (self.ends and value in (self.low, self.high)):
            return ""
        span = f"from {self.low:g} to" if self.ends else f"over {self.low:g} and under"
        return f"must be {span} {self.high:g}, not {value:g}"


_COUNT: Final = Range(1, 10_000)
_SIZE: Final = Range(0, 1e12)
_KNOWN: Final = {
    **dict.fromkeys(("alpha", "confidence", "power"), Range(0, 1, ends=False)),
    **dict.fromkeys(("share", "shares", "exceedance", "tail"), Range(0, 1)),
    **dict.fromkeys(("shift", "ratio", "least", "doubt", "factor", "cap", "margin"), Range(1, 1_000)),
    **dict.fromkeys(("odds", "excluded"), Range(0, 1e12, ends=False)),
    **dict.fromkeys(("launches", "repeats", "batches"), Range(1, 100)),
    "minutes": Range(0, 100_000, ends=False),
    "sd": Range(0, 10, ends=False),
}


def range_of(field: str) -> Range:
    """By the first word of its name that says what it is; else a count or a size."""
    other = _COUNT if _KINDS.get(field) == "int" else _SIZE
    return next((_KNOWN[word] for word in field.split("_") if word in _KNOWN), other)


def problems(mapping: Mapping[str, object]) -> list[tuple[Place, str]]:
    """The fields that are unknown, of a wrong type, not finite or out of range, each with a sentence."""
    found: list[tuple[Place, str]] = []
    for field, value in mapping.items():
        if len(found) >= MOST:
            break
        if field not in _KINDS:
            near = get_close_matches(field, _KINDS, 1)
            found.append(
                ((field,), "is no field of a policy" + (f"; did you mean {near[0]}?" if near else ""))
            )
        elif _KINDS[field] in ("int", "float"):
            found += _number((field,), value)
        else:
            found += _list(field, value)
    return found


def policy_from(mapping: Mapping[str, Any]) -> Policy:
    """The policy of a mapping without `problems`; what it leaves out keeps its default."""
    convert = {"float": float, "int": int}
    given: dict[str, Any] = {
        field: convert[_KINDS[field]](value) if _KINDS[field] in convert else tuple(map(float, value))
        for field, value in mapping.items()
    }
    return Policy(**given)


def _list(field: str, value: object) -> list[tuple[Place, str]]:
    if not isinstance(value, list | tuple):
        return [((field,), "must be a list of numbers")]
    found = [problem for place, item in enumerate(value) for problem in _number((field, place), item)]
    if not found and field.endswith("shares") and not 0 < sum(value) <= 1 + 1e-9:
        return [((field,), "must be shares that together are over 0 and at most 1")]
    return found


def _number(place: Place, value: object) -> list[tuple[Place, str]]:
    field = str(place[0])
    whole = _KINDS[field] == "int"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return [(place, f"must be a {'whole ' if whole else ''}number")]
    problem = range_of(field).problem(value)
    return [(place, problem)] if problem else []
