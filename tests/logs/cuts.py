"""What must hold for every beginning of a log, wherever it was cut."""

from __future__ import annotations

from collections.abc import Iterable

from bot.logs import LogForms, ScanResult, scan


def assert_cuts_invent_nothing(data: bytes, ends: Iterable[int], forms: LogForms) -> None:
    """Readings and failures of a cut log are some of the whole log's; it never claims to be complete, and a
    first try is recovered only if it is so in the whole log."""
    whole = scan([data], forms)
    values = {reading.value for reading in whole.readings}
    recovered = {(f.rule, f.message) for f in whole.failures if f.recovered}
    for end in ends:
        cut = scan([data[:end]], forms)
        assert not cut.complete, end
        assert set(cut.censored) <= set(whole.censored), end
        assert {reading.value for reading in cut.readings} <= values, end
        assert {f.value for f in cut.failures} <= values | {None}, end
        assert {(f.rule, f.message) for f in cut.failures if f.recovered} <= recovered, end
        assert_named_alike(cut, whole, end)


def assert_named_alike(cut: ScanResult, whole: ScanResult, end: int) -> None:
    """A cut may take a part of a test's name, never give another one; and a print that comes late, without
    those that follow it, may count for a later try, never for an earlier one."""
    for reading in cut.readings:
        assert any(
            reading.value == other.value
            and (reading.attempt or 1) >= (other.attempt or 1)
            and is_part(reading.test, other.test)
            for other in whole.readings
        ), (end, reading)
    for failure in cut.failures:
        assert any(
            failure.kind == other.kind
            and failure.rule == other.rule
            and is_part(failure.test or "unknown", other.test or "unknown")
            for other in whole.failures
        ), (end, failure)


def is_part(name: str, whole: str) -> bool:
    """Whether each part of a test's name is one of the whole name's parts."""
    path, _, test = name.rpartition("::")
    return name == "unknown" or (path in ("", whole.rpartition("::")[0]) and test in (whole, *parts(whole)))


def parts(whole: str) -> tuple[str, ...]:
    path, _, test = whole.rpartition("::")
    return path, test, test.partition(".")[0]
