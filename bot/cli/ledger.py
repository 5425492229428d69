"""`kl-triage ledger`: how far bounds were moved over time, from git history and the bot's own bumps."""

from __future__ import annotations

import json
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bot.cli.inputs import InputError
from bot.cli.shared import named_pack, say, terminal

if TYPE_CHECKING:
    from bot.cli.bumps import OwnBumps
    from bot.cli.git_history import GitHistory
    from bot.report.ledger import Row, SiteLedger
    from bot.source import Site
    from bot.source.history import BoundHistory
    from bot.verdict import Refusal
    from rules import Pack

SECONDS: Final = 60.0
CONFIG_PATH: Final = ".github/kl-triage.yml"
# How the bot's own comment beside a bound says when it wants another look.
_EXPIRY: Final = re.compile(rb"look again after (\d{4}-\d{2}-\d{2})")
_LINES_ABOVE: Final = 400
"""Bytes before the literal in which that comment stands."""


@dataclass(frozen=True, slots=True)
class Found:
    """A literal at HEAD and one test that it governs; `moves` is its history."""

    test: str
    site: Site
    moves: BoundHistory
    complete: bool
    rows: tuple[Row, ...]

    @property
    def first_known(self) -> bool:
        return self.complete and self.moves.reaches_back


@click.command()
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="A folder of the git repository.",
)
@click.option("--test", help="One test: path::Class.method")
@click.option("--path", help="The tests of one file.")
@click.option("--rules", "pack_name", help="Rule pack: a name or a file. Default: the repository's own.")
@click.option("--database", help="The bot's own database: its bumps, and what became of them.")
@click.option(
    "--repository",
    metavar="OWNER/REPO",
    help="Its name in that database. Default: what the remote 'origin' says.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of tables.")
def ledger(
    repo: Path,
    test: str | None,
    path: str | None,
    pack_name: str | None,
    database: str | None,
    repository: str | None,
    as_json: bool,
) -> None:
    """Every move of a bound since its first value: when, from what to what, in which commit.

    Without --test and --path: every bound in the test files of the rule pack. Only what is committed counts.
    """
    from bot.cli.bumps import own_bumps
    from bot.cli.git_history import GitHistory
    from bot.report.ledger import ledger_text
    from bot.report.markdown import one_line
    from bot.verdict import Policy

    if test is not None and path is not None:
        raise InputError("give --test or --path, not both.")
    cap = Policy().cumulative_cap
    with GitHistory(repo, SECONDS) as git:
        pack = _pack(git, pack_name, needed=test is None and path is None)
        bumps = own_bumps(database, repository, git)
        found, refusals = _ledgers(git, _tests(git, test, path, pack), pack, bumps, cap)
        late = git.time_is_up
    if as_json:
        click.echo(json.dumps(_document(git.head, found, refusals, cap, complete=not late)))
    else:
        width, color = terminal()
        say(ledger_text([_shown(one) for one in found], cap, width, color))
        if not found and not refusals:
            say("No bound was found there.\n")
        for named, why in refusals:
            say(f"{one_line(named)}: {one_line(why.sentence, 400)}\n")
        if late:
            say(f"Cut: {SECONDS:.0f} s were over; name one --path or --test.\n")
    sys.exit(0 if found else 2)


def _pack(git: GitHistory, name: str | None, *, needed: bool) -> Pack | None:
    from rules import PackErrors, repository_pack

    if name is not None:
        pack: Pack = named_pack(name)
        return pack
    data = git.read(CONFIG_PATH)
    if data is None:
        if needed:
            raise InputError(
                f"HEAD has no {CONFIG_PATH}; name a rule pack with --rules, or a --path or --test."
            )
        return None
    config = repository_pack(data, CONFIG_PATH)
    if isinstance(config, PackErrors):
        raise InputError("\n".join(config.errors))
    return config.pack


def _tests(git: GitHistory, test: str | None, path: str | None, pack: Pack | None) -> Iterator[str]:
    """What is asked of `locate`: one test, or each test and class of the files."""
    from bot.report.markdown import one_line
    from bot.source.lineage import SourceFile

    if test is not None:
        file, separator, name = test.partition("::")
        if not separator:
            raise InputError(f"'{one_line(test, 100)}' is no test; write path::Class.method.")
        yield f"{_in_tree(file)}::{name}"
        return
    path = None if path is None else _in_tree(path)
    if path is not None and git.read(path) is None:
        raise InputError(f"HEAD has no file '{one_line(path, 200)}'.")
    paths = [path] if path is not None else [p for p in git.paths if pack is not None and pack.is_test(p)]
    for file in _with_progress(paths):
        data = None if git.time_is_up else git.read(file)
        if data is not None:
            for cls in SourceFile(file, data).block.classes:
                yield from (f"{file}::{cls.name}.{method}" for method in cls.methods())
                yield f"{file}::{cls.name}"


