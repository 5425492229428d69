"""kl-triage as a person calls it: in a process of its own, or in this one, which is half a second cheaper."""

from __future__ import annotations

import io
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.cli import main

Done = subprocess.CompletedProcess[str]


def run(
    *arguments: str, stdin: str = "", cwd: Path | None = None, env: Mapping[str, str | None] | None = None
) -> Done:
    """What the entry point does with these words, in this process: exit code and both streams.

    `env`: what differs from this process's environment; None for a name that is not set.
    """
    given, out, err = _stream(stdin.encode()), _stream(), _stream(errors="backslashreplace")
    with pytest.MonkeyPatch.context() as patch, _undisturbed(err):
        patch.setattr(sys, "argv", ["kl-triage", *arguments])
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        for name, value in (env or {}).items():
            patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int), "a process would print this and exit 1"
    return Done(["kl-triage", *arguments], code, _text(out), _text(err))


def process(*arguments: str, stdin: str = "", cwd: Path | None = None) -> Done:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "bot.cli", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, cwd=cwd, check=False, timeout=60
    )


def _stream(data: bytes = b"", errors: str = "strict") -> io.TextIOWrapper:
    """As a pipe: no terminal, UTF-8."""
    return io.TextIOWrapper(io.BytesIO(data), "utf-8", errors, write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextmanager
def _undisturbed(err: io.TextIOWrapper) -> Iterator[None]:
    """Warnings go to `err` as in a process; afterwards signals and log are as before."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    log = logging.StreamHandler(err)
    log.setLevel(logging.WARNING)
    logging.getLogger().addHandler(log)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(log)
        for number, handler in signals.items():
            signal.signal(number, handler)
