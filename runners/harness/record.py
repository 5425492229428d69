"""What was measured, on disk at once: readings-<arm>.jsonl, launches.jsonl, and a line of progress each."""

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
from bot.verdict.redaction import redacted, without_secrets
from runners.harness.earlier import Earlier
from runners.harness.fingerprint import Fingerprint
from runners.harness.jsonlines import JsonLines
from runners.harness.launch import Event, Outcome
from runners.plan import RerunPlan
from runners.progress import progress_line

MAX_TEXT: Final = 300
TEAR_DOWN: Final = "the tear-down failed"
"""As the probe says it: all was measured, and yet something is not as it was."""
MAX_NOTES: Final = 20
RESERVE: Final = 64 << 10


class Recorder:
    """Writes each reading as it comes. A launch's repeats are taken in order, each once.

    `earlier`: what a run that is resumed left in `out`. Two small files are kept in reserve: on a full disk
    they make room for what is measured already and for a summary that names the fault.
    """

    def __init__(self, plan: RerunPlan, out: Path, earlier: Earlier) -> None:
        self._plan, self._out, self._earlier = plan, out, earlier
        self.machine = Fingerprint("")
        """Set before each launch."""
        self.trouble: str | None = None
        """Why no further launch can be recorded."""
        self._reserve = out / ".reserve"
        self._unfinished = out / "summary.json.part"
        for reserve in (self._reserve, self._unfinished):
            reserve.write_bytes(bytes(RESERVE))
        self._files = {arm: JsonLines(out / f"readings-{arm}.jsonl") for arm in plan.commits}
        self._launch_file = JsonLines(out / "launches.jsonl")
        self._seq = Counter(earlier.seq)
        self._counts = {arm: Counter(earlier.counts.get(arm, {})) for arm in plan.commits}
        self._done: Counter[int] = Counter()
        self._labels: dict[str | None, None] = dict.fromkeys(earlier.labels)
        self._launches = list(earlier.launches)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._reserve.unlink()
        for file in (*self._files.values(), self._launch_file):
            file.close()

    def launch_id(self, number: int) -> str:
        return self._plan.launch_id(number, self._earlier.attempts[number] + 1)

    def log(self, number: int) -> Path:
        attempt = self._earlier.attempts[number] + 1
        again = f"-{attempt}" if attempt > 1 else ""
        return self._out / "logs" / f"launch-{number}-{self._plan.launches[number - 1].arm}{again}.log"

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

    def ended(
        self,
        number: int,
        outcome: Outcome,
        seconds: float = 0.0,
        details: Mapping[str, object] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Launch `number` is over: the repeats it did not come to are recorded with the reason."""
        planned = self._plan.launches[number - 1]
        measured = self._done[number]
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        for repeat in range(measured + 1, planned.repeats + 1):
            self._missing(number, repeat, outcome, {"at": at})
        whole = measured == planned.repeats
        if whole and outcome.why.startswith(TEAR_DOWN):
            notes = [*notes, outcome.why]
        launch = {
            "launch": self.launch_id(number),
            "arm": planned.arm,
            "repeats": planned.repeats,
            "reached": measured,
            "seconds": round(seconds, 3),
            "ended": "done" if whole else str(outcome.status),
            "why": None if whole else _line(outcome.why),
            "notes": [_line(note) for note in notes[:MAX_NOTES]],
            **(details or {}),
        }
        self._launches.append(launch)
        self._append(self._launch_file, launch)

    def summary(self, seconds: float, *, cancelled: bool, stopped: str | None = None) -> bool:
        """Writes summary.json; True when every planned repeat has a value. `stopped`: why it broke off."""
        ran = {self._plan.place_of(str(launch.get("launch"))) for launch in self._launches}
        every = {place[0] for place in ran if place} == set(range(1, len(self._plan.launches) + 1))
        complete = every and all(set(counts) <= {"ok"} for counts in self._counts.values())
        document = {
            "harness": __version__,
            "request": self._plan.request,
            "complete": complete,
            "cancelled": cancelled,
            "stopped": _line(told) if (told := stopped or self.trouble) else None,
            "planned": self._plan.planned,
            "readings": {arm: dict(counts) for arm, counts in self._counts.items()},
            "superseded": self._earlier.superseded,
            "seconds": round(seconds, 3),
            "launches": self._launches,
            "host": self.machine.place,
            "gpu": self.machine.gpu,
            "driver": self.machine.driver,
        }
        self._unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        self._unfinished.replace(self._out / "summary.json")
        return complete

    def _append(self, file: JsonLines, record: Mapping[str, object]) -> None:
        """On a full disk the reserve makes room for what was measured already; then OSError."""
        try:
            file.write(record)
        except OSError as error:
            if self.trouble is not None:
                raise
            self.trouble = str(error)
            self._reserve.unlink(missing_ok=True)
            file.write(record)

    def _missing(
        self,
        number: int,
        repeat: int,
        outcome: Outcome,
        timing: Mapping[str, object],
        labels: Sequence[str | None] | None = None,
    ) -> None:
        """One record for each missing check; by default every one the test is known to make."""
        for label in (list(self._labels) or [None]) if labels is None else labels:
            fields = {**timing, "status": outcome.status, "label": label, "error": _line(outcome.why)}
            try:
                reading = self._reading(number, repeat, fields)
            except RecordError:  # times from the probe's file that are no times
                reading = self._reading(number, repeat, {**fields, "at": None, "duration_s": None})
            self._write(number, reading)

    def _reading(self, number: int, repeat: int, fields: Mapping[str, object]) -> Reading:
        planned = self._plan.launches[number - 1]
        reading = Reading.from_record(
            {
                "arm": Arm(planned.arm),
                "test": self._plan.test,
                "commit": self._plan.commits[planned.arm],
                "launch": self.launch_id(number),
                "repeat": repeat,
                "host": self.machine.place,
                "gpu": self.machine.gpu,
                "driver": self.machine.driver,
                "source": self.machine.source,
                **fields,
            }
        )
        return without_secrets(reading)

    def _write(self, number: int, reading: Reading) -> None:
        arm = str(reading.arm)
        self._seq[arm] += 1
        self._counts[arm][str(reading.status)] += 1
        self._append(self._files[arm], {**reading.as_record(), "seq": self._seq[arm]})
        with contextlib.suppress(OSError):  # nobody reads our stdout any more: the files still count
            print(progress_line(self._plan, number, reading), flush=True)


def _line(text: str) -> str:
    """One line without secrets, which are looked for in the whole text."""
    return " ".join(redacted(text).split())[:MAX_TEXT]


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
