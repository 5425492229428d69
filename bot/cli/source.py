"""Commands that find a bound in source, and change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from bot.cli.shared import refuse


@click.command()
@click.argument("file", type=click.Path())
@click.option("--test", required=True, help="Class.method")
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--json", "as_json", is_flag=True)
def locate(file: str, test: str, root: Path, as_json: bool) -> None:
    """The one literal that sets a test's bound, and what it governs; or why there is none to change."""
    from bot.report.terminal import site_text
    from bot.verdict.answer import Refusal

    site = _located(root, file, test)
    if isinstance(site, Refusal):
        refuse(site, as_json)
    click.echo(json.dumps({"site": site.as_dict(), "refusal": None}) if as_json else site_text(site))


@click.command()
@click.argument("file", type=click.Path())
@click.option("--test", required=True, help="Class.method")
@click.option("--to", "new", type=float, required=True, help="The new bound.")
@click.option("--comment", required=True, help="One line, put above the bound.")
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--write", is_flag=True, help="Apply the edit.")
@click.option("--json", "as_json", is_flag=True)
def bump(file: str, test: str, new: float, comment: str, root: Path, write: bool, as_json: bool) -> None:
    """Loosen a bound: print the unified diff of one number and one comment line."""
    from bot.source import bump as edit
    from bot.source import diff
    from bot.verdict.answer import Refusal

    site = _located(root, file, test)
    if isinstance(site, Refusal):
        refuse(site, as_json)
    old = (root / file).read_bytes()
    edited = edit(old, site, new, comment)
    if isinstance(edited, Refusal):
        refuse(edited, as_json)
    text = diff(old, edited, file)
    click.echo(
        json.dumps({"diff": text, "site": site.as_dict(), "refusal": None}) if as_json else text, nl=as_json
    )
    if write:
        (root / file).write_bytes(edited)


def _located(root: Path, file: str, test: str) -> Any:
    from bot.source import locate as find

    def read(path: str) -> bytes | None:
        target = (root / path).resolve()
        inside = target.is_relative_to(root.resolve())
        return target.read_bytes() if inside and target.is_file() else None

    return find(file, test, read)
