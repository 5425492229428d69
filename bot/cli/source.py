"""Commands that find a bound in source, and change it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bot.cli.inputs import InputError
from bot.cli.shared import named_pack, refuse

if TYPE_CHECKING:
    from bot.source.lines import LineSite
    from bot.source.site import Site
    from bot.verdict.answer import Refusal
    from rules import Pack

_NOT_SOURCE: Final = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}

_file = click.argument("file", type=click.Path())
_test = click.option("--test", help="Class.method, in a Python file.")
_line = click.option("--line", type=click.IntRange(1), help="Line of the bound, in a shell or YAML file.")
_root = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Top of the source tree; FILE is relative to it, or to the current folder.",
)
_rules = click.option(
    "--rules",
    "pack_name",
    default="sglang",
    show_default=True,
    help="Rule pack, a name or a file: what bounds are called, and where they stand in shell and YAML.",
)
_json = click.option("--json", "as_json", is_flag=True, help="One JSON document: the site, or the refusal.")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A file of a tree, and what in it is meant: a test's bound, or the one in a line."""

    top: Path
    path: str
    test: str | None
    line: int | None
    pack: Pack

    def read(self, path: str) -> bytes | None:
        target = (self.top / path).resolve()
        inside = target.is_relative_to(self.top)
        return target.read_bytes() if inside and target.is_file() else None

    @property
    def spans(self) -> Callable[[str], Any]:
        return partial(self.pack.bound_sites, self.path)


@click.command()
@_file
@_test
@_line
@_root
@_rules
@_json
def locate(file: str, test: str | None, line: int | None, root: Path, pack_name: str, as_json: bool) -> None:
    """The one literal that sets a test's bound, and what it governs; or why there is none to change.

    Of a shell or YAML file: the bound that the rule pack's forms find in it.
    """
    from bot.report.terminal import line_text, site_text
    from bot.source.lines import LineSite
    from bot.verdict.answer import Refusal

    site = _located(_asked(file, test, line, root, pack_name))
    if isinstance(site, Refusal):
        refuse(site, as_json)
    text = line_text(site) if isinstance(site, LineSite) else site_text(site)
    refused = None if isinstance(site, LineSite) else site.refusal
    document = {"site": site.as_dict(), "refusal": None if refused is None else asdict(refused)}
    click.echo(json.dumps(document) if as_json else text)
    if refused is not None:
        sys.exit(2)


@click.command()
@_file
@_test
@_line
@click.option("--to", "new", type=float, required=True, help="The new bound.")
@click.option("--comment", required=True, help="One line, put above the bound.")
@_root
@_rules
@click.option("--write", is_flag=True, help="Apply the edit.")
@_json
def bump(
    file: str,
    test: str | None,
    line: int | None,
    new: float,
    comment: str,
    root: Path,
    pack_name: str,
    write: bool,
    as_json: bool,
) -> None:
    """Loosen a bound: print the unified diff of one number, or one statement, and one comment line."""
    from bot.source import EditError, diff
    from bot.source.lines import LineSite
    from bot.verdict.answer import Refusal

    asked = _asked(file, test, line, root, pack_name)
    site = _located(asked)
    if isinstance(site, Refusal):
        refuse(site, as_json)
    path = site.path if isinstance(site, LineSite) or site.override is None else site.override.path
    old = asked.read(path) or b""
    try:
        edited = _edited(asked, site, path, old, new, comment)
    except EditError as error:
        raise InputError(f"the edit failed its proof and was dropped ({error}); please report it.") from None
    if isinstance(edited, Refusal):
        refuse(edited, as_json)
    text = diff(old, edited, path)
    document = {"diff": text, "site": site.as_dict(), "refusal": None}
    click.echo(json.dumps(document) if as_json else text, nl=as_json)
    if write:
        (asked.top / path).write_bytes(edited)


def _asked(file: str, test: str | None, line: int | None, root: Path, pack_name: str) -> _Asked:
    if test is None and file.endswith(".py"):
        raise InputError("a bound in a Python file is found by its test: give --test Class.method.")
    if test is not None and line is not None:
        raise InputError("--test is for Python files, --line for shell and YAML files: give one of them.")
    top = root.resolve()
    return _Asked(top, _in_tree(top, file), test, line, named_pack(pack_name))


def _in_tree(top: Path, file: str) -> str:
    """FILE as a path of the tree, whether it is relative to the tree or to the current folder."""
    if not _is_utf8(file):
        raise InputError("the file's name is not UTF-8; rename the file.")
    inside = [path for path in ((top / file).resolve(), Path(file).resolve()) if path.is_relative_to(top)]
    named = next((path for path in inside if path.is_file()), inside[0] if inside else None)
    return file if named is None else named.relative_to(top).as_posix()


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _located(asked: _Asked) -> Site | LineSite | Refusal:
    from bot.source import locate as find
    from bot.source.lines import locate_line
    from bot.verdict.answer import Refusal

    if asked.test is not None:
        pack, files = asked.pack, partial(_python_files, asked.top)
        return find(asked.path, asked.test, asked.read, pack.attributes, pack.exact_gate, list_files=files)
    data = asked.read(asked.path)
    if data is None:
        return Refusal("file_not_found", f"There is no file '{asked.path}' in this tree; check the path.")
    return locate_line(asked.path, data, asked.spans, asked.line, asked.pack.exact_gate)


def _edited(
    asked: _Asked, site: Site | LineSite, path: str, old: bytes, new: float, comment: str
) -> bytes | Refusal:
    from bot.source import bump as edit
    from bot.source.lines import LineSite, bump_line
    from bot.source.relocate import relocation
    from bot.verdict.answer import Refusal

    if not isinstance(site, LineSite):
        pack = asked.pack
        again = relocation(asked.path, asked.test or "", asked.read, path, pack.attributes, pack.exact_gate)
        return edit(old, site, new, comment, again)
    moved = bump_line(old, site, new, comment, asked.spans, asked.pack.exact_gate)
    if isinstance(moved, Refusal):
        return moved
    if not moved.commented:
        click.echo("No comment line can stand above this bound; the diff has none.", err=True)
    return moved.data


def _python_files(top: Path) -> Iterator[str]:
    """Every .py file below, in a fixed order; folders that hold no source of the project are left out."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_SOURCE)
        for name in sorted(files):
            if name.endswith(".py"):
                if not _is_utf8(str(Path(folder, name))):
                    raise InputError(
                        "the tree holds a .py file whose name is not UTF-8, so not every test can be named; "
                        "rename the file."
                    )
                yield Path(folder, name).relative_to(top).as_posix()
