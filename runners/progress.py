"""The progress line of a rerun, written by the harness and counted by whoever follows its output."""

from __future__ import annotations

import re
from typing import Final

from bot.verdict.reading import Reading
from runners.plan import RerunPlan

_LINE: Final = re.compile(
    r"kl-triage: (?:head|base) launch (\d{1,4})/\d{1,4} repeat (\d{1,4})/\d{1,4}(?= )", re.ASCII
)


def progress_line(plan: RerunPlan, number: int, reading: Reading) -> str:
    """`kl-triage: head launch 2/4 repeat 3/6 value=0.00213 bound=0.003`; `number` is the launch, 1-based."""
    planned = plan.launches[number - 1]
    where = f"{planned.arm} launch {number}/{len(plan.launches)} repeat {reading.repeat}/{planned.repeats}"
    label = "" if reading.label is None else f" check={_printable(reading.label)}"
    if reading.value is None:
        return f"kl-triage: {where}{label} {reading.status}: {_printable(reading.error or '')}"
    bound = "" if reading.threshold is None else f" bound={reading.threshold:g}"
    return f"kl-triage: {where}{label} value={reading.value:.5g}{bound}"


def repeats_seen(text: str) -> int:
    """How many planned repeats the lines of a log tell of, whatever became of them."""
    return len(set(_LINE.findall(text)))


def _printable(text: str) -> str:
    """One line that a runner does not take for a workflow command (`::error::`) or a colour."""
    return "".join(character if character.isprintable() else " " for character in text).replace("::", ": :")
