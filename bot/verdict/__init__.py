"""The judge: readings in, verdict out. No I/O, no clock, no GitHub.

A name is imported when it is first used: whoever only needs a data type does not wait for scipy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bot.verdict.answer import (
        ArmPlan,
        Candidate,
        Catch,
        Exceedance,
        Expected,
        Level,
        Numbers,
        OutlierPrompt,
        Plan,
        Proposal,
        Ratio,
        Refusal,
        Rung,
        Runs,
        Verdict,
        VerdictKind,
    )
    from bot.verdict.evidence import Context, Evidence
    from bot.verdict.ladder import decide
    from bot.verdict.policy import Policy
    from bot.verdict.reading import Arm, Reading, RecordError, Status

__all__ = [
    "Arm",
    "ArmPlan",
    "Candidate",
    "Catch",
    "Context",
    "Evidence",
    "Exceedance",
    "Expected",
    "Level",
    "Numbers",
    "OutlierPrompt",
    "Plan",
    "Policy",
    "Proposal",
    "Ratio",
    "Reading",
    "RecordError",
    "Refusal",
    "Rung",
    "Runs",
    "Status",
    "Verdict",
    "VerdictKind",
    "decide",
]

_HOMES: Final = ("reading", "answer", "policy", "evidence", "ladder")
"""Modules that define these names, the cheapest to import first."""


def __getattr__(name: str) -> object:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
