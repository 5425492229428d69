"""What several commands need: the terminal, rule packs, refusals."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from bot.cli.inputs import InputError


def terminal() -> tuple[int, bool]:
    """Width, and whether colours are wanted."""
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return min(shutil.get_terminal_size().columns, 100), color


def say(text: str) -> None:
    """In ASCII where the stream takes nothing else."""
    from bot.report.console import ascii_text

    utf_8 = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    click.echo(text if utf_8 else ascii_text(text), nl=False)


def environment(env_file: Path | None) -> Mapping[str, str]:
    """The environment over the file's settings. Raises InputError for a file that cannot be read."""
    from bot.triage.env_file import read_env_file
    from bot.verdict.answer import Refusal

    if env_file is None:
        return os.environ
    read = read_env_file(env_file)
    if isinstance(read, Refusal):
        raise InputError(read.sentence)
    return {**read, **os.environ}


def named_pack(name: str) -> Any:
    from rules import Pack, load_named, load_pack

    loaded = load_pack(Path(name)) if name.endswith((".yaml", ".yml")) else load_named(name)
    if not isinstance(loaded, Pack):
        raise InputError("\n".join(map(str, loaded.errors)))
    return loaded


def refuse(refusal: Any, as_json: bool, wanted: str = "site") -> NoReturn:
    document = {wanted: None, "refusal": {"code": refusal.code, "sentence": refusal.sentence}}
    click.echo(json.dumps(document) if as_json else f"refused ({refusal.code}): {refusal.sentence}")
    sys.exit(2)
