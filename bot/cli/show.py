"""Commands that run the bot: on this machine as a demo, or as a server."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from bot.cli.inputs import InputError
from bot.cli.shared import environment


@click.command()
@click.option(
    "--scenario", type=click.Choice(["noise", "regression", "intermittent", "deterministic"]), default="noise"
)
@click.option("--keep", is_flag=True, help="Leave everything running afterwards and print the addresses.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="Port of the GitHub stand-in; 0: any free one."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the story.")
def demo(scenario: str, keep: bool, port: int, as_json: bool) -> NoReturn:
    """Show the whole loop on this machine: red CI job, reruns, verdict, comment, draft pull request."""
    from bot.demo.command import run_demo

    sys.exit(run_demo(scenario, keep=keep, as_json=as_json, port=port))


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65_535), default=8080, show_default=True)
@click.option(
    "--env", "env_file", type=click.Path(path_type=Path), help="File of settings, as setup writes it."
)
@click.option("--overview", is_flag=True, help="Serve a page of investigations at /; it has no login.")
def serve(host: str, port: int, env_file: Path | None, overview: bool) -> NoReturn:
    """Run the bot: webhook and workers. Settings come from KL_TRIAGE_* in the environment."""
    from bot.triage.settings import from_environment
    from bot.verdict.answer import Refusal
    from bot.web.server import run_server

    settings = from_environment(environment(env_file))
    if isinstance(settings, Refusal):
        raise InputError(settings.sentence)
    refusal = run_server(settings, host=host, port=port, overview=overview)
    if refusal is not None:
        raise InputError(refusal.sentence)
    os._exit(0)  # parked workflows hold threads that would keep the process alive