def _in_tree(path: str) -> str:
    """As git spells it: ./a//b.py is a/b.py."""
    return posixpath.normpath(path)


def _with_progress(paths: Sequence[str]) -> Iterator[str]:
    """On standard error, where it leaves nothing behind."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(
        paths, "reading", console=console, transient=True, disable=not console.is_terminal or len(paths) < 2
    )


def _ledgers(
    git: GitHistory, tests: Iterator[str], pack: Pack | None, bumps: OwnBumps, cap: float
) -> tuple[list[Found], list[tuple[str, Refusal]]]:
    """One for each literal, whatever number of tests it governs."""
    from bot.source import ATTRIBUTES, Site, locate
    from bot.source.history import history
    from bot.source.locate import EXACT_GATE

    attributes, gate = (pack.attributes, pack.exact_gate) if pack else (ATTRIBUTES, EXACT_GATE)
    found: dict[tuple[str, str], Found] = {}
    refusals: list[tuple[str, Refusal]] = []
    histories: dict[str, Any] = {}
    for test in tests:
        file, _, name = test.partition("::")
        site = locate(file, name, git.read, attributes, gate)
        if not isinstance(site, Site):
            # Most classes of a test file have no bound at all.
            if site.code != "bound_not_found":
                refusals.append((test, site))
            continue
        if (site.path, site.name) in found:
            continue
        if site.path not in histories:
            histories[site.path] = git.versions(site.path)
        versions, complete = histories[site.path]
        contents = git.contents(versions)
        moves = history(contents, site.path, test, git.read, attributes, gate, git.read_at)
        rows = tuple(bumps.rows(site, moves, cap, _expiry(git, site)))
        found[site.path, site.name] = Found(test, site, moves, complete, rows)
    return list(found.values()), refusals


def _expiry(git: GitHistory, site: Site) -> datetime | None:
    """The day that the bot's comment above the literal names."""
    data = git.read(site.path) or b""
    named = _EXPIRY.findall(data[max(site.start - _LINES_ABOVE, 0) : site.start])
    try:
        return datetime.strptime(named[-1].decode(), "%Y-%m-%d").replace(tzinfo=UTC) if named else None
    except ValueError:
        return None


def _shown(found: Found) -> SiteLedger:
    from bot.report.ledger import SiteLedger

    moves, notes = found.moves, []
    if not found.complete:
        notes.append("Older versions of the file are not in this history, so the first bound may be another.")
    if moves.gaps:
        last = moves.gaps[-1]
        notes.append(
            f"Not read in {len(moves.gaps)} of {moves.versions} versions, the last "
            f"{last.commit.sha[:12]}: {last.why.sentence}"
        )
    since = f"{moves.since.at:%Y-%m-%d}" if moves.since else ""
    name, value = f"{found.site.path}::{found.site.name}", found.site.value
    return SiteLedger(
        name, found.test, value, moves.first, since, found.rows, tuple(notes), found.first_known
    )


def _document(
    head: str, found: list[Found], refusals: list[tuple[str, Refusal]], cap: float, *, complete: bool
) -> dict[str, Any]:
    from bot.source.history import factor_over

    return {
        "head": head,
        "cap": cap,
        "complete": complete,
        "sites": [
            {
                "path": one.site.path,
                "class": one.site.cls,
                "attribute": one.site.attribute,
                "test": one.test,
                "value": one.site.value,
                "first": one.moves.first,
                "first_known": one.first_known,
                "since": f"{one.moves.since.at:%Y-%m-%d}" if one.moves.since else None,
                "factor": factor_over(one.moves.first, one.site.value),
                "moves": [asdict(row) for row in one.rows],
                "versions": one.moves.versions,
                "complete": one.complete and not one.moves.gaps,
                "gaps": [{"commit": gap.commit.sha, "code": gap.why.code} for gap in one.moves.gaps],
            }
            for one in found
        ],
        "refusals": [{"test": test, **asdict(why)} for test, why in refusals],
    }
