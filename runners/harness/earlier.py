"""What an earlier run of the same plan left in its folder, and what a resumed run makes of it.

A launch that came to its end is kept as it is. One that did not is measured once more under a new id: its
readings stay, they were real, and its records of missing data are superseded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bot.verdict.reading import Reading, RecordError, Status
from runners.harness.jsonlines import read_lines, replace_lines
from runners.plan import RerunPlan


@dataclass(slots=True)
class Earlier:
    """Empty for a first run. `attempts`: how often each launch was begun; `done`: those at their end."""

    attempts: Counter[int] = field(default_factory=Counter)
    done: set[int] = field(default_factory=set)
    seq: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    labels: dict[str | None, None] = field(default_factory=dict)
    launches: list[dict[str, object]] = field(default_factory=list)
    superseded: int = 0


def resume(plan: RerunPlan, out: Path) -> Earlier:
    """Takes up `out`: missing data of incomplete launches is removed from its files. Raises OSError."""
    earlier = Earlier()
    for launch in read_lines(out / "launches.jsonl"):
        place = plan.place_of(str(launch.get("launch")))
        if place is None:
            continue
        earlier.launches.append(launch)
        earlier.attempts[place[0]] = max(earlier.attempts[place[0]], place[1])
        if launch.get("ended") == "done":
            earlier.done.add(place[0])
    replace_lines(out / "launches.jsonl", earlier.launches)
    for arm in plan.commits:
        _take_up(plan, out / f"readings-{arm}.jsonl", arm, earlier)
    return earlier


def _take_up(plan: RerunPlan, path: Path, arm: str, earlier: Earlier) -> None:
    kept = []
    counts = earlier.counts.setdefault(arm, Counter())
    for record in read_lines(path):
        place = plan.place_of(str(record.get("launch")))
        try:
            reading = Reading.from_record(record)
        except RecordError:
            continue
        if place is None:
            continue
        number, attempt = place
        earlier.attempts[number] = max(earlier.attempts[number], attempt)
        if reading.status is Status.OK or number in earlier.done:
            kept.append(record)
            earlier.seq[arm] = max(earlier.seq[arm], reading.seq or 0)
            counts[str(reading.status)] += 1
            earlier.labels[reading.label] = None
        else:
            earlier.superseded += 1
    replace_lines(path, kept)
