"""What was measured, on disk at once: readings-<arm>.jsonl, summary.json and a line of progress each."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from bot import __version__
from bot.verdict.reading import Arm, Reading, RecordError, Status
from runners.harness.launch import Event, Outcome
from runners.harness.machine import Machine
from runners.plan import RerunPlan
from runners.progress import progress_line

MAX_TEXT: Final = 300


class Recorder:
    """Writes each reading as it comes. A launch's repeats are taken in order, each once."""

    def __init__(self, plan: RerunPlan, out: Path, machine: Machine) -> None:
        self._plan, self._out, self._machine = plan, out, machine
        self._files = {
            arm: (out / f"readings-{arm}.jsonl").open("a", encoding="utf-8") for arm in plan.commits
        }
        self._seq: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {arm: Counter() for arm in plan.commits}
        self._done: Counter[int] = Counter()
        self._labels: dict[str | None, None] = {}
        self._launches: list[dict[str, object]] = []

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()

    def log(self, number: int) -> Path:
        return self._out / "logs" / f"launch-{number}-{self._plan.launches[number - 1].arm}.log"

    def repeat(self, number: int, event: Event) -> None:
        """One repeat of launch `number` (1-based) as the probe saw it; out of turn it is ignored."""
        repeat = self._done[number] + 1
        if event.get("repeat") != repeat or repeat > self._plan.launches[number - 1].repeats:
            return
        self._done[number] = repeat
        timing = {"at": event.get("at"), "duration_s": event.get("duration_s")}
        checks = event.get("checks")
        failure = event.get("failure")
        try:
            readings = [
                self._reading(number, repeat, {**timing, "status": Status.OK, **_check(check)})
                for check in (checks if isinstance(checks, list) else [])
            ]
        except (RecordError, TypeError) as error:
            readings, failure = [], f"the probe wrote what is not a reading: {error}"
        if failure is None and readings:
            seen = [reading.label for reading in readings]
            self._labels.update(dict.fromkeys(seen))
            for reading in readings:
                self._write(number, reading)
            left = [label for label in self._labels if label not in seen]
            self._missing(
                number, repeat, Outcome(Status.ERROR, "this repeat did not make the check"), timing, left
            )
            return
        printed = ", ".join(str(reading.value) for reading in readings)
        after = f" (after printing {printed})" if printed else ""
        self._missing(number, repeat, Outcome(Status.ERROR, f"{failure}{after}"), timing)

    def ended(self, number: int, outcome: Outcome, seconds: float = 0.0) -> None:
        """Launch `number` is over: the repeats it did not come to are recorded with the reason."""
        planned = self._plan.launches[number - 1]
        measured = self._done[number]
        for repeat in range(measured + 1, planned.repeats + 1):
            self._missing(
                number, repeat, outcome, {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
            )
        whole = measured == planned.repeats
        self._launches.append(
            {
                "launch": self._plan.launch_id(number),
                "arm": planned.arm,
                "repeats": planned.repeats,
                "reached": measured,
                "seconds": round(seconds, 3),
                "ended": "done" if whole else str(outcome.status),
                "why": None if whole else outcome.why[:MAX_TEXT],
            }
        )

    def summary(self, seconds: float, *, cancelled: bool) -> bool:
        """Writes summary.json; True when every planned repeat has a value."""
        complete = all(set(counts) <= {"ok"} for counts in self._counts.values())
        document = {
            "harness": __version__,
            "request": self._plan.request,
            "complete": complete,
            "cancelled": cancelled,
            "planned": self._plan.planned,
            "readings": {arm: dict(counts) for arm, counts in self._counts.items()},
            "seconds": round(seconds, 3),
            "launches": self._launches,
            "host": self._machine.host,
            "gpu": self._machine.gpu,
            "driver": self._machine.driver,
        }
        unfinished = self._out / "summary.json.part"
        unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(self._out / "summary.json")
        return complete

    def _missing(
        self,
        number: int,
        repeat: int,
        outcome: Outcome,
        timing: Mapping[str, object],
        labels: Sequence[str | None] | None = None,
    ) -> None:
        """One record for each missing check; by default every one the test is known to make."""
        error = " ".join(outcome.why.split())[:MAX_TEXT]
        for label in (list(self._labels) or [None]) if labels is None else labels:
            fields = {**timing, "status": outcome.status, "label": label, "error": error}
            try:
                reading = self._reading(number, repeat, fields)
            except RecordError:  # times from the probe's file that are no times
                reading = self._reading(number, repeat, {**fields, "at": None, "duration_s": None})
            self._write(number, reading)

    def _reading(self, number: int, repeat: int, fields: Mapping[str, object]) -> Reading:
        planned = self._plan.launches[number - 1]
        return Reading.from_record(
            {
                "arm": Arm(planned.arm),
                "test": self._plan.test,
                "commit": self._plan.commits[planned.arm],
                "launch": self._plan.launch_id(number),
                "repeat": repeat,
                "host": self._machine.host,
                "gpu": self._machine.gpu,
                "driver": self._machine.driver,
                "source": self._machine.source,
                **fields,
            }
        )

    def _write(self, number: int, reading: Reading) -> None:
        arm = str(reading.arm)
        self._seq[arm] += 1
        self._counts[arm][str(reading.status)] += 1
        file = self._files[arm]
        file.write(json.dumps({**reading.as_record(), "seq": self._seq[arm]}) + "\n")
        file.flush()
        with contextlib.suppress(OSError):  # nobody reads our stdout any more: the files still count
            print(progress_line(self._plan, number, reading), flush=True)


def _check(check: object) -> dict[str, object]:
    if not isinstance(check, dict):
        raise TypeError("a check must be an object")
    label = check.get("label")
    return {
        "value": check.get("value"),
        "per_prompt": check.get("per_prompt"),
        "threshold": check.get("threshold"),
        "label": label[:MAX_TEXT] if isinstance(label, str) else label,
    }
