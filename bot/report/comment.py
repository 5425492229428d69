"""The sticky comment, in its two states: investigating, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.report import chart, ledger, tables, words
from bot.report.facts import Case
from bot.report.markdown import LIMIT, capped, code, link, prose, sentence, short, stacked
from bot.report.markers import COMMENT, data, marker
from bot.report.numbers import minutes, number, percent, percent_interval, plain, ratio_interval
from bot.verdict.answer import Plan, Proposal, Verdict
from bot.verdict.reading import Arm, Reading, number_to_json

_ALTERNATIVES: Final = (
    "deterministic",
    "intermittent",
    "hardware",
    "regression",
    "old_regression",
    "not_reproduced",
    "noise",
)
_CLOSING_ROOM: Final = 1_000


def marker_prefix(key: str) -> str:
    """How every comment of this key begins, whatever its commit."""
    return marker(COMMENT, key).removesuffix("-->")


def investigating(case: Case, plan: Plan, readings: Sequence[Reading] = ()) -> str:
    """The first text: what went red, what is measured now, and why."""
    why = (
        "**Why:** one red job cannot tell a bound under the noise floor from code that got worse."
        " Head beside base, over several server starts, can."
    )
    return _text(
        case,
        _heading(words.WAIT, "INVESTIGATING", case),
        f"{_went_red(case, readings)} **Next:** nothing to do; this comment is edited in place.",
        f"**Plan:** {_plan(case, plan)}.",
        why,
        _commands(case),
    )


def given_up(case: Case) -> str:
    """The last text where there is no verdict."""
    return _text(case, _heading(words.WARNING, "NO VERDICT", case), unfinished(case))


def unfinished(case: Case) -> str:
    """The bot could not go on: nothing is said about the change. Also the check run's summary."""
    return (
        f"{code(case.name, 120)} was not judged: the bot could not finish its work and has logged why."
        f" This says nothing about the change. To try again, comment {words.again(case)}."
    )


def result(case: Case, verdict: Verdict, readings: Sequence[Reading] = ()) -> str:
    """The verdict first, then everything a reader needs to check it."""
    picture = chart.xychart(
        tables.judged(readings), case.bound, verdict.proposal.threshold if verdict.proposal else None
    )
    top = _text(case, summary(case, verdict, readings), picture)
    end = "\n\n".join(part for part in (_commands(case), _data(case, verdict)) if part)
    room = LIMIT - len(top) - len(end) - _CLOSING_ROOM
    body = details(case, verdict, readings, room)
    if room < 0:
        top = capped(top, LIMIT - len(end) - _CLOSING_ROOM)
    return "\n\n".join(part for part in (top, body, end) if part)


def summary(case: Case, verdict: Verdict, readings: Sequence[Reading] = ()) -> str:
    """The head of the comment: verdict, next step, gaps, numbers, why. Also the check run's summary."""
    numbers = verdict.numbers
    ratio = ""
    if numbers.ratio is not None:
        method = f" by {prose(numbers.ratio.method, 120)}" if numbers.ratio.method else ""
        ratio = f"**Head over base:** ×{ratio_interval(numbers.ratio)}{method}."
        if numbers.min_detectable_ratio is not None:
            ratio += f" These runs would have shown ×{number(numbers.min_detectable_ratio)} or more."
    missed = words.gaps(case, verdict)
    blocks = [
        _heading(words.icon(case, verdict), words.words(verdict).label, case),
        f"{prose(verdict.sentence)} {words.next_step(case, verdict)}",
        " ".join(words.beside(case, verdict)),
        _stale(case),
        f"**Not measured or not judged:** {' '.join(missed)}" if missed else "",
        tables.arms_table(case, verdict),
        ratio,
        _red_job(case, readings),
        _outliers(verdict),
        _why(verdict),
        words.caveat(verdict) if words.words(verdict).icon == words.PASS else "",
        proposal_line(verdict.proposal) if verdict.proposal and verdict.next is None else "",
        ledger.last_move(case),
        ledger.touched(case),
        _runs(case),
    ]
    return "\n\n".join(block for block in blocks if block)


