"""From a delivery to an event: the parsers are found by the name and the action of the delivery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.github.events import parsers
from bot.github.events.kinds import Event, Ignored

KNOWN: Final = frozenset({"ping"} | {name for name, _ in parsers.PARSERS})
"""Names of the deliveries that are looked at."""


def parse(name: str, payload: Mapping[str, Any]) -> Event:
    """What happened, in our words. Never raises: what cannot be read is `Ignored` with the reason."""
    action = payload.get("action", "")
    parser: Callable[[Mapping[str, Any]], Event] | None = (
        parsers.PARSERS.get((name, action)) if isinstance(action, str) else None
    )
    if parser is None:
        return Ignored(f"{name}: nothing to do")
    try:
        return parser(payload)
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        return Ignored(f"{name}: payload lacks what is needed ({type(error).__name__}: {error})"[:200])
