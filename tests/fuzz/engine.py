"""Runs one target under atheris: seeds and a dictionary in, crashes and hangs out. See `make fuzz-logs`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NoReturn

import atheris

FOLDER: Final = Path("build/fuzz")
INPUT_SECONDS: Final = 10
"""An input that takes longer is a hang."""
MEMORY_MB: Final = 1024


def fuzz(
    name: str, check: Callable[[bytes], None], seeds: Iterable[bytes], words: Iterable[bytes], longest: int
) -> NoReturn:
    """Ends the process: 0 after the seconds of the first argument (60), else with the input that failed.

    What was found to reach code anew is kept in build/fuzz/<name> for the next run.
    """
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else 60
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    dictionary = FOLDER / f"{name}.dict"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words))
    options = [
        f"-dict={dictionary}",
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={longest}",
        f"-artifact_prefix={FOLDER}/{name}-",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], check)
    atheris.Fuzz()
    sys.exit(0)


def _escaped(word: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word)
