"""The check run `kl-triage`: title, summary, text and conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.report import comment, words
from bot.report.facts import Case
from bot.report.markdown import CHECK_LIMIT, capped, code, unmentioned
from bot.report.numbers import plain
from bot.verdict.answer import Verdict
from bot.verdict.reading import Reading

_TITLE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class Button:
    """GitHub shows at most 20 characters of a label and 40 of a description, and refuses longer ones."""

    label: str
    identifier: str
    description: str


AGAIN: Final = Button("Rerun KL", "rerun-kl", "Measure head beside base again")


@dataclass(frozen=True, slots=True)
class CheckOutput:
    """`conclusion` None: still in progress. Summary and text are Markdown within GitHub's limit."""

    title: str
    summary: str
    text: str | None = None
    conclusion: str | None = None

    @property
    def button(self) -> Button | None:
        """Nothing is to be asked for again before it has ended."""
        return None if self.conclusion is None else AGAIN


def in_progress(case: Case, done: int, planned: int) -> CheckOutput:
    """While reruns are out; `planned` 0: none is out yet."""
    bound = "" if case.bound is None else f" against {code(case.bound_name, 60)} = {plain(case.bound)}"
    runs = f"{done} of {planned} runs" if planned else "the first runs are being started"
    summary = f"Measuring {code(case.name, 120)}{bound}: {runs}. No verdict yet."
    return CheckOutput(f"Measuring: {runs}", summary)


def completed(case: Case, verdict: Verdict, readings: Sequence[Reading] = ()) -> CheckOutput:
    """success for answered noise with no gap, failure for a fault, neutral for no answer."""
    return CheckOutput(
        title=_title(case, verdict),
        summary=capped(comment.summary(case, verdict, readings), CHECK_LIMIT),
        text=comment.details(case, verdict, readings, CHECK_LIMIT) or None,
        conclusion=words.conclusion(case, verdict),
    )


def given_up(case: Case) -> CheckOutput:
    """The bot could not go on: no verdict, and nothing said about the change."""
    return CheckOutput(
        title=unmentioned(f"NO VERDICT: the bot could not finish - {case.name}", _TITLE_LIMIT),
        summary=comment.unfinished(case),
        conclusion="neutral",
    )


def _title(case: Case, verdict: Verdict) -> str:
    rates = [
        f"{arm} {rate.exceeded}/{rate.n}"
        for arm, rate in verdict.numbers.exceedance.items()
        if arm in ("head", "base") and rate.n
    ]
    over = f": {', '.join(rates)} over {plain(case.bound)}" if rates and case.bound is not None else ""
    missed = " (not everything was measured)" if words.gaps(case, verdict) else ""
    return unmentioned(f"{words.words(verdict).label}{over}{missed} - {case.name}", _TITLE_LIMIT)
