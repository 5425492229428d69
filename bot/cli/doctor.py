"""`kl-triage doctor`: what is wrong around the bot, each thing with its fix."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

import click

from bot.cli.inputs import InputError
from bot.cli.shared import environment, say, terminal


@click.command()
@click.argument("repositories", nargs=-1, metavar="[OWNER/REPO]...")
@click.option(
    "--env", "env_file", type=click.Path(path_type=Path), help="File of settings, as setup writes it."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the list.")
def doctor(repositories: tuple[str, ...], env_file: Path | None, as_json: bool) -> NoReturn:
    """Look at the settings, the App, its webhook, and each repository: what is wrong, and how to mend it.

    Without a repository it looks at those that the App is installed on. Exit 2: something is wrong.
    """
    from bot.github.connect import connect
    from bot.report.findings import Finding, Level, findings_document, findings_text, is_fine
    from bot.triage.doctor.preflight import SETTINGS, misspelt, preflight
    from bot.triage.settings import from_environment
    from bot.verdict.answer import Refusal

    for name in repositories:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}", name):
            raise InputError(f"'{name}' is not a repository such as sgl-project/sglang.")
    settings = from_environment(environment(env_file))
    if isinstance(settings, Refusal):
        found = [Finding(Level.WRONG, SETTINGS, settings.sentence)]
    else:
        found = preflight(settings, connect(settings.credentials), repositories)
    found += misspelt(os.environ)
    width, color = terminal()
    if as_json:
        click.echo(json.dumps(findings_document(found)))
    else:
        say(findings_text(found, width, color))
    sys.exit(0 if is_fine(found) else 2)
