"""What a job log says: readings, failures, and whether it was seen to its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.verdict.reading import Reading, number_to_json


@dataclass(frozen=True, slots=True)
class Failure:
    """One red (or recovered) test. `kind` is 'bound' when a value crossed its bound, else 'other'."""

    kind: str
    test: str | None
    """path::Class.method as far as the log tells."""
    file: str | None = None
    label: str | None = None
    value: float | None = None
    threshold: float | None = None
    fails_when: str | None = None
    attempts: int = 1
    recovered: bool = False
    message: str = ""
    rule: str | None = None

    def as_dict(self) -> dict[str, object]:
        value = None if self.value is None else number_to_json(self.value)
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "value": value}


@dataclass(frozen=True, slots=True)
class ScanResult:
    """contracts/scan.schema.json. Readings carry arm `trigger`; the JSON leaves the arm out."""

    readings: tuple[Reading, ...]
    failures: tuple[Failure, ...]
    complete: bool
    job: Mapping[str, object] = field(default_factory=dict)
    censored: tuple[str, ...] = ()
    """Files that stopped at their first red test, and that no later process ran to the end."""

    def as_dict(self) -> dict[str, object]:
        readings = [{k: v for k, v in reading.as_record().items() if k != "arm"} for reading in self.readings]
        return {
            "readings": readings,
            "failures": [failure.as_dict() for failure in self.failures],
            "complete": self.complete,
            "censored": list(self.censored),
            "job": {k: (None if isinstance(v, float) and math.isnan(v) else v) for k, v in self.job.items()},
        }
