"""Tables that comment, check run, pull request and evidence share. All text in them is escaped."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

from bot.report.facts import Case
from bot.report.markdown import code, folded, link, prose, row, short, table
from bot.report.numbers import exceeded, number, percent, percent_interval, plain, spread
from bot.verdict.answer import Proposal, Verdict
from bot.verdict.reading import Arm, Reading, Status

NOT_MEASURED: Final = "not measured"
RERUN: Final = (Arm.HEAD, Arm.BASE)
_ORDER: Final = {arm: place for place, arm in enumerate((Arm.TRIGGER, Arm.HEAD, Arm.BASE, Arm.HISTORY))}


def values(readings: Sequence[Reading], *arms: Arm) -> list[float]:
    """Measured values of these arms, nan and inf included."""
    return [r.value for r in readings if r.arm in arms and r.status is Status.OK and r.value is not None]


def judged(readings: Sequence[Reading]) -> list[Reading]:
    """Those of the check that went red, as the judge takes them; all where the red job names none."""
    red = {r.label for r in readings if r.arm is Arm.TRIGGER and r.label is not None}
    return [r for r in readings if not red or r.label is None or r.label in red]


def over(readings: Sequence[Reading], bound: float, *arms: Arm) -> str:
    """`4/48`: how many measured values lie over `bound`."""
    measured = values(readings, *arms)
    return f"{sum(value > bound for value in measured)}/{len(measured)}" if measured else NOT_MEASURED


def bounds(case: Case, verdict: Verdict) -> tuple[float, ...]:
    """Every bound a printed value must not seem to cross by rounding."""
    found = [] if case.bound is None else [case.bound]
    if verdict.proposal is not None:
        found += [verdict.proposal.old, verdict.proposal.threshold]
    return tuple(found)


def arms_table(case: Case, verdict: Verdict) -> str:
    """head, base and the default branch beside the bound; what was not measured says so."""
    limits = bounds(case, verdict)
    numbers = verdict.numbers
    header = ["KL in nats", f"head {_commit(case, case.head_sha)}"]
    header.append(f"base {_commit(case, case.base_sha)}" if case.base_sha else "base")
    header += [f"{code(case.default_branch, 60)}, past runs", "bound"]
    runs, levels, rates = ["runs with a value"], ["median (range)"], ["over the bound (95 % interval)"]
    for arm in ("head", "base", "history"):
        absent = "no history yet" if arm == "history" else NOT_MEASURED
        done, level, rate = numbers.runs.get(arm), numbers.levels.get(arm), numbers.exceedance.get(arm)
        missing = f", {done.missing} missing" if done and done.missing else ""
        runs.append(f"{done.ok}{missing}" if done and done.ok + done.missing else absent)
        levels.append(spread(level, *limits) if level else absent)
        rates.append(exceeded(rate) if rate and rate.n else absent)
    bound = NOT_MEASURED if case.bound is None else plain(case.bound)
    return table(header, [row(*runs, ""), row(*levels, bound), row(*rates, "")])


def run_values(readings: Sequence[Reading], limits: Sequence[float], room: int) -> str:
    """Every run with its value, or why it has none."""
    labelled = len({reading.label for reading in readings}) > 1
    header = ["arm", "launch", "repeat", *(["check"] if labelled else []), "KL", "over", "host"]
    rows = []
    for reading in sorted(readings, key=lambda r: _ORDER[r.arm]):
        bound = reading.threshold if reading.threshold is not None else next(iter(limits), None)
        value = f"no value: {reading.status}"
        above = ""
        if reading.status is Status.OK and reading.value is not None:
            value = number(reading.value, *limits, *([] if bound is None else [bound]))
            # nan is not below anything
            above = "yes" if bound is not None and not reading.value <= bound else ""
        check = [code(reading.label or "", 80)] if labelled else []
        place = reading.repeat if reading.repeat is not None else reading.attempt
        rows.append(
            row(
                str(reading.arm),
                code(reading.launch or "-", 60),
                "-" if place is None else str(place),
                *check,
                value,
                above,
                code(reading.host or "-", 60),
            )
        )
    return folded(f"Value of every run ({len(rows)})", header, rows, room)


def prompt_values(readings: Sequence[Reading], room: int) -> str:
    """Median and largest KL of each prompt of the red check, in the test's order, numbered from 0."""
    arms = (Arm.HEAD, Arm.BASE)
    lists = {arm: [r.per_prompt for r in judged(readings) if r.arm is arm and r.per_prompt] for arm in arms}
    count = max((len(prompts) for arm in arms for prompts in lists[arm]), default=0)
    rows = []
    for prompt in range(count):
        cells: list[str] = []
        for arm in arms:
            measured = [prompts[prompt] for prompts in lists[arm] if prompt < len(prompts)]
            cells += _middle_and_top(measured)
        rows.append(row(str(prompt), *cells))
    header = ("prompt", "head median", "head largest", "base median", "base largest")
    return folded(f"Value of each prompt ({count})", header, rows, room)


