"""Commands that set a repository up, and check its rules."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.inputs import InputError
from bot.cli.shared import named_pack

if TYPE_CHECKING:
    from bot.web.setup import SetupPlan


_FROM_INDEX = (
    "The rerun job installs {package} from the package index. Look first whether that release is there and "
    "ours: whoever owns the name runs code on your runners. --package takes a wheel or a git commit instead."
)


@click.command()
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option(
    "--rules", "pack_name", default="sglang", show_default=True, help="Rule pack of the repository."
)
@click.option("--runner", multiple=True, help="Label of a GPU runner that may take reruns; repeatable.")
@click.option(
    "--mode", type=click.Choice(["observe", "comment", "propose"]), default="observe", show_default=True
)
@click.option(
    "--package",
    help="What the rerun job measures with: kl-triage==X (default: this version), git+https://…@COMMIT, "
    "a wheel, or an interpreter of the runners that has kl-triage.",
)
@click.option("--python", help="What the rerun job runs the tests with.  [default: python3]")
@click.option("--json", "as_json", is_flag=True)
def init(
    repo: Path,
    pack_name: str,
    runner: tuple[str, ...],
    mode: str,
    package: str | None,
    python: str | None,
    as_json: bool,
) -> None:
    """Write .github/kl-triage.yml and .github/workflows/kl-rerun.yml into a repository."""
    from bot.verdict.answer import Refusal
    from runners.init import initial_files
    from runners.workflow import PACKAGE, PYTHON

    pack = named_pack(pack_name)
    labels = list(runner) or list(pack.runners)
    files = initial_files(pack.name, labels, mode, package=package or PACKAGE, python=python or PYTHON)
    if isinstance(files, Refusal):
        raise InputError(files.sentence)
    _write_all({repo / path: text.encode() for path, text in files.items()})
    click.echo(json.dumps({"written": list(files)}) if as_json else "\n".join(f"wrote {p}" for p in files))
    if package is None:
        click.echo(_FROM_INDEX.format(package=PACKAGE), err=True)


@click.command()
@click.option(
    "--url", "bot", help="Where GitHub will reach the bot, such as https://bot.example; else the page asks."
)
@click.option(
    "--org", "organisation", help="Organisation that is to own the App.  [default: your own account]"
)
@click.option(
    "--name", help="The App's name, at most 34 characters.  [default: kl-triage, with the organisation]"
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Port of the page; 0: any free one.")
@click.option(
    "--out",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=Path(),
    help="Folder for the key and the settings.  [default: this one]",
)
def setup(bot: str | None, organisation: str | None, name: str | None, port: int, out: Path) -> None:
    """Make the bot's GitHub App: serves a page on this machine with one button, and ends by itself.

    Writes the private key and a file of settings, both readable by you alone. KL_TRIAGE_GITHUB_API names a
    GitHub Enterprise Server.
    """
    from bot.web.setup_server import run_setup

    plan = _setup_plan(bot, organisation, name, out)
    try:
        refusal = run_setup(plan, port, lambda here: click.echo(f"Open {here} in a browser on this machine."))
    except KeyboardInterrupt:
        raise InputError("stopped; nothing was written.") from None
    if refusal is not None:
        raise InputError(refusal.sentence)
    click.echo(f"wrote {plan.files.key}\nwrote {plan.files.env}")
    click.echo(f"next: install the App, then kl-triage serve --env {plan.files.env}")


def _setup_plan(bot: str | None, organisation: str | None, name: str | None, out: Path) -> SetupPlan:
    """Raises InputError for what GitHub would refuse, and where a file is in the way."""
    from bot.github.app import MAX_NAME, is_login
    from bot.triage.settings import api_address
    from bot.verdict.answer import Refusal
    from bot.web.setup import SetupPlan, bot_address
    from bot.web.setup_files import SetupFiles

    api = api_address(os.environ)
    address = None if bot is None else bot_address(bot)
    for refused in (api, address):
        if isinstance(refused, Refusal):
            raise InputError(refused.sentence)
    if organisation is not None and not is_login(organisation):
        raise InputError(f"'{organisation}' is not the name of an organisation.")
    called = name or (f"kl-triage-{organisation}"[:MAX_NAME] if organisation else "kl-triage")
    if not 0 < len(called.strip()) <= MAX_NAME:
        raise InputError(f"--name takes 1 to {MAX_NAME} characters.")
    files = SetupFiles(out.resolve())
    if taken := files.taken():
        raise InputError(f"{taken} is there already; move it away, or choose another folder with --out.")
    return SetupPlan(str(api), organisation, called, None if address is None else str(address), files)


def _write_all(files: dict[Path, bytes]) -> None:
    """All or none; a file that holds something else is left as it is."""
    made: list[Path] = []
    try:
        new = [path for path in files if not _is_there(path, files[path])]
        for path in new:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                made.append(path)
                file.write(files[path])
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise InputError(f"{error.filename or 'a file'}: {error.strerror}; nothing was written.") from None


def _is_there(path: Path, data: bytes) -> bool:
    """Raises InputError where the file holds something else, OSError where it cannot be read."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        if file.read(len(data) + 1) != data:
            raise InputError(f"{path} is there already and differs; remove it to have it written anew.")
    return True


@click.group()
def rules() -> None:
    """Rule packs: what a project's KL tests look like."""


@rules.command()
@click.argument("packs", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True)
def check(packs: tuple[str, ...], as_json: bool) -> None:
    """Validate packs: every error with file:line:column."""
    from rules import check as check_packs

    problems = check_packs(packs)
    text = "\n".join(problems) or f"{len(packs)} pack(s) in order"
    click.echo(json.dumps({"errors": problems}) if as_json else text)
    sys.exit(1 if problems else 0)
