"""The draft pull request that moves a bound: title, branch, commit, source comment, body."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from bot.report import ledger, markers, tables, words
from bot.report.facts import Case
from bot.report.markdown import (
    LIMIT,
    capped,
    code,
    folded,
    link,
    prose,
    row,
    sentence,
    short,
    stacked,
    table,
    unmentioned,
)
from bot.report.numbers import percent, plain, ratio_interval, times
from bot.source.site import Site
from bot.verdict.answer import Proposal, Verdict
from bot.verdict.reading import Arm, Reading

COMMENT_WIDTH: Final = 100
_SLUG: Final = 40


def branch(site: Site, new: float) -> str:
    """`kl-triage/bump/<slug>-<hash8>/<new>`: the same site and bound give the same name, always."""
    value = re.sub(r"[^0-9.-]+", "-", plain(new))
    return f"{branch_prefix(site)}{value}"


def branch_prefix(site: Site) -> str:
    """How the branch of every bump of the site begins, and no other branch."""
    slug = re.sub(r"[^a-z0-9]+", "-", _holder(site).lower())[:_SLUG].strip("-") or "site"
    digest = hashlib.sha256(site.key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"kl-triage/bump/{slug}-{digest}/"


def marker(site: Site) -> str:
    """First line of the body; `markers.find_marker(body, markers.BUMP)` gives `site.key` back."""
    return markers.marker(markers.BUMP, site.key)


def title(case: Case, verdict: Verdict) -> str:
    """`[CI] Relax TestX kl_threshold 0.003 -> 0.005 (noise, 48 runs, x1.02 vs base)`"""
    site, proposal = _bump(case, verdict)
    _, runs = _rerun_total(verdict)
    ratio = verdict.numbers.ratio
    against = f", x{times(ratio.estimate)} vs base" if ratio else ""
    move = f"{plain(proposal.old)} -> {plain(proposal.threshold)}"
    return f"[CI] Relax {_name(_holder(site))} {_name(site.attribute)} {move} (noise, {runs} runs{against})"


def comment_line(case: Case, verdict: Verdict) -> str:
    """The one comment line above the bound, ASCII, at most 100 characters, with its `# `."""
    _, proposal = _bump(case, verdict)
    exceeded, runs = _rerun_total(verdict)
    move = f"# {plain(proposal.old)} -> {plain(proposal.threshold)}"
    seen = f": {exceeded}/{runs} runs exceeded {plain(proposal.old)}" if runs else ""
    expected = f", expected {percent(proposal.exceedance.rate)} at {plain(proposal.threshold)}"
    again = f"; look again after {case.expires}" if case.expires else ""
    origin = " (kl-triage)" if case.pull is None else f" (kl-triage, #{case.pull})"
    for told in (seen + expected + again, seen + again, again, seen, ""):
        line = move + told + origin
        if len(line) <= COMMENT_WIDTH and line.isascii():
            return line
    return "# moved by kl-triage"


def commit_message(case: Case, verdict: Verdict) -> str:
    """Subject as the title, then where and why, then the evidence commit."""
    site, proposal = _bump(case, verdict)
    exceeded, runs = _rerun_total(verdict)
    lines = [
        title(case, verdict),
        "",
        f"{unmentioned(site.path, 200)}: one number and one comment line.",
        f"{exceeded} of {runs} runs exceeded {plain(proposal.old)}; "
        f"{percent(proposal.exceedance.rate)} of CI jobs are expected over {plain(proposal.threshold)}.",
    ]
    if case.evidence is not None:
        lines += ["", f"Evidence: commit {unmentioned(case.evidence.commit, 64)}"]
    return "\n".join(lines) + "\n"


def body(case: Case, verdict: Verdict, readings: Sequence[Reading] = ()) -> str:
    """Ten points; what has no data says so. `readings` count what lies over each bound considered."""
    site, proposal = _bump(case, verdict)
    top = "\n\n".join(
        [
            marker(site),
            f"**{words.words(verdict).label}:** {prose(verdict.sentence)}",
            _section("What changes", _changes(case, site, proposal)),
            _section("Evidence", _evidence(case, readings, proposal)),
            _section("Head beside base, and history", _beside(case, verdict)),
            _section("What it still catches", _catches(proposal)),
            _section("History", _history(case, readings, proposal)),
            _section("Before loosening", _remedies(proposal)),
            _section("If you do not want this", _decline(case)),
        ]
    )
    return capped(f"{top}\n\n{_provenance(case, verdict, readings, LIMIT - len(top) - 10)}".rstrip(), LIMIT)


def _section(heading: str, text: str) -> str:
    return f"### {heading}\n\n{text}"


def _changes(case: Case, site: Site, proposal: Proposal) -> str:
    move = f"{plain(proposal.old)} → {plain(proposal.threshold)} ({words.direction(proposal)})"
    kept = [f"{code(f'{s.cls}.{site.attribute}', 120)} ({plain(s.value)})" for s in site.siblings[:10]]
    more = f" and {len(site.siblings) - 10} more" if len(site.siblings) > 10 else ""
    own = site.override
    path, name = (site.path, site.name) if own is None else (own.path, f"{own.cls}.{own.attribute}")
    how = "" if own is None else f" as a bound of its own, not that of {code(site.name, 160)},"
    tests = site.governs
    governed = ", ".join(code(test.removeprefix(f"{path}::"), 200) for test in tests[:10])
    others = f" and {len(tests) - 10} more" if len(tests) > 10 else ""
    return "\n".join(
        [
            f"- {code(path, 300)}, {code(name, 160)}: {move},{how} and one comment line above it.",
            f"- Tests under this bound: {governed}{others}.{_only(case, tests)}"
            if governed
            else "- Tests under this bound: not known.",
            f"- Unchanged beside it: {', '.join(kept)}{more}."
            if kept
            else f"- No other class known here sets {code(site.attribute, 80)}.",
            "- No other file, no default, no test code.",
        ]
    )


def _only(case: Case, tests: Sequence[str]) -> str:
    """One test of a bound is measured: the tables must not seem to speak of the others."""
    if all(case.test == test or case.test.startswith(f"{test}[") for test in tests):
        return ""
    return f" Measured: {code(case.name, 120)} alone; no number here speaks of the others."


def _evidence(case: Case, readings: Sequence[Reading], proposal: Proposal) -> str:
    links = "No raw readings were kept for this case."
    if case.evidence is not None:
        raw, picture = (
            link("raw readings", case.evidence.readings_url),
            link("chart", case.evidence.chart_url),
        )
        links = f"Check it: {raw}, {picture} (evidence commit {short(case.evidence.commit)})."
    model = f"Model: {prose(proposal.exceedance.model, 200)}." if proposal.exceedance.model else ""
    why = f"**Why this value:** {sentence(proposal.why_this_value)}"
    return "\n\n".join(
        part
        for part in (tables.candidates_table(readings, proposal), why, f"{model} {links}".strip())
        if part
    )


def _beside(case: Case, verdict: Verdict) -> str:
    numbers = verdict.numbers
    lines = [tables.arms_table(case, verdict)]
    if numbers.ratio is not None:
        lines.append(f"Head over base ×{ratio_interval(numbers.ratio)}.")
    else:
        lines.append("Head over base: not measured.")
    caveat = words.caveat(verdict)
    return "\n\n".join([*lines, caveat] if caveat else lines)


def _catches(proposal: Proposal) -> str:
    if not proposal.still_catches:
        return "Not measured: the chance to catch a shift was not estimated."
    rows = [
        row(f"×{plain(catch.ratio)}", percent(catch.before), percent(catch.after))
        for catch in proposal.still_catches
    ]
    header = (
        "level multiplied by",
        f"one CI job red at {plain(proposal.old)}",
        f"one CI job red at {plain(proposal.threshold)}",
    )
    return table(header, rows)


def _history(case: Case, readings: Sequence[Reading], proposal: Proposal) -> str:
    replay = "no history yet, so not measured"
    if tables.values(readings, Arm.HISTORY):
        before = tables.over(readings, proposal.old, Arm.HISTORY)
        after = tables.over(readings, proposal.threshold, Arm.HISTORY)
        replay = f"{before} over {plain(proposal.old)}, {after} over {plain(proposal.threshold)}"
    lines = "\n".join(
        [
            f"- Replay of past runs of {code(case.default_branch, 60)}: {replay}.",
            "- Known regressions of this test: no history yet, so none was held against the new value.",
            *ledger.summary(case, proposal),
        ]
    )
    return "\n\n".join(part for part in (lines, ledger.moves_table(case)) if part)


def _remedies(proposal: Proposal) -> str:
    if not proposal.remedies:
        return "Not measured: no other remedy was estimated."
    return "\n".join(f"- {sentence(remedy, 300)}" for remedy in proposal.remedies[:10])


def _decline(case: Case) -> str:
    again = ""
    if case.declined_for_days is not None:
        again = f"; the bot will not open it again for {case.declined_for_days} days"
    return (
        f"Close this pull request to decline{again}. It is a draft, it is never merged by the bot."
        " While nobody else commits to its branch, the bot makes it anew when the default branch changes the"
        " file, and closes it when the bound is gone or moved."
    )


def _provenance(case: Case, verdict: Verdict, readings: Sequence[Reading], room: int) -> str:
    pull = f"#{case.pull}" if case.pull is not None else "none"
    rows = [
        row("red test", code(case.test, 300)),
        row("red job", link("job", case.job_url) if case.job_url else "not known"),
        row("pull request it was red on", pull),
        row("runs", f"{case.runs_done} of {case.runs_planned} planned, rounds: {case.rounds}"),
        row("hosts", ", ".join(code(host, 60) for host in case.hosts[:10]) or "not known"),
        *(row(f"rerun {place}", link("run", url)) for place, url in enumerate(case.run_urls[:10], start=1)),
    ]
    return stacked(
        room,
        lambda left: folded("Where this comes from", ("what", "which"), rows, left),
        lambda left: tables.versions(case, readings, left),
        lambda left: tables.ladder(verdict, left),
        lambda left: tables.missing_runs(readings, min(left, room // 4)),
        lambda left: tables.run_values(readings, tables.bounds(case, verdict), left),
    )


def _bump(case: Case, verdict: Verdict) -> tuple[Site, Proposal]:
    if case.site is None or verdict.proposal is None:
        raise ValueError("a bump needs a site and a proposal")
    return case.site, verdict.proposal


def _holder(site: Site) -> str:
    """The class whose bound moves; the file of a constant, which belongs to no class."""
    if site.override is not None:
        return site.override.cls
    return site.cls or PurePosixPath(site.path).stem


def _rerun_total(verdict: Verdict) -> tuple[int, int]:
    """Exceedances and runs of head and base together."""
    rates = [rate for arm, rate in verdict.numbers.exceedance.items() if arm in ("head", "base")]
    return sum(rate.exceeded for rate in rates), sum(rate.n for rate in rates)


def _name(identifier: str) -> str:
    """An identifier of the source in a title."""
    return unmentioned(identifier, 80)
