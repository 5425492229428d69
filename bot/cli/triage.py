"""`kl-triage triage`: rerun and judge until answered, on this machine."""

from __future__ import annotations

import json
import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.inputs import MAX_LINE, MAX_RECORDS, InputError, opened
from bot.cli.rerun import command_to_resume, ctrl_c_also_for_sigterm
from bot.cli.shared import say, terminal

if TYPE_CHECKING:
    from bot.local.bump import Bumped
    from bot.local.question import Question
    from bot.local.rounds import Answer
    from bot.verdict import Reading, Refusal


def positive(_context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """A bound is a number above 0: neither nan nor inf."""
    if value is not None and not 0 < value < math.inf:
        raise click.BadParameter(f"{value:g} is no bound; give a number above 0.", param=option)
    return value


@click.command()
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--test", required=True, help="path::Class.method, path::function, or a script's path.")
@click.option("--head", default="HEAD", show_default=True, metavar="REV", help="The commit in question.")
@click.option(
    "--base", metavar="REV", help="The commit beside it.  [default: merge base with the default branch]"
)
@click.option("--budget-minutes", type=click.FloatRange(0, min_open=True), help="Machine time it may take.")
@click.option("--history", type=click.Path(), metavar="FILE", help="Readings of past runs, one a line.")
@click.option("--trigger", type=click.Path(allow_dash=True), metavar="LOG", help="The log of the red job.")
@click.option("--label", help="Which check to judge, where the test makes several and no log names one.")
@click.option(
    "--threshold",
    type=float,
    callback=positive,
    help="The bound, where neither source nor readings name it.",
)
@click.option("--rules", metavar="PACK", help="Rule pack: a name or a file.  [default: the repository's own]")
@click.option("--python", default=sys.executable, help="The project's interpreter.  [default: this one]")
@click.option("--apply", "apply_", is_flag=True, help="Commit a proposed bound on a branch of its own.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for what is measured.  [default: kl-triage-<head>]",
)
@click.option("--resume", is_flag=True, help="Go on with what an interrupted triage left in --out.")
@click.option("--json", "as_json", is_flag=True)
def triage(
    repo: Path,
    test: str,
    head: str,
    base: str | None,
    budget_minutes: float | None,
    history: str | None,
    trigger: str | None,
    label: str | None,
    threshold: float | None,
    rules: str | None,
    python: str,
    apply_: bool,
    out: Path | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Measure on this machine until it is clear: noise, or worse code.

    Head beside base, as many runs as the judge asks for. Each is run from a worktree of its commit: name
    python_path or prepare in the rule pack, or both may import an installed copy (refused then).

    Exit 0: answered. 2: no answer, or nothing to apply.
    """
    from dataclasses import replace

    from bot.local.clone import Clone, LocalError
    from bot.local.question import ask, with_base
    from bot.local.rounds import investigate
    from bot.local.show import Screen

    ctrl_c_also_for_sigterm()
    screen = Screen()
    try:
        with Clone(repo) as clone:
            if apply_:
                clone.check_author()
            question = with_base(ask(clone, test, head, base, rules))
            if budget_minutes is not None:
                question = replace(question, budget_minutes=budget_minutes)
            if clone.is_changed():
                screen.note("note: uncommitted changes are not measured, only what is committed")
            folder = out or Path(f"kl-triage-{question.head[:12]}")
            given = [*_trigger(question, trigger, label), *_history(question, history)]
            answer = investigate(
                question,
                folder.resolve(),
                given=given,
                label=label,
                threshold=threshold,
                python=python,
                resume=resume,
                watch=screen,
            )
            applied = _applied(question, answer) if apply_ and not answer.interrupted else None
    except LocalError as error:
        raise InputError(str(error)) from None
    except KeyboardInterrupt:  # not while a harness runs: that one is told and followed to its end
        click.echo(f"What was measured is kept. To go on:\n  {command_to_resume()}", err=True)
        sys.exit(2)
    if as_json:
        click.echo(json.dumps(_document(question, answer, folder, applied)))
    else:
        _show(question, answer, folder, applied)
    sys.exit(_exit_code(answer, applied))


def _applied(question: Question, answer: Answer) -> Bumped | Refusal:
    """What git will not do is a refusal: hours of measuring end in their verdict all the same."""
    from bot.local.bump import commit_bump
    from bot.local.clone import LocalError
    from bot.verdict import Refusal

    try:
        return commit_bump(question, answer)
    except LocalError as error:
        return Refusal("not_committed", f"Nothing was committed: {error}")


def _exit_code(answer: Answer, applied: Bumped | Refusal | None) -> int:
    from bot.verdict import Refusal, VerdictKind

    open_ = (VerdictKind.INCONCLUSIVE, VerdictKind.INFRA, VerdictKind.REFUSED)
    ended = not answer.interrupted and not answer.trouble
    answered = ended and answer.verdict is not None and answer.verdict.kind not in open_
    return 0 if answered and not isinstance(applied, Refusal) else 2


def _trigger(question: Question, path: str | None, label: str | None) -> list[Reading]:
    """The attempts of the red test in the job's log."""
    from dataclasses import replace

    from bot.cli.archives import read_logs
    from bot.local.question import is_of
    from bot.logs import scan

    found: list[Reading] = []
    for log in read_logs(path) if path is not None else ():
        result = scan(log, question.pack.scan_forms)
        red = [
            failure
            for failure in result.failures
            if failure.kind == "bound" and is_of(question.test, failure.test, question.pack)
        ]
        labels = {failure.label for failure in red} if label is None else {label}
        if len(labels) > 1:
            names = ", ".join(sorted(str(name) for name in labels))
            raise InputError(f"{path}: several checks of the test went red ({names}); choose by --label")
        found += [
            replace(reading, test=question.test, commit=question.head, source="the red job's log")
            for reading in result.readings
            if red and reading.label in labels and is_of(question.test, reading.test, question.pack)
        ]
    if path is not None and not found:
        raise InputError(f"{path}: no value of {question.test} over its bound; see kl-triage scan")
    return found


def _history(question: Question, path: str | None) -> list[Reading]:
    """Readings of past runs of the same test."""
    from bot.verdict import Arm, Reading, RecordError

    if path is None:
        return []
    found: list[Reading] = []
    with opened(path) as stream:
        for line in iter(partial(stream.readline, MAX_LINE + 1), b""):
            try:
                found.append(Reading.from_record(json.loads(line)))
            except (RecordError, ValueError, RecursionError) as error:
                raise InputError(f"{path}:{len(found) + 1}: {error}") from None
            if (found[-1].arm, found[-1].test) != (Arm.HISTORY, question.test):
                raise InputError(f"{path}:{len(found)}: must be of arm 'history' and of {question.test}")
            if len(found) > MAX_RECORDS:
                raise InputError(f"{path}: more than {MAX_RECORDS} records")
    return found


def _show(question: Question, answer: Answer, folder: Path, applied: Bumped | Refusal | None) -> None:
    from bot.local.bump import branch_of
    from bot.report.terminal import verdict_text
    from bot.verdict import Refusal

    if answer.verdict is not None:
        width, color = terminal()
        say(verdict_text(answer.verdict, answer.readings, width, color, answer.bound))
    say(f"compared: head {question.head[:12]} with base {(question.base or '-')[:12]}; kept in {folder}\n")
    if answer.note:
        say(f"{answer.note}\n")
    if answer.interrupted or answer.trouble:
        said = "" if answer.interrupted else f"The measuring ended early: {answer.trouble}\n"
        say(f"{said}To go on:\n  {command_to_resume()}\n")
    elif isinstance(applied, Refusal):
        say(f"refused ({applied.code}): {applied.sentence}\n")
    elif applied is not None:
        was = "" if applied.made else " (it was there already)"
        say(f"committed {applied.commit[:12]}{was}; to look at it:\n  git show {applied.branch}\n")
    elif branch_of(answer) is not None:
        say(f"to commit the proposed bound on a branch of its own:\n  {command_to_resume()} --apply\n")


def _document(
    question: Question, answer: Answer, folder: Path, applied: Bumped | Refusal | None
) -> dict[str, Any]:
    from dataclasses import asdict

    from bot.verdict import Refusal

    bumped = None if applied is None or isinstance(applied, Refusal) else asdict(applied)
    return {
        "test": question.test,
        "head": question.head,
        "base": question.base,
        "rounds": answer.rounds,
        "interrupted": answer.interrupted,
        "stopped": answer.trouble or None,
        "verdict": None if answer.verdict is None else answer.verdict.as_dict(),
        "out": str(folder),
        "applied": bumped,
        "refusal": asdict(applied) if isinstance(applied, Refusal) else None,
        "note": answer.note or None,
        "resume": command_to_resume() if answer.interrupted or answer.trouble else None,
    }
