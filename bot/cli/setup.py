"""Commands that set a repository up, and check its rules."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bot.cli.inputs import InputError
from bot.cli.shared import named_pack


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
