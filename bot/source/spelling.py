"""How a bound and its comment are written: as the house writes them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from bot.verdict.answer import Refusal

MAX_COMMENT: Final = 160
MAX_SPELLING: Final = 40

MAX_FACTOR: Final = 100
"""A bound is not moved to more than so many times its value: that is a slip of the hand."""
MAX_BOUND: Final = 1e3

_CODING: Final = re.compile(r"(coding)[:=]")
# What formatters, linters and coverage tools obey when it stands in a comment.
_DIRECTIVE: Final = re.compile(
    r"(?<![\w'])(noqa|nosec|pragma|shellcheck|yamllint|prettier-ignore"
    r"|(?:fmt|yapf|type|mypy|pyright|pyre|pylint|isort|ruff|flake8|vim)(?=\s*:))",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([eE])([-+]?)(\d+))?", re.ASCII)


def comment_line(comment: str) -> str | None:
    """`comment` as one ASCII source comment; None if nothing is left of it. No tool may read it as a
    declaration of the file's encoding or as an order, so such words are quoted."""
    words = " ".join(comment.split())
    plain = "".join(c if c.isprintable() else " " for c in words).encode("ascii", "replace").decode()
    plain = _DIRECTIVE.sub(r"'\1'", _CODING.sub(r"\1 ", plain.lstrip("# ").strip()))
    plain = plain[:MAX_COMMENT].rstrip()
    return f"# {plain}" if plain else None


def is_plain(spelling: str) -> bool:
    """A decimal number without sign or underscores, of a length that people write."""
    return len(spelling) <= MAX_SPELLING and _PLAIN.fullmatch(spelling) is not None


def value_objection(name: str, spelling: str, value: float, new: float) -> Refusal | None:
    """Codes not_finite, equal, not_looser, too_loose, unsupported_layout."""
    if not math.isfinite(new):
        return Refusal("not_finite", f"{new} is no bound; give a finite number.")
    if new == value:
        return Refusal("equal", f"{name} is {spelling} already; nothing to do.")
    if new < value:
        return Refusal("not_looser", f"{new} is below {name} = {spelling}; give a greater one.")
    if new > MAX_BOUND or new > MAX_FACTOR * value * (1 + 1e-9):
        limit = f"{MAX_FACTOR} times {name} = {spelling}" if new <= MAX_BOUND else f"{MAX_BOUND:g}"
        return Refusal(
            "too_loose", f"{new} is over {limit}, which no longer bounds anything; give a lower one."
        )
    if not is_plain(spelling):
        return Refusal("unsupported_layout", f"{name} is no plain decimal number; edit it by hand.")
    return None


def spell(new: float, old: str) -> str:
    """`new` written as the plain number `old` is: 0.003 → 0.005, 4e-3 → 5e-3, .01 → .02, 0.0030 → 0.0050.

    Every digit of `new` is kept; zeros at the end only where the house pads its numbers with them.
    """
    match = _PLAIN.fullmatch(old)
    if match is None:
        raise ValueError(f"{old!r} is no plain number")
    mantissa, letter, sign, exponent = match.groups()
    value = Decimal(repr(new))
    if not letter:
        return _like(value, mantissa, keep_point="." in mantissa)
    shift, kept = value.adjusted(), int(f"{sign}{exponent}")
    if shift - kept in (0, Decimal(mantissa).adjusted()):
        return f"{_like(value.scaleb(-kept), mantissa)}{letter}{sign}{exponent}"
    width = len(exponent) if exponent.startswith("0") else 1
    sign = "-" if shift < 0 else sign.replace("-", "")
    return f"{_like(value.scaleb(-shift), mantissa)}{letter}{sign}{abs(shift):0{width}d}"


def _like(value: Decimal, old: str, *, keep_point: bool = False) -> str:
    """The value without exponent; `keep_point`: it stays a number with a point."""
    whole, _, fraction = format(value, "f").partition(".")
    fraction = fraction.rstrip("0")
    old_whole, _, old_fraction = old.partition(".")
    if old_fraction.endswith("0"):
        fraction = fraction.ljust(len(old_fraction), "0")
    if old.endswith("."):
        return f"{whole}.{fraction}"
    if keep_point and not fraction:
        fraction = "0"
    whole = "" if not old_whole and whole == "0" and fraction else whole
    return f"{whole}.{fraction}" if fraction else whole
