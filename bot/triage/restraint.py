"""When a bound stays whatever the readings say: one rule for the bot and for the loop on a GPU box."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

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
