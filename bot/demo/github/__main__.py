"""`python -m bot.demo.github --root DIR --config config.json`: the stand-in as a process of its own.

DIR/repo.git is the bare repository, DIR/work holds the workspaces of jobs while they run. When it listens
it prints one line of JSON, {"url": ...}; SIGTERM ends it and every job.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from flask import Flask

from bot.demo.actions import LocalExecutor
from bot.demo.executor import Runner
from bot.demo.github.config import ConfigError, DemoConfig, parse_config
from bot.demo.github.server import Server


class Refused(Exception):
    """Cannot start; the message is one line for a person."""


def main(arguments: list[str] | None = None, prepare: Callable[[Flask], object] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bot.demo.github")
    parser.add_argument("--root", type=Path, required=True, help="folder with repo.git")
    parser.add_argument("--config", type=Path, required=True, help="JSON of bot.demo.github.DemoConfig")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, stream=sys.stderr)
    try:
        server = _start(options.root, _config(options.config), options.port, prepare)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, _interrupt)
    with server:
        print(json.dumps({"url": server.url}), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()
    return 0


def _start(root: Path, config: DemoConfig, port: int, prepare: Callable[[Flask], object] | None) -> Server:
    if shutil.which("git") is None:
        raise Refused("git is not installed or not on PATH")
    git_dir = root / "repo.git"
    if not (git_dir / "HEAD").is_file():
        raise Refused(f"{git_dir} is not a bare git repository")
    runners = [Runner(1 + index, runner.name, runner.labels) for index, runner in enumerate(config.runners)]
    executor = LocalExecutor(root / "work", runners)
    try:
        return Server(config, git_dir, executor, port, prepare)
    except OSError as error:
        raise Refused(
            f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); choose one with --port"
        ) from None
    except LookupError as error:
        raise Refused(str(error.args[0])) from None


def _config(path: Path) -> DemoConfig:
    try:
        return parse_config(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {error}") from None
    except ConfigError as error:
        raise Refused(f"{path}: {error}") from None


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: closing takes a moment
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
