"""When a bound stays whatever the readings say: one rule for the bot and for the loop on a GPU box."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from bot.verdict import Arm, Reading, Refusal
from rules import Pack

COOLING_DAYS: Final = 90
COOLING: Final = timedelta(days=COOLING_DAYS)
"""A bound that was moved, or whose bump a person declined, is left alone for so long."""


EXPIRES: Final = timedelta(days=90)
"""When the comment of a bump asks for another look."""


def unfit_path(pack: Pack, test_path: str, changed: Iterable[str]) -> str | None:
    """A changed file on which the test rests: such a change is judged, but never leads to a bump."""
    paths = tuple(changed)
    return next((path for path in paths if path == test_path), None) or next(iter(pack.unfit(paths)), None)


def other_bound(readings: Iterable[Reading], bound: float | None) -> Refusal | None:
    """The source is the truth about a bound, what tests stated while they ran is the cross-check: where the
    two differ, the literal that was found may not be the one that is asserted. Past runs may be older."""
    stated = {r.threshold for r in readings if r.arm is not Arm.HISTORY and r.threshold is not None}
    if bound is None:
        return None
    strange = sorted(value for value in stated if not math.isclose(value, bound, rel_tol=1e-6))
    if not strange:
        return None
    return Refusal(
        "bound_not_asserted",
        f"The test asserted {strange[0]:g} where the source says {bound:g}; no bound is moved on a guess.",
    )
