"""Commands that read logs and readings, and judge."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final, cast

import click

from bot.cli import inputs
from bot.cli.shared import named_pack, refuse, say, terminal

if TYPE_CHECKING:
    from bot.logs import ScanResult
    from rules import Pack

MAX_VALUES: Final = 2_000_000
"""Readings, failures and per-prompt values kept of one call."""


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--rules",
    "rules_name",
    default="sglang",
    show_default=True,
    help="Rule pack: a name, a file, or a repository's own kl-triage.yml.",
)
@click.option("--json", "as_json", is_flag=True)
def scan(logs: tuple[str, ...], rules_name: str, as_json: bool) -> None:
    """Readings and failures in job logs: files, zips of a run's logs, `-` for standard input."""
    from bot.cli.archives import file_twice
    from bot.report.scan import scan_document, scan_text

    if file_twice(logs):
        raise inputs.InputError("a log is given twice; its values would count twice")
    found = _scan_all(logs, _rules(rules_name))
    if as_json:
        lone = len(found) == 1 and found[0][0] == logs[0]
        click.echo(json.dumps(found[0][1].as_dict() if lone else scan_document(found)))
    else:
        say(scan_text(found, *terminal()))


def _scan_all(paths: tuple[str, ...], pack: Pack) -> list[tuple[str, ScanResult]]:
    """Every log, or InputError before anything is printed."""
    from bot.cli.archives import read_logs
    from bot.logs import scan as scan_log
    from bot.report.markdown import one_line

    found: list[tuple[str, ScanResult]] = []
    values = 0
    for path in paths:
        for log in read_logs(path):
            result = scan_log(log, pack.scan_forms)
            values += len(result.failures) + sum(1 + len(reading.per_prompt) for reading in result.readings)
            if values > MAX_VALUES:
                raise inputs.InputError(
                    f"{path}: more than {MAX_VALUES:,} values in all; scan fewer logs at once"
                )
            if log.oddity and not (result.readings or result.failures):
                click.echo(f"kl-triage: {one_line(log.name)}: {log.oddity}", err=True)
            found.append((log.name, result))
    return found


def _rules(name: str) -> Pack:
    """A pack by name or file, or the one that a repository's own file describes."""
    from rules import PackErrors, repository_pack
    from rules.document import read_document
    from rules.errors import read_file

    if name.endswith((".yaml", ".yml")):
        text = read_file(name)
        if isinstance(text, PackErrors):
            raise inputs.InputError(str(text))
        data = read_document(text).data
        if isinstance(data, dict) and "extends" in data:
            config = repository_pack(text, name)
            if isinstance(config, PackErrors):
                raise inputs.InputError(str(config))
            return config.pack
    return cast("Pack", named_pack(name))


@click.command()
@click.argument("readings", type=click.Path(allow_dash=True))
@click.option("--threshold", type=float, help="The bound, where the readings do not carry it.")
@click.option("--siblings", default="", help="Bounds of sibling tests, for instance 0.005,0.01.")
@click.option("--policy", type=click.Path(), help="YAML file with other constants of the judge.")
@click.option("--trace", is_flag=True, help="Also show each step and what it saw.")
@click.option("--json", "as_json", is_flag=True)
def decide(
    readings: str, threshold: float | None, siblings: str, policy: str | None, trace: bool, as_json: bool
) -> None:
    """The judge alone: a verdict on readings, one JSON object a line."""
    from bot.report.terminal import verdict_text
    from bot.verdict import Context, VerdictKind
    from bot.verdict import decide as judge

    constants = inputs.policy(policy)
    evidence = inputs.evidence(readings, threshold, Context(siblings=inputs.numbers(siblings)))
    verdict = judge(evidence, constants)
    if as_json:
        click.echo(json.dumps(verdict.as_dict()))
    else:
        width, color = terminal()
        say(verdict_text(verdict, evidence.readings, width, color, evidence.threshold, trace))
    if verdict.kind in (VerdictKind.INCONCLUSIVE, VerdictKind.INFRA, VerdictKind.REFUSED):
        sys.exit(2)


@click.command()
@click.argument("readings", type=click.Path(allow_dash=True))
@click.option("--threshold", type=float, help="The bound, where the readings do not carry it.")
@click.option("--policy", type=click.Path(), help="YAML file with other constants of the judge.")
@click.option("--worlds", type=click.IntRange(1, 10_000), default=200, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def calibrate(
    readings: str, threshold: float | None, policy: str | None, worlds: int, seed: int, as_json: bool
) -> None:
    """How the judge would do on a test like this one: simulated runs fitted to its readings."""
    from bot.calibrate import calibrate as play_all
    from bot.report.calibration import calibration_text
    from bot.verdict import Refusal

    constants = inputs.policy(policy)
    found = play_all(inputs.evidence(readings, threshold), constants, worlds, seed)
    if isinstance(found, Refusal):
        refuse(found, as_json, "calibration")
    if as_json:
        click.echo(json.dumps({"calibration": found.as_dict(), "refusal": None}))
    else:
        say(calibration_text(found, *terminal()))
