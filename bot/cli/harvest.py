"""`kl-triage harvest`: the readings of past CI jobs, a free baseline."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from bot.cli.inputs import InputError
from bot.cli.shared import named_pack

API: Final = "KL_TRIAGE_GITHUB_API"
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as shells give it."""

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from bot.store import Store
    from bot.store.history import Harvested
    from bot.triage.harvest.past import Past, Tally
    from bot.triage.harvest.steps import Source


@click.command()
@click.argument("repository", metavar="OWNER/REPO")
@click.option("--days", type=click.IntRange(1, 400), default=30, show_default=True)
@click.option("--rules", "pack_name", help="Rule pack: a name or a file. Default: the repository's own.")
@click.option(
    "--database",
    default=lambda: os.environ.get("KL_TRIAGE_DATABASE_URL", "sqlite:///kl-triage.sqlite"),
    help="Where readings are kept.  [default: KL_TRIAGE_DATABASE_URL, else sqlite:///kl-triage.sqlite]",
)
@click.option(
    "--api", help="GitHub's REST address.  [default: KL_TRIAGE_GITHUB_API, else https://api.github.com]"
)
@click.option(
    "--max-wait",
    type=click.FloatRange(0, 24 * 60),
    default=65.0,
    show_default=True,
    help="Longest wait for spent rate limits in all, in minutes; beyond it the harvest ends.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the summary.")
def harvest(
    repository: str,
    days: int,
    pack_name: str | None,
    database: str,
    api: str | None,
    max_wait: float,
    as_json: bool,
) -> None:
    """Read the KL values of past CI jobs of the default branch. Call it again at any time: it goes on.

    Runs count that a push or a schedule started. A red test is compared only with jobs that asked for the
    same runner labels; where these name no type of machine, the logs must name the same GPU too.

    The token in KL_TRIAGE_TOKEN needs to read Actions and contents.
    """
    from github import GithubException
    from requests import RequestException

    from bot.triage.harvest.past import Stopped

    progress, task = _progress()
    stopped = None
    try:
        past = _past(repository, pack_name, database, api, timedelta(minutes=max_wait), progress)
        try:
            _read(past, days, progress, task)
        except Stopped as reason:
            stopped = str(reason)
    except Stopped as reason:
        raise InputError(str(reason)) from None
    except (GithubException, RequestException) as error:
        raise InputError(_sentence(error, repository)) from None
    except KeyboardInterrupt:
        click.echo("Stopped. What was read is kept; the same command goes on from there.", err=True)
        sys.exit(INTERRUPTED)
    stored = past.source.store.harvested(past.source.name)
    document = _document(past, days, stored, stopped)
    click.echo(json.dumps(document) if as_json else _summary(past, days, stored, stopped))
    sys.exit(0 if stored.read else 2)


def _read(past: Past, days: int, progress: Progress, task: TaskID) -> None:
    until = datetime.now(UTC)
    with progress:
        for tally in past.read(until - timedelta(days=days), until):
            _show(progress, task, tally, past.source)


def _past(
    repository: str,
    pack_name: str | None,
    database: str,
    api: str | None,
    max_wait: timedelta,
    progress: Progress,
) -> Past:
    """Checks what was asked for; one request for the repository, one for its rules if none are named."""
    from bot.github import reads
    from bot.github.connect import token_repository
    from bot.github.patience import patiently
    from bot.triage.configured import read_config
    from bot.triage.harvest.past import Past, Waiting
    from bot.triage.harvest.steps import Source
    from bot.triage.settings import api_address
    from bot.verdict.answer import Refusal

    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}", repository):
        raise InputError(f"'{repository}' is not a repository such as sgl-project/sglang.")
    address = api_address(os.environ if api is None else {API: api})
    if isinstance(address, Refusal):
        raise InputError(address.sentence if api is None else address.sentence.replace(API, "--api"))
    # The second name is an older one of the first.
    token = (os.environ.get("KL_TRIAGE_TOKEN") or os.environ.get("KL_TRIAGE_GITHUB_TOKEN", "")).strip()
    if not token:
        raise InputError("KL_TRIAGE_TOKEN is not set: give it a token that may read Actions and contents.")
    store = _store(database)
    pack = named_pack(pack_name) if pack_name else None
    repo = token_repository(token, repository, address)

    def tell(until: datetime) -> None:
        progress.console.print(f"The rate limit is spent; waiting until {until:%H:%M:%S} UTC.")

    waiting = Waiting(max_wait, tell)
    branch = waiting.when_allowed(lambda: patiently(repo, lambda: reads.facts(repo))).default_branch
    if pack is None:
        config = waiting.when_allowed(lambda: patiently(repo, lambda: read_config(repo, branch)))
        if isinstance(config, Refusal):
            raise InputError(f"{config.sentence} Or name a rule pack with --rules.")
        pack = config[0].pack
    return Past(Source(repo, repository, pack, store), branch, waiting)


