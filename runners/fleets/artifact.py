"""The artifact of a rerun job as readings. Its bytes come from a machine that ran untrusted code.

Pure. Every size is capped before it is spent, a reading counts only if the plan asked for it, and secrets are
cut out of its texts before they go anywhere.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Final

from bot.verdict.answer import Refusal
from bot.verdict.reading import Reading, RecordError
from bot.verdict.redaction import without_secrets
from runners.plan import RerunPlan

MAX_ZIP_BYTES: Final = 64 << 20
MAX_ENTRIES: Final = 500
MAX_FILE_BYTES: Final = 64 << 20
MAX_RATIO: Final = 200
MAX_LINE_BYTES: Final = 1 << 20
MAX_CHECKS: Final = 64
MAX_PROMPTS: Final = 4096
MAX_TEXT: Final = 500
_RATIO_FREE_BYTES: Final = 1 << 20
_SYMLINK: Final = 0o120000


class _Bad(Exception):
    """Turned into a Refusal at the border of this module."""


def read_artifact(data: bytes, plan: RerunPlan) -> tuple[Reading, ...] | Refusal:
    """The readings in the zip, all of them the plan's own, or why the whole artifact is not believed."""
    try:
        return _readings(_unzip(data, plan), plan)
    except _Bad as error:
        return Refusal("bad_artifact", f"The artifact of the rerun was not used: {error}.")


def read_folder(files: Mapping[str, bytes], plan: RerunPlan) -> tuple[Reading, ...] | Refusal:
    """The same for the bytes of `readings-<arm>.jsonl`, keyed by arm."""
    try:
        return _readings(files, plan)
    except _Bad as error:
        return Refusal("bad_readings", f"The readings of the rerun were not used: {error}.")


def _unzip(data: bytes, plan: RerunPlan) -> dict[str, bytes]:
    if len(data) > MAX_ZIP_BYTES:
        raise _Bad(f"it is larger than {MAX_ZIP_BYTES >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _wanted(archive, {f"readings-{arm}.jsonl": arm for arm in plan.commits})
    except _Bad:
        raise
    except Exception as error:  # zipfile raises whatever it stumbles over in bytes made to hurt
        raise _Bad("it is not a zip that can be read") from error


def _wanted(archive: zipfile.ZipFile, arms: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of the files of readings, keyed by arm."""
    found: dict[str, bytes] = {}
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise _Bad(f"it has more than {MAX_ENTRIES} files")
    for entry in entries:
        _check_name(entry)
        arm = arms.get(entry.filename)
        if arm is None:
            continue  # logs, summary and plan are for people; what is not opened costs nothing
        _check_size(entry)
        if arm in found:
            raise _Bad(f"it has {entry.filename} twice")
        with archive.open(entry) as file:
            found[arm] = file.read(MAX_FILE_BYTES + 1)
        if len(found[arm]) > MAX_FILE_BYTES:
            raise _Bad(f"{entry.filename} is larger than {MAX_FILE_BYTES >> 20} MiB")
    return found


def _check_name(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    # Nothing is ever unpacked to a disk; the harness just does not write such names, so somebody else did.
    if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\\" in entry.orig_filename:
        raise _Bad("it has a file name that leads out of its folder")
    if (entry.external_attr >> 16) & 0o170000 == _SYMLINK:
        raise _Bad("it has a link in it")


def _check_size(entry: zipfile.ZipInfo) -> None:
    """What the zip says of itself; the read is capped besides, for a zip that lies."""
    if entry.file_size > MAX_FILE_BYTES:
        raise _Bad(f"{entry.filename} is larger than {MAX_FILE_BYTES >> 20} MiB")
    if entry.file_size > max(_RATIO_FREE_BYTES, MAX_RATIO * entry.compress_size):
        raise _Bad(f"{entry.filename} is packed more than {MAX_RATIO} times")


def _readings(files: Mapping[str, bytes], plan: RerunPlan) -> tuple[Reading, ...]:
    readings: list[Reading] = []
    checks: dict[tuple[str | None, int | None], set[str | None]] = {}
    for arm in plan.commits:
        # What follows the last line end was cut off while it was written.
        for number, line in enumerate(files.get(arm, b"").split(b"\n")[:-1], 1):
            where = f"readings-{arm}.jsonl line {number}"
            reading = _reading(line, where)
            _check_provenance(reading, arm, plan, where)
            labels = checks.setdefault((reading.launch, reading.repeat), set())
            if reading.label in labels or len(labels) >= MAX_CHECKS:
                raise _Bad(f"{where}: more readings of one repeat than were planned")
            labels.add(reading.label)
            readings.append(without_secrets(reading))
    return tuple(readings)


def _reading(line: bytes, where: str) -> Reading:
    if len(line) > MAX_LINE_BYTES:
        raise _Bad(f"{where} is longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        return Reading.from_record(json.loads(line))
    except RecordError as error:
        raise _Bad(f"{where}: field '{_printable(error.field)}' {error.problem}") from None
    except (ValueError, RecursionError):
        raise _Bad(f"{where} is not JSON") from None


def _check_provenance(reading: Reading, arm: str, plan: RerunPlan, where: str) -> None:
    if reading.arm != arm:
        raise _Bad(f"{where}: the arm is {reading.arm}, not {arm}")
    if reading.test != plan.test:
        raise _Bad(f"{where}: the test is not the planned one")
    if reading.commit != plan.commits[arm]:
        raise _Bad(f"{where}: the commit is not the planned one of {arm}")
    place = plan.place_of(reading.launch)
    planned = None if place is None else plan.launches[place[0] - 1]
    repeats = planned.repeats if planned is not None and planned.arm == arm else 0
    if reading.repeat is None or not 1 <= reading.repeat <= repeats:
        raise _Bad(f"{where}: no such launch and repeat was planned")
    if len(reading.per_prompt) > MAX_PROMPTS:
        raise _Bad(f"{where}: more than {MAX_PROMPTS} prompts")
    texts = (
        reading.label,
        reading.at,
        reading.host,
        reading.gpu,
        reading.driver,
        reading.source,
        reading.error,
    )
    if any(text is not None and len(text) > MAX_TEXT for text in texts):
        raise _Bad(f"{where}: a text is longer than {MAX_TEXT} characters")


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isalnum() or character in "_ ()")[:40]
