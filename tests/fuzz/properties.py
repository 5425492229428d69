"""What must hold for any bytes: of a log, of a zip, of a rule pack. Each check raises AssertionError."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bot.cli import archives
from bot.cli.inputs import InputError
from bot.logs import LogForms, ScanResult, scan
from bot.logs.lines import clean
from rules import Pack, PackErrors, load_named, load_pack, pack_names, repository_pack

_NUMBER = re.compile(r"(?<![\d.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)")
_PLACE = re.compile(r"(?:x\.ya?ml|\S+\.yaml):\d+:\d+: ")


@cache
def forms(pack: str = "sglang") -> LogForms:
    loaded = load_named(pack)
    assert isinstance(loaded, Pack)
    return loaded.scan_forms


def every_form() -> tuple[LogForms, ...]:
    """The forms of each pack that comes with kl-triage."""
    return tuple(forms(name) for name in pack_names())


def shown(data: bytes) -> str:
    """The text of a log as a person sees it, without time stamps, colours and markers."""
    return "\n".join(clean(line).text for line in data.split(b"\n"))


def printed_numbers(text: str) -> set[str]:
    """Every number in a text, as `repr` of its value, with and without a sign that may be a dash."""
    found = {float(match[0]) for match in _NUMBER.finditer(text)}
    return {repr(value) for number in found for value in (number, abs(number))}


def stated_numbers(result: ScanResult) -> Iterator[float]:
    """Every number that a result claims to have read."""
    for reading in result.readings:
        yield from (n for n in (reading.value, reading.threshold, *reading.per_prompt) if n is not None)
    for failure in result.failures:
        yield from (n for n in (failure.value, failure.threshold) if n is not None)


def check_log(data: bytes, known: LogForms) -> ScanResult:
    """No crash, no number that is not in the text, the same answer in pieces of any size."""
    result = scan([data], known)
    told = answer(result)
    check_numbers(result, shown(data))
    for size in (1, 7, 64):
        if len(data) <= 400 * size:
            pieces = [data[place : place + size] for place in range(0, len(data), size)]
            assert answer(scan(pieces, known)) == told, f"in pieces of {size}"
    return result


def answer(result: ScanResult) -> str:
    """A result as strict JSON."""
    return json.dumps(result.as_dict(), allow_nan=False)


def check_numbers(result: ScanResult, text: str) -> None:
    invented = {repr(number) for number in stated_numbers(result)} - printed_numbers(text)
    assert not invented, f"not in the text: {sorted(invented)}"
    for failure in result.failures:
        bound = failure.kind == "bound"
        assert bound == (failure.value is not None), "only a bound has a value"
        assert bound or failure.threshold is None, "a bound without a value"
        assert failure.threshold is None or math.isfinite(failure.threshold)
        assert failure.attempts >= 1


def check_cut(data: bytes, end: int, known: LogForms) -> None:
    """A log cut anywhere states no number that the whole text does not hold whole."""
    check_numbers(scan([data[:end]], known), shown(data))


def check_zip(data: bytes) -> None:
    """Any file: its logs in pieces of bounded size and number, or one sentence about it."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            for log in archives.read_logs(file.name):
                size = 0
                for chunk in log:
                    assert len(chunk) <= archives.CHUNK
                    size += len(chunk)
                assert size <= max(archives.SMALL, archives.MAX_RATIO * len(data)) + archives.CHUNK
                _, inside, entry = log.name.partition("!")
                assert not inside or not (entry.startswith("/") or "\\" in entry or "../" in entry)
        except InputError as refused:
            assert refused.message.startswith(f"{file.name}: ") and refused.message.endswith(".")
            assert "\n" not in refused.message and "\x1b" not in refused.message


def check_pack(text: bytes) -> None:
    """Any text as a pack and as a repository's file: a pack that can scan, or errors with their places."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.yaml"
        path.write_bytes(text)
        pack = load_pack(path)
    config = repository_pack(text, "x.yml")
    for found in (pack, config):
        if isinstance(found, PackErrors):
            assert found.errors
            for error in found.errors:
                assert _PLACE.match(error.removeprefix(f"{folder}/")), error
                assert "\n" not in error, error
        else:
            loaded = found if isinstance(found, Pack) else found.pack
            scan([b"avg_kl_div=0.1 > threshold=0.05\n" * 3], loaded.scan_forms)
