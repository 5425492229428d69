"""Commands that read logs and readings, and judge."""

from __future__ import annotations

import json
import sys

import click

from bot.cli import inputs
from bot.cli.shared import named_pack, refuse, say, terminal


@click.command()
@click.argument("log", type=click.Path(allow_dash=True))
@click.option(
    "--rules", "pack_name", default="sglang", show_default=True, help="Rule pack: a name or a file."
)
@click.option("--json", "as_json", is_flag=True)
def scan(log: str, pack_name: str, as_json: bool) -> None:
    """Readings and failures in a job log (`-`: standard input)."""
    from bot.logs import scan as scan_log
    from bot.report.terminal import scan_text

    with inputs.opened(log) as stream:
        result = scan_log(stream, named_pack(pack_name).scan_forms)
    click.echo(json.dumps(result.as_dict()) if as_json else scan_text(result))


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
