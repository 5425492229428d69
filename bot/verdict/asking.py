"""The two ways to give no answer (ask for more runs, or leave the bound and say why), and for which check."""

from __future__ import annotations

from dataclasses import replace

from bot.verdict.answer import VerdictKind
from bot.verdict.case import Case, Finding
from bot.verdict.plan import More, next_plan, runs_needed
from bot.verdict.reading import Arm


def twice(case: Case, arm: Arm) -> More:
    return More(arm, case.evidence.arms[arm].n)


def ask(case: Case, reason: str, why: str, more: More | None = None) -> Finding:
    """More runs while looks and budget last, else inconclusive with what it would take."""
    runs = f"{case.evidence.head.n} runs of head and {case.evidence.base.n} of base"
    plan = next_plan(case, more)
    if plan is not None:
        sentence = f"After {runs} {why}: more runs are asked for."
        return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence, next=plan)
    needed = runs_needed(case)
    settle = f"; about {needed} runs an arm would settle the ratio" if needed and "worse" in why else ""
    sentence = f"The budget is used up: after {runs} {why}{settle}. The bound stays."
    return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence)


def no_bump(reason: str, why: str) -> Finding:
    sentence = f"The bound stays: {why}. A person should look."
    return Finding(why, VerdictKind.INCONCLUSIVE, reason, sentence)


def check_name(label: str) -> str:
    """As a sentence may hold it: labels come from the log."""
    return "".join(char for char in label if char.isprintable())[:60].strip() or "without a name"


def of_check(label: str, other: Case, finding: Finding) -> Finding:
    """The same finding, said of a check that was not the red one."""
    name = check_name(label)
    said = finding.sentence[:1].lower() + finding.sentence[1:]
    sentence = f"In the test's check {name}, which did not go red, {said}"
    saw = f"check {name}: {finding.saw}"
    return replace(finding, saw=saw, reason=f"other_check_{finding.reason}", sentence=sentence, about=other)
