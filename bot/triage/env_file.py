"""The file of settings that `kl-triage setup` writes: lines NAME=value, as a shell or Docker reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.verdict.answer import Refusal

MAX_BYTES: Final = 64 * 1024
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
        found[setting[1]] = words
    return found


def _words(line: str) -> str | None:
    """The value as a shell would read it; None where that is more than one word."""
    try:
        words = shlex.split(line.removeprefix("export "))
    except ValueError:
        return None
    return words[0].partition("=")[2] if len(words) == 1 else None
