"""The reading: one measured KL value of one test attempt, with where it came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

MAX_DURATION_S: Final = 86_400
"""No test attempt takes longer than a day: what says so is wrong, and machine time is counted by it."""


class Arm(StrEnum):
    """Which code a reading measured: `trigger` is the job that went red, selected for being high."""

    HEAD = "head"
    BASE = "base"
    HISTORY = "history"
    TRIGGER = "trigger"


class Status(StrEnum):
    """`ok`: a value was measured, under or over the bound. Anything else is missing data."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"


class RecordError(ValueError):
    """A record that is not a reading; names the record (1-based) and the field."""

    def __init__(self, field: str, problem: str, record: int | None = None) -> None:
        self.field, self.problem, self.record = field, problem, record
        where = f"record {record}: " if record is not None else ""
        super().__init__(f"{where}field '{field}': {problem}")


@dataclass(frozen=True, slots=True)
class Reading:
    """contracts/reading.schema.json. `value` and `per_prompt` are KL in nats and may be nan or inf."""

    arm: Arm
    test: str
    status: Status
    value: float | None = None
    per_prompt: tuple[float, ...] = ()
    threshold: float | None = None
    label: str | None = None
    commit: str | None = None
    launch: str | None = None
    repeat: int | None = None
    seq: int | None = None
    at: str | None = None
    host: str | None = None
    gpu: str | None = None
    driver: str | None = None
    attempt: int | None = None
    duration_s: float | None = None
    source: str | None = None
    error: str | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, object], number: int | None = None) -> Reading:
        """Strict: raises RecordError for an unknown field, a wrong type or a missing required field."""
        try:
            return cls(**_parsed(record))  # type: ignore[arg-type]
        except RecordError as error:
            raise RecordError(error.field, error.problem, number) from None

    def as_record(self) -> dict[str, object]:
        """The JSON object of the contract; absent fields are left out, nan and inf become strings."""
        record: dict[str, object] = {}
        for name in _FIELDS:
            value = getattr(self, name)
            if value is None or value == ():
                continue
            if name == "per_prompt":
                record[name] = [number_to_json(item) for item in value]
            elif name == "value":
                record[name] = number_to_json(value)
            else:
                record[name] = str(value) if isinstance(value, StrEnum) else value
        return record


_FIELDS: Final = tuple(field.name for field in fields(Reading))
_TEXT: Final = {"label", "commit", "launch", "at", "host", "gpu", "driver", "source", "error"}
_WHOLE: Final = {"repeat", "seq", "attempt"}
_REQUIRED: Final = ("arm", "test", "status")
_NON_FINITE: Final = {"nan", "inf", "-inf", "infinity", "-infinity"}


def number_to_json(value: float) -> float | str:
    """JSON has no nan or inf: they travel as the strings 'nan', 'inf', '-inf'."""
    return value if math.isfinite(value) else str(value)


def _parsed(record: Mapping[str, object]) -> dict[str, object]:
    if not isinstance(record, Mapping):
        raise RecordError("(record)", "must be a JSON object")
    unknown = sorted(set(record) - set(_FIELDS))
    if unknown:
        raise RecordError(str(unknown[0])[:40], "is not a field of a reading")
    for name in _REQUIRED:
        if name not in record:
            raise RecordError(name, "is required")
    parsed = {name: _field(name, value) for name, value in record.items() if value is not None}
    for name in _REQUIRED:
        if name not in parsed:
            raise RecordError(name, "must not be null")
    if parsed["status"] is Status.OK and "value" not in parsed:
        raise RecordError("value", "is required when status is 'ok'")
    return parsed


def _field(name: str, value: object) -> object:
    if name == "arm":
        return _choice(name, value, Arm)
    if name == "status":
        return _choice(name, value, Status)
    if name == "test":
        return _text(name, value, allow_empty=False)
    if name in _TEXT:
        return _text(name, value)
    if name in _WHOLE:
        if isinstance(value, bool) or not isinstance(value, int):
            raise RecordError(name, "must be a whole number")
        return value
    if name == "per_prompt":
        if not isinstance(value, list | tuple):
            raise RecordError(name, "must be a list of numbers")
        return tuple(_number(name, item, non_finite=True) for item in value)
    number = _number(name, value, non_finite=name == "value")
    if name == "duration_s" and not 0 <= number <= MAX_DURATION_S:
        raise RecordError(name, f"must be 0 to {MAX_DURATION_S} seconds")
    return number


def _choice(name: str, value: object, kinds: type[StrEnum]) -> StrEnum:
    try:
        return kinds(value)  # type: ignore[arg-type]
    except ValueError:
        raise RecordError(name, f"must be one of {', '.join(kinds)}") from None


def _text(name: str, value: object, *, allow_empty: bool = True) -> str:
    if not isinstance(value, str):
        raise RecordError(name, "must be a string")
    if not value and not allow_empty:
        raise RecordError(name, "must not be empty")
    return value


def _number(name: str, value: object, *, non_finite: bool = False) -> float:
    if isinstance(value, str) and non_finite and value.strip().lower() in _NON_FINITE:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(name, "must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise RecordError(name, "is too large for a number") from None
    if not math.isfinite(number) and not non_finite:
        raise RecordError(name, "must be finite")
    return number
