"""A calibration as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bot.report.console import console, finished, table
from bot.report.markdown import one_line
from bot.report.numbers import minutes, number, percent, percent_interval, plain
from bot.verdict.calibrate import Calibration, Share


def calibration_text(found: Calibration, width: int = 100, color: bool = False) -> str:
    """The sentence, the simulated test, then how its worlds ended, each share with its 95 % interval."""
    printed = console(width, color)
    printed.print(Text(one_line(found.test, 400), style="bold"), soft_wrap=True)
    printed.print(Text(found.sentence), end="\n\n")
    printed.print(Text(_test(found)))
    for note in found.notes:
        printed.print(Text(f"note: {one_line(note)}"))
    _shares(printed, f"equal code, called by mistake ({found.worlds} worlds)", found.false_alarms)
    others = {kind: share for kind, share in found.endings.items() if kind != "bump"}
    loud = f"of these over {percent(found.target_exceedance)} exceedance"
    ended = {"bump": found.endings["bump"], loud: found.loud_bumps, **others}
    _shares(printed, "equal code, how it ended", ended)
    _shares(printed, "bumps in spite of a planted fault", found.false_bumps)
    runs = f"median {number(found.median_runs)} runs" if found.median_runs else "median no run"
    printed.print(Text(f"\ncost of equal code: {runs}, mean {minutes(found.mean_minutes)}"))
    return finished(printed)


def _test(found: Calibration) -> str:
    prompts = f"{found.prompts} prompts" if found.prompts else "prompts unknown"
    hosts = f"{found.hosts} host{'s' if found.hosts != 1 else ''}"
    spreads = f"log-sd {number(found.repeat_sd, digits=2)} on one launch, {number(found.launch_sd, digits=2)}"
    return (
        f"simulated: {prompts}, {spreads} between launches, {hosts}, {found.past_runs} past runs; "
        f"{percent(found.exceedance)} of runs over {plain(found.threshold)}. "
        f"Fitted to {found.readings} readings."
    )


def _shares(printed: Console, title: str, shares: Mapping[str, Share]) -> None:
    printed.print(Text(f"\n{title}", style="bold"))
    drawn = table("", "", "", right=(1,))
    drawn.show_header = False
    for name, share in shares.items():
        interval = percent_interval(share.low, share.high) if share.n else "none to count"
        drawn.add_row(Text(name.replace("_", " ")), f"{share.count}/{share.n}", interval)
    printed.print(Padding(drawn, (0, 0, 0, 2)))