def details(case: Case, verdict: Verdict, readings: Sequence[Reading], room: int) -> str:
    """Folded tables in at most `room` characters, the ones that carry the verdict first."""
    limits = tables.bounds(case, verdict)
    return stacked(
        room,
        lambda left: tables.ladder(verdict, left),
        lambda left: tables.missing_runs(readings, min(left, room // 4)),
        lambda left: tables.versions(case, readings, left),
        lambda left: tables.prompt_values(readings, min(left, room // 3)),
        lambda left: tables.run_values(readings, limits, left),
    )


def proposal_line(proposal: Proposal) -> str:
    expected = proposal.exceedance
    catches = ", ".join(f"×{plain(c.ratio)} with {percent(c.after)}" for c in proposal.still_catches)
    interval = percent_interval(expected.low, expected.high)
    move = f"{plain(proposal.old)} → {plain(proposal.threshold)} ({words.direction(proposal)})"
    return (
        f"**Proposed bound:** {move}. {sentence(proposal.why_this_value)}"
        f" Expected over it: {percent(expected.rate)} of CI jobs ({interval});"
        f" at most {percent(expected.exact_high)} without a model."
        + (f" Still caught by one CI job: {catches}." if catches else "")
    )


def _text(case: Case, *blocks: str) -> str:
    first = marker(COMMENT, case.key, case.head_sha)
    return capped("\n\n".join([first, *(block for block in blocks if block)]), LIMIT)


def _heading(icon: str, label: str, case: Case) -> str:
    return f"### {icon} KL triage: {label} - {code(case.name, 120)}"


def _went_red(case: Case, readings: Sequence[Reading]) -> str:
    measured = tables.values(readings, Arm.TRIGGER)
    where = link("this job", case.job_url) if case.job_url else "a job"
    bound = f"{code(case.bound_name, 60)} = {plain(case.bound)}" if case.bound is not None else "its bound"
    if not measured:
        return f"A KL test went red against {bound} in {where} at {short(case.head_sha)}."
    shown = " and then ".join(_value(case, value) for value in measured[:4])
    return f"KL was {shown} against {bound} in {where} at {short(case.head_sha)}."


def _red_job(case: Case, readings: Sequence[Reading]) -> str:
    measured = tables.values(readings, Arm.TRIGGER)
    if not measured:
        return ""
    shown = ", then ".join(_value(case, value) for value in measured[:4])
    more = f" and {len(measured) - 4} more" if len(measured) > 4 else ""
    return f"**Red job:** {shown}{more}; selected for being high, so not counted in the rates."


def _plan(case: Case, plan: Plan) -> str:
    commits = {"head": case.head_sha, "base": case.base_sha}
    parts = []
    for arm, wanted in plan.arms.items():
        sha = commits.get(arm)
        starts = f"{wanted.launches} server start{'s' if wanted.launches != 1 else ''}"
        parts.append(f"{arm}{' ' + short(sha) if sha else ''} {starts} × {wanted.repeats} runs")
    total = sum(wanted.launches * wanted.repeats for wanted in plan.arms.values())
    on = f" on {code(case.runner, 80)}" if case.runner else ""
    most = f", at most {minutes(case.budget_minutes)} of machine time in all" if case.budget_minutes else ""
    return f"{', '.join(parts)}, alternating{on}: {total} runs. More rounds may follow{most}"


def _runs(case: Case) -> str:
    parts = [f"**Runs:** {case.runs_done} of {case.runs_planned} planned"]
    if case.rounds:
        parts.append(f"{case.rounds} round{'s' if case.rounds != 1 else ''}")
    if case.gpu_minutes is not None:
        parts.append(f"{minutes(case.gpu_minutes)} of {'GPU' if case.gpus else 'runner'} time")
    if case.runner:
        parts.append(f"runner {code(case.runner, 80)}")
    if case.hosts:
        more = f" and {len(case.hosts) - 6} more" if len(case.hosts) > 6 else ""
        parts.append("hosts " + ", ".join(code(host, 60) for host in case.hosts[:6]) + more)
    parts += [link("red job", case.job_url)] if case.job_url else []
    parts += [link(f"rerun {place}", url) for place, url in enumerate(case.run_urls[:10], start=1)]
    if case.evidence is not None:
        parts += [link("readings", case.evidence.readings_url), link("chart", case.evidence.chart_url)]
    elif case.no_evidence_because:
        parts.append(prose(case.no_evidence_because, 200))
    return " · ".join(parts)


def _why(verdict: Verdict) -> str:
    if not verdict.trace:
        return f"**Why:** {code(verdict.reason, 80)}"
    lines = [f"**Why:** {prose(verdict.trace[-1].saw, 400)} ({code(verdict.reason, 80)})"]
    others = [rung for rung in verdict.trace[:-1] if rung.name in _ALTERNATIVES]
    if others and verdict.next is None:
        lines += [
            "",
            "**Why not:**",
            *(f"- {code(rung.name, 40)}: {prose(rung.saw, 240)}" for rung in others),
        ]
    return "\n".join(lines)


def _outliers(verdict: Verdict) -> str:
    found = verdict.numbers.outlier_prompts
    if not found:
        return ""
    shown = []
    for outlier in found[:5]:
        launch = f", launch {code(outlier.launch, 60)}" if outlier.launch else ""
        where = f"{prose(outlier.arm, 20)}{launch}"
        seen = f"{number(outlier.value)}, its reference {number(outlier.reference)}"
        shown.append(f"prompt {outlier.prompt} on {where}: {seen}")
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    return f"**Prompts far out** (numbered from 0): {'; '.join(shown)}{more}."


def _stale(case: Case) -> str:
    if not words.is_stale(case):
        return ""
    return f"**Older commit:** this is about {short(case.head_sha)}; the pull request has moved on."


def _commands(case: Case) -> str:
    lines = [f"Somebody with write permission can comment {words.again(case)} to measure again."]
    if case.feedback_url:
        lines.append(f"Wrong verdict? {link('Say so', case.feedback_url)}.")
    rules = f", rules {code(case.rules, 80)}" if case.rules else ""
    return f"<sub>{' '.join(lines)} kl-triage {code(case.bot_version, 60)}{rules}</sub>"


def _data(case: Case, verdict: Verdict) -> str:
    facts = verdict.as_dict()
    return data(
        {
            "test": case.test[:400],
            "head": case.head_sha,
            "base": case.base_sha,
            "bound": None if case.bound is None else number_to_json(case.bound),
            **{name: facts[name] for name in ("kind", "reason", "numbers", "proposal", "next")},
        },
        optional=("proposal", "numbers", "next"),
    )


def _value(case: Case, value: float) -> str:
    return number(value, *(() if case.bound is None else (case.bound,)))
