"""What goes to the evidence branch: raw readings as lines, and a page that says how to check them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from bot.report import tables, words
from bot.report.facts import Case
from bot.report.markdown import LIMIT, capped, code, prose
from bot.report.numbers import plain
from bot.verdict.answer import Verdict
from bot.verdict.reading import Reading
from bot.verdict.redaction import without_secrets

READINGS: Final = "readings.jsonl"
CHART: Final = "chart.svg"


def readings_jsonl(readings: Sequence[Reading]) -> str:
    """One reading a line, as contracts/reading.schema.json has it; byte-identical for the same readings.

    What is committed stays: secrets are looked for once more.
    """
    return "".join(
        json.dumps(without_secrets(reading).as_record(), sort_keys=True, allow_nan=False) + "\n"
        for reading in readings
    )


def evidence_readme(case: Case, verdict: Verdict) -> str:
    """The page of one case's folder."""
    bound = "" if case.bound is None else f" --threshold {plain(case.bound)}"
    blocks = [
        f"# {words.words(verdict).label}: {code(case.name, 120)}",
        prose(verdict.sentence),
        tables.arms_table(case, verdict),
        f"![KL of each run against the bound]({CHART})",
        f"`{READINGS}` holds every reading, one a line. To ask the judge again:",
        f"```\nkl-triage decide {READINGS}{bound}\n```",
        tables.ladder(verdict, LIMIT // 4),
        tables.versions(case, (), LIMIT // 4),
    ]
    return capped("\n\n".join(block for block in blocks if block), LIMIT) + "\n"
