"""Values of GitHub's expression language and the rules that turn one kind into another.

Source of the rules: "Evaluate expressions in workflows and actions" in GitHub's documentation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | Mapping[str, Value] | Sequence[Value] | None"


def truthy(value: Value) -> bool:
    """False for null, false, 0, NaN and the empty string; objects and arrays are true."""
    if isinstance(value, bool | str) or value is None:
        return bool(value)
    if isinstance(value, int | float):
        return value != 0 and value == value
    return True


def as_text(value: Value) -> str:
    """What `${{ value }}` puts into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return _number_text(value)
    return "Object" if isinstance(value, Mapping) else "Array"


def equal(left: Value, right: Value) -> bool:
    """Loose equality: texts without regard to case; of different kinds, both become numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.upper() == right.upper()
    if _is_collection(left) or _is_collection(right):
        return left is right
    return _as_number(left) == _as_number(right)


def contains(search: Value, item: Value) -> bool:
    """`contains()`: a part of a text, or an element of an array."""
    if isinstance(search, Sequence) and not isinstance(search, str):
        return any(equal(element, item) for element in search)
    if isinstance(search, Mapping) or _is_collection(item):
        return False
    return as_text(item).upper() in as_text(search).upper()


def _is_collection(value: Value) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _as_number(value: Value) -> float:
    """NaN, which equals nothing, where there is no number."""
    if value is None:
        return 0.0
    try:
        if isinstance(value, str):
            return _parse_number(value)
        return float(value) if isinstance(value, int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _parse_number(text: str) -> float:
    text = text.strip()
    if not text:
        return 0.0
    if text[:2].lower() in ("0x", "0o"):
        return float(int(text, 0))
    # float() also reads "1_000", "nan" and digits of other scripts, which are no numbers on GitHub.
    if not text.isascii() or set(text) - set("0123456789+-.eE"):
        return math.nan
    return float(text)


def _number_text(value: int | float) -> str:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf if value > 0 else -math.inf
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return format(value, ".15g")
