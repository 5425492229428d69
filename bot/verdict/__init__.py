"""The judge: readings in, verdict out. No I/O, no clock, no GitHub."""

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
