"""`kl-triage rerun`: a KL test measured at one or two commits on this machine, no GitHub."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.inputs import InputError
from bot.cli.shared import say, terminal

if TYPE_CHECKING:
    from bot.local.measure import Measured
    from bot.local.question import Question
    from runners.plan import RerunPlan


@click.command()
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--test", required=True, help="path::Class.method, path::function, or a script's path.")
@click.option("--head", required=True, metavar="REV", help="The commit to measure.")
@click.option("--base", metavar="REV", help="The commit to measure beside it.")
@click.option("--launches", type=click.IntRange(1, 32), help="Server starts an arm.  [default: the judge's]")
@click.option("--repeats", type=click.IntRange(1, 200), help="Measurements a launch.  [default: the judge's]")
@click.option("--rules", metavar="PACK", help="Rule pack: a name or a file.  [default: the repository's own]")
@click.option("--python", default=sys.executable, help="The project's interpreter.  [default: this one]")
@click.option("--argument", multiple=True, metavar="WORD", help="What a script is called with; repeatable.")
@click.option("--max-minutes", type=click.FloatRange(0, min_open=True), help="Limit of all runs together.")
@click.option(
    "--save-logprobs",
    is_flag=True,
    help="Keep the log-probs that the test compares; python -m runners.kl reads them.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--resume", is_flag=True, help="Go on with what an interrupted rerun left in --out.")
@click.option("--json", "as_json", is_flag=True)
def rerun(
    repo: Path,
    test: str,
    head: str,
    base: str | None,
    rules: str | None,
    python: str,
    out: Path,
    resume: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Measure a KL test on this machine, head beside base.

    Each repeat is kept as it is measured. Each commit is run from a worktree of its own: name python_path or
    prepare in the rule pack, or both may import an installed copy (refused then).

    Exit 0: every planned repeat has a value. 2: some have none.
    """
    from bot.local.clone import Clone, LocalError
    from bot.local.measure import finished_before, measure
    from bot.local.question import ask
    from bot.local.show import Screen

    ctrl_c_also_for_sigterm()
    screen = Screen()
    try:
        with Clone(repo) as clone:
            question = ask(clone, test, head, base, rules)
            if clone.is_changed():
                screen.note("note: uncommitted changes are not measured, only what is committed")
            plan = _plan(question, out, resume=resume, **wanted)
            done = len(finished_before(plan, out)) if resume else 0
            with screen.round(1, plan, done) as report:
                measured = measure(
                    plan, clone.folder, out.resolve(), python=python, resume=resume, report=report
                )
            site = question.site()
    except LocalError as error:
        raise InputError(str(error)) from None
    from bot.source import Site

    bound = site.value if isinstance(site, Site) else _bound(measured)
    if as_json:
        click.echo(json.dumps(_document(measured, out, bound)))
    else:
        _show(measured, out, bound)
    sys.exit(0 if measured.complete else 2)


def ctrl_c_also_for_sigterm() -> None:
    """A closed terminal and a polite kill are told to the harness as Ctrl-C is."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def command_to_resume() -> str:
    """What was typed, and --resume."""
    typed = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["kl-triage", *typed, "--resume"])


def _plan(
    question: Question,
    out: Path,
    *,
    resume: bool,
    launches: int | None,
    repeats: int | None,
    argument: tuple[str, ...],
    max_minutes: float | None,
    save_logprobs: bool,
) -> RerunPlan:
    """A new one, or the one that is resumed, which must be the same but for its name."""
    from bot.local.clone import LocalError
    from bot.local.measure import plan_in
    from bot.triage.measure.plans import plan_of
    from bot.verdict import ArmPlan, Refusal

    before = plan_in(out)
    if resume and before is None:
        raise LocalError(f"{out} holds nothing to go on with; leave out --resume.")
    if before is not None and not resume:
        raise LocalError(f"{out} holds a rerun already; go on with --resume, or give another --out.")
    first = question.policy.first_batch
    each = ArmPlan(launches or first[0], repeats or first[1])
    request = before.request if before else f"local-{question.head[:10]}-{secrets.token_hex(3)}"
    plan = plan_of(
        question.pack,
        request=request,
        test=question.test,
        commits=question.commits,
        wanted=dict.fromkeys(question.commits, each),
        arguments=argument,
        max_seconds=None if max_minutes is None else max_minutes * 60,
        save_logprobs=save_logprobs,
    )
    if isinstance(plan, Refusal):
        raise LocalError(plan.sentence)
    if before is not None and before != plan:
        raise LocalError(f"{out} holds another plan; --resume needs the same options, or give another --out.")
    return plan


def _bound(measured: Measured) -> float | None:
    """The one that the test itself printed."""
    found = {reading.threshold for reading in measured.readings if reading.threshold is not None}
    return found.pop() if len(found) == 1 else None


def _show(measured: Measured, out: Path, bound: float | None) -> None:
    from bot.local.show import arms_text

    say(arms_text(measured.readings, bound, *terminal()))
    if measured.interrupted or measured.said:
        said = "" if measured.interrupted else f"The measuring ended early: {measured.said}\n"
        say(f"{said}What was measured is kept in {out}. To go on:\n  {command_to_resume()}\n")
    else:
        given = f" --threshold {'BOUND' if bound is None else f'{bound:g}'}"
        files = " ".join(shlex.quote(str(path)) for path in _files(measured, out))
        say(f"next: the judge\n  cat {files} | kl-triage decide -{given}\n")


def _files(measured: Measured, out: Path) -> list[Path]:
    return [out / f"readings-{arm}.jsonl" for arm in measured.plan.commits]


def _document(measured: Measured, out: Path, bound: float | None) -> dict[str, Any]:
    from dataclasses import asdict

    from bot.local.show import exceedance

    arms = {}
    for arm, commit in measured.plan.commits.items():
        mine = [reading for reading in measured.readings if reading.arm == arm]
        values = [reading.value for reading in mine if reading.value is not None]
        rate = exceedance(values, bound)
        arms[arm] = {
            "commit": commit,
            "ok": len(values),
            "missing": len(mine) - len(values),
            "exceedance": asdict(rate) if rate else None,
        }
    return {
        "test": measured.plan.test,
        "request": measured.plan.request,
        "complete": measured.complete,
        "interrupted": measured.interrupted,
        "stopped": measured.said or None,
        "bound": bound,
        "arms": arms,
        "readings": [str(path) for path in _files(measured, out)],
        "resume": command_to_resume() if measured.interrupted or measured.said else None,
    }