def ladder(verdict: Verdict, room: int) -> str:
    """Each rung and what it saw; the last one answered."""
    rows = [row(code(rung.name, 60), prose(rung.saw, 400)) for rung in verdict.trace]
    return folded(
        f"How it was decided ({len(rows)} steps, the last one answered)", ("step", "saw"), rows, room
    )


def missing_runs(readings: Sequence[Reading], room: int) -> str:
    """Runs without a value: never a pass, never an exceedance."""
    lost = [reading for reading in readings if reading.status is not Status.OK]
    rows = [
        row(
            str(r.arm),
            code(r.launch or "-", 60),
            str(r.status),
            code(r.host or "-", 60),
            code(r.error or "-", 160),
        )
        for r in lost
    ]
    return folded(f"Runs without a value ({len(rows)})", ("arm", "launch", "what", "host", "why"), rows, room)


def versions(case: Case, readings: Sequence[Reading], room: int) -> str:
    measured_on = sorted({(r.gpu or "no GPU", r.driver or "") for r in readings if r.status is Status.OK})
    rows = [
        row("test", code(case.test, 300)),
        row("head", code(case.head_sha, 64)),
        row("base", code(case.base_sha, 64) if case.base_sha else NOT_MEASURED),
        row("runner", code(case.runner or "-", 80)),
        *(
            row("GPU, driver", f"{code(gpu, 80)}{driver and ', ' + code(driver, 40)}")
            for gpu, driver in measured_on[:10]
        ),
        row("kl-triage", code(case.bot_version, 80)),
        row("rules", code(case.rules, 80) if case.rules else "-"),
    ]
    return folded("Versions", ("what", "which"), rows, room)


def candidates_table(readings: Sequence[Reading], proposal: Proposal) -> str:
    """Each bound considered: what was seen over it, what is expected over it, and why it was not taken."""
    readings = judged(readings)
    rows = [
        (
            proposal.old,
            row(plain(proposal.old), over(readings, proposal.old, *RERUN), "-", "-", "the bound today"),
        )
    ]
    considered = [(c.threshold, c.exceedance, c.why_not) for c in proposal.alternatives]
    chosen = (proposal.threshold, proposal.exceedance, "")
    for threshold, expected, why_not in [chosen, *(c for c in considered if c[0] != proposal.threshold)]:
        model = f"{percent(expected.rate)} ({percent_interval(expected.low, expected.high)})"
        larger = "larger than needed" if threshold > proposal.threshold else ""
        why = prose(why_not, 200) or larger if threshold != proposal.threshold else "**proposed**"
        cells = (
            plain(threshold),
            over(readings, threshold, *RERUN),
            model,
            percent(expected.exact_high),
            why,
        )
        rows.append((threshold, row(*cells)))
    header = (
        "bound",
        "seen over it (head + base)",
        "expected over it per CI job (interval)",
        "at most, without a model",
        "why not",
    )
    return table(header, [text for _, text in sorted(rows, key=lambda item: item[0])[:20]])


def _commit(case: Case, sha: str) -> str:
    return link(short(sha), case.commit_url(sha))


def _middle_and_top(measured: Sequence[float]) -> tuple[str, str]:
    if not measured:
        return NOT_MEASURED, NOT_MEASURED
    finite = [value for value in measured if math.isfinite(value)]
    odd = [str(value) for value in measured if not math.isfinite(value)]
    middle = number(statistics.median(finite)) if finite else odd[0]
    return middle, odd[0] if odd else number(max(finite))
