"""Every command of kl-triage.

Exit 0: answered. 1: usage or input error, one clear line. 2: no answer (inconclusive, infra, refused).
Modules are imported where they are used, so that each command starts at once and none needs torch.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from bot import __version__, inputs
from bot.inputs import InputError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kl-triage")
def cli() -> None:
    """When a KL test goes red: is it noise, or did the code get worse?"""


@cli.command()
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


@cli.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65_535), default=8080, show_default=True)
@click.option("--overview", is_flag=True, help="Serve a page of investigations at /; it has no login.")
def serve(host: str, port: int, overview: bool) -> NoReturn:
    """Run the bot: webhook and workers. Settings come from KL_TRIAGE_* in the environment."""
    from bot.triage.settings import from_environment
    from bot.verdict.answer import Refusal
    from bot.web.server import run_server

    settings = from_environment(os.environ)
    if isinstance(settings, Refusal):
        raise InputError(settings.sentence)
    refusal = run_server(settings, host=host, port=port, overview=overview)
    if refusal is not None:
        raise InputError(refusal.sentence)
    os._exit(0)  # parked workflows hold threads that would keep the process alive


@cli.command()
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
        result = scan_log(stream, _pack(pack_name).scan_forms)
    click.echo(json.dumps(result.as_dict()) if as_json else scan_text(result))


@cli.command()
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
        width, color = _terminal()
        _say(verdict_text(verdict, evidence.readings, width, color, evidence.threshold, trace))
    if verdict.kind in (VerdictKind.INCONCLUSIVE, VerdictKind.INFRA, VerdictKind.REFUSED):
        sys.exit(2)


@cli.command()
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
        _refused(found, as_json, "calibration")
    if as_json:
        click.echo(json.dumps({"calibration": found.as_dict(), "refusal": None}))
    else:
        _say(calibration_text(found, *_terminal()))


@cli.command()
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
        _refused(site, as_json)
    click.echo(json.dumps({"site": site.as_dict(), "refusal": None}) if as_json else site_text(site))


@cli.command()
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
        _refused(site, as_json)
    old = (root / file).read_bytes()
    edited = edit(old, site, new, comment)
    if isinstance(edited, Refusal):
        _refused(edited, as_json)
    text = diff(old, edited, file)
    click.echo(
        json.dumps({"diff": text, "site": site.as_dict(), "refusal": None}) if as_json else text, nl=as_json
    )
    if write:
        (root / file).write_bytes(edited)


@cli.command()
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option(
    "--rules", "pack_name", default="sglang", show_default=True, help="Rule pack of the repository."
)
@click.option("--runner", multiple=True, help="Label of a GPU runner that may take reruns; repeatable.")
@click.option(
    "--mode", type=click.Choice(["observe", "comment", "propose"]), default="observe", show_default=True
)
@click.option("--json", "as_json", is_flag=True)
def init(repo: Path, pack_name: str, runner: tuple[str, ...], mode: str, as_json: bool) -> None:
    """Write .github/kl-triage.yml and .github/workflows/kl-rerun.yml into a repository."""
    from bot.verdict.answer import Refusal
    from runners.init import initial_files

    pack = _pack(pack_name)
    files = initial_files(pack.name, list(runner) or list(pack.runners), mode)
    if isinstance(files, Refusal):
        raise InputError(files.sentence)
    for path, text in files.items():
        if (repo / path).exists() and (repo / path).read_text() != text:
            raise InputError(f"{path} is there already and differs; remove it to have it written anew.")
    for path, text in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    click.echo(json.dumps({"written": list(files)}) if as_json else "\n".join(f"wrote {p}" for p in files))


@cli.group()
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


def main() -> None:
    """Entry point: usage errors exit 1, since 2 means 'no answer' here."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        code = cli.main(standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kl-triage"
        click.echo(f"{command}: {error.format_message()} (see {command} --help)", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        os._exit(141)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"kl-triage: {name}{error.strerror or error}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _terminal() -> tuple[int, bool]:
    """Width, and whether colours are wanted."""
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return min(shutil.get_terminal_size().columns, 100), color


def _say(text: str) -> None:
    """In ASCII where the stream takes nothing else."""
    from bot.report.console import ascii_text

    utf_8 = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    click.echo(text if utf_8 else ascii_text(text), nl=False)


def _pack(name: str) -> Any:
    from rules import Pack, load_named, load_pack

    loaded = load_pack(Path(name)) if name.endswith((".yaml", ".yml")) else load_named(name)
    if not isinstance(loaded, Pack):
        raise InputError("\n".join(map(str, loaded.errors)))
    return loaded


def _located(root: Path, file: str, test: str) -> Any:
    from bot.source import locate as find

    def read(path: str) -> bytes | None:
        target = (root / path).resolve()
        inside = target.is_relative_to(root.resolve())
        return target.read_bytes() if inside and target.is_file() else None

    return find(file, test, read)


def _refused(refusal: Any, as_json: bool, wanted: str = "site") -> NoReturn:
    document = {wanted: None, "refusal": {"code": refusal.code, "sentence": refusal.sentence}}
    click.echo(json.dumps(document) if as_json else f"refused ({refusal.code}): {refusal.sentence}")
    sys.exit(2)


if __name__ == "__main__":
    main()
