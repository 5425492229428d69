"""Settings by name, and the file that `kl-triage setup` writes: lines NAME=value, for a shell or Docker."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from bot.verdict.answer import Refusal

MAX_BYTES: Final = 64 * 1024
_PREFIX: Final = "KL_TRIAGE_"
SERVER: Final = frozenset(
    _PREFIX + name
    for name in (
        *("WEBHOOK_SECRET", "APP_ID", "APP_KEY", "TOKEN", "GITHUB_API", "DATABASE_URL", "EXECUTOR_ID"),
        *("STOP", "POLL_SECONDS", "SWEEP_SECONDS", "SECONDS_BETWEEN_WRITES"),
        *("QUEUE_DEADLINE_SECONDS", "RUN_DEADLINE_SECONDS"),
    )
)
"""Every setting of the server."""
_ELSEWHERE: Final = frozenset(
    _PREFIX + name for name in ("GITHUB_TOKEN", "PACKAGE", "PARALLEL", "LAUNCH", "CLONE", "KILLS")
)
"""Names that other parts read: harvest, runners and tests."""
_LINE: Final = re.compile(r"(?:export\s+)?(KL_TRIAGE_[A-Z_]+)=(.*)")


def env_text(values: Mapping[str, str]) -> str:
    """Quoted only where it must be: Docker takes quotes for a part of the value."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def read_env_file(path: Path) -> dict[str, str] | Refusal:
    """The settings in a file; a line that is none is named by its number, not shown: it may hold a secret."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        return Refusal("bad_env_file", f"{path} cannot be read: {why}.")
    if len(text) > MAX_BYTES:
        return Refusal("bad_env_file", f"{path} is too large for a file of settings.")
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        words = _words(stripped)
        setting = _LINE.fullmatch(stripped)
        if setting is None or words is None:
            return Refusal("bad_env_file", f"{path}:{number}: must be a line such as KL_TRIAGE_APP_ID=12.")
        if setting[1] not in SERVER:
            return Refusal("bad_env_file", f"{path}:{number}: {unknown_setting(setting[1])}")
        found[setting[1]] = words
    return found


def unknown_settings(names: Iterable[str]) -> list[str]:
    """Those that begin like a setting and are none: a slip of the pen would pass in silence."""
    return sorted(name for name in names if name.startswith(_PREFIX) and name not in SERVER | _ELSEWHERE)


def unknown_setting(name: str) -> str:
    """One sentence, with the nearest name that is one."""
    near = difflib.get_close_matches(name, sorted(SERVER), n=1)
    return f"{name[:80]} is no setting{f'; did you mean {near[0]}?' if near else '.'}"


def _words(line: str) -> str | None:
    """The value as a shell would read it; None where that is more than one word."""
    try:
        words = shlex.split(line.removeprefix("export "))
    except ValueError:
        return None
    return words[0].partition("=")[2] if len(words) == 1 else None
