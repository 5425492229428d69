"""Values of a rerun whose artifact did not come, from the progress lines in its job's log.

Pure. The lines round a value to five digits and leave its prompts out: better than nothing, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from bot.verdict.reading import Arm, Reading, Status
from runners.fleets.artifact import MAX_CHECKS
from runners.plan import RerunPlan

MAX_LOG_BYTES: Final = 64 << 20
MAX_LINE: Final = 2_000
_LABEL: Final = r"(?:(?! (?:error|timeout|cancelled|lost): ).){0,300}"
"""Not beyond the reason of a missing value, which may itself speak of a value=…."""
_LINE: Final = re.compile(
    r"(?:(?P<at>\d{4}-[\d:T.-]{8,30}Z) )?kl-triage: (?P<arm>head|base) launch (?P<launch>\d{1,4})/\d{1,4} "
    rf"repeat (?P<repeat>\d{{1,4}})/\d{{1,4}}(?: check=(?P<label>{_LABEL}))? "
    r"value=(?P<value>[-+.\de]{1,30}|nan|-?inf)(?: bound=\S{1,30})?",
    re.ASCII,
)


def readings_in_log(pieces: Iterable[bytes], plan: RerunPlan) -> tuple[Reading, ...]:
    """The planned repeats whose value the log tells, each check once. Bounds, rounded too, are left out."""
    found: dict[tuple[int, int], dict[str | None, Reading]] = {}
    for line in _lines(pieces):
        match = _LINE.fullmatch(line)
        reading = None if match is None else _reading(match, plan)
        if match is not None and reading is not None:
            checks = found.setdefault((int(match["launch"]), int(match["repeat"])), {})
            if len(checks) < MAX_CHECKS:
                checks.setdefault(reading.label, reading)
    return tuple(reading for checks in found.values() for reading in checks.values())


def _reading(match: re.Match[str], plan: RerunPlan) -> Reading | None:
    number, repeat = int(match["launch"]), int(match["repeat"])
    planned = plan.launches[number - 1] if 0 < number <= len(plan.launches) else None
    if planned is None or planned.arm != match["arm"] or not 0 < repeat <= planned.repeats:
        return None
    try:
        value = float(match["value"])
    except ValueError:
        return None
    return Reading(
        arm=Arm(planned.arm),
        test=plan.test,
        status=Status.OK,
        value=value,
        label=match["label"],
        commit=plan.commits[planned.arm],
        launch=plan.launch_id(number),
        repeat=repeat,
        at=match["at"],
    )


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Whole lines, none of them long; what follows the last line end was cut off."""
    part, left = b"", MAX_LOG_BYTES
    for piece in pieces:
        *lines, part = (part + piece[:left]).split(b"\n")
        for line in lines:
            if len(line) <= MAX_LINE:
                yield line.decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r")
        part = part[: MAX_LINE + 1]  # what a line too long goes on with is too long as well
        left -= len(piece)
        if left <= 0:
            return
