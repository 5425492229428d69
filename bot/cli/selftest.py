"""`kl-triage selftest`: is this machine fit as a runner?"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.inputs import InputError
from bot.cli.rerun import ctrl_c_also_for_sigterm
from bot.cli.shared import say, terminal

if TYPE_CHECKING:
    from bot.local.fitness import Finding
    from bot.local.measure import Measured, Step
    from runners.plan import RerunPlan


@click.command()
@click.option("--python", default=sys.executable, help="The project's interpreter.  [default: this one]")
@click.option("--json", "as_json", is_flag=True)
def selftest(python: str, as_json: bool) -> None:
    """Is this machine fit as a runner?

    Looks at its tools and measures the reference KL test on it.

    Exit 0: fit. 2: not fit.
    """
    from bot.local.clone import LocalError
    from bot.local.fitness import is_fit, judged, tools

    ctrl_c_also_for_sigterm()
    found = list(tools(python))
    try:
        if is_fit(found):
            measured = _measured(python)
            if measured.interrupted:
                raise click.Abort
            found += judged(measured)
    except LocalError as error:
        raise InputError(str(error)) from None
    fit = is_fit(found)
    if as_json:
        findings = [{name: getattr(one, name) for name in ("name", "state", "text", "do")} for one in found]
        click.echo(json.dumps({"fit": fit, "findings": findings}))
    else:
        _show(found)
    sys.exit(0 if fit else 2)


def _measured(python: str) -> Measured:
    from bot.local.fitness import measure_reference
    from bot.local.show import Screen

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kl-triage-selftest-"))

        def watch(plan: RerunPlan) -> Callable[[Step], None]:
            return stack.enter_context(Screen().round(1, plan))

        return measure_reference(Path(folder), python, watch)


def _show(found: list[Finding]) -> None:
    from bot.local.show import findings_text

    say(findings_text(found, *terminal()))