def _store(database: str) -> Store:
    from sqlalchemy.exc import DatabaseError

    from bot.store import Store, open_database, sqlite_file
    from bot.verdict.answer import Refusal

    file = sqlite_file(database)
    if isinstance(file, Refusal):
        raise InputError(file.sentence)
    if not file.parent.is_dir() or file.is_dir():
        raise InputError(f"{file} cannot be a database: give a file in a folder that exists.")
    try:
        return Store(open_database(database))
    except DatabaseError:
        raise InputError(f"{file} cannot be opened as an SQLite database.") from None


def _progress() -> tuple[Progress, TaskID]:
    """On standard error, where it leaves nothing behind."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    return progress, progress.add_task("listing", total=None)


def _show(progress: Progress, task: TaskID, tally: Tally, source: Source) -> None:
    from bot.github.patience import requests_left

    left = requests_left(source.repo)
    said = [f"{tally.jobs} jobs read", f"{tally.readings} readings", f"{tally.expired} expired"]
    said += [f"{left} requests left"] if left is not None else []
    progress.update(task, total=tally.runs, completed=tally.known + tally.seen, description=", ".join(said))


def _document(past: Past, days: int, stored: Harvested, stopped: str | None) -> dict[str, Any]:
    tally = past.tally
    return {
        "repo": past.source.name,
        "branch": past.branch,
        "days": days,
        "runs": {"found": tally.runs, "known": tally.known, "unlisted": tally.unlisted},
        "jobs": {
            "read": tally.jobs,
            "expired": tally.expired,
            "unreadable": tally.unreadable,
            "incomplete": tally.incomplete,
        },
        "readings": tally.readings,
        "stored": {
            "jobs": dict(stored.jobs),
            "incomplete": stored.incomplete,
            "readings": stored.readings,
            "tests": stored.tests,
        },
        "stopped": stopped,
    }


def _summary(past: Past, days: int, stored: Harvested, stopped: str | None) -> str:
    tally = past.tally
    lines = [
        f"{past.source.name}, branch {past.branch}, {days} days: {tally.runs} runs, "
        f"{tally.known} of them known.",
        f"Read: {tally.jobs} jobs, {tally.readings} readings. Not read: {tally.expired} logs expired, "
        f"{tally.unreadable} unreadable, jobs of {tally.unlisted} runs not listed. "
        f"Incomplete logs: {tally.incomplete}.",
        f"Stored in all: {stored.readings} readings of {stored.tests} tests from {stored.read} jobs.",
    ]
    return "\n".join([*lines, *([stopped] if stopped else [])])


def _sentence(error: Exception, repository: str) -> str:
    status = getattr(error, "status", None)
    if status == 401:
        return "GitHub does not accept the token in KL_TRIAGE_TOKEN."
    if status == 404:
        return f"{repository} is not there, or the token may not see it, or {API} is not the REST address."
    if status == 403:
        return f"The token may not read this of {repository}: it needs to read Actions and contents."
    return f"GitHub could not be read ({type(error).__name__}); call again and it goes on where it stopped."
