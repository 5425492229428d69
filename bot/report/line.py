"""What a pull request hears that went red at a site but was not measured itself: one short comment.

It has the marker of the sticky comment of that pull request and site, so that a measurement of its own is
written over it. It is never green: its commit was not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.report import words
from bot.report.facts import EvidenceLinks, PullLink
from bot.report.markdown import LIMIT, capped, code, link, prose, short
from bot.report.markers import COMMENT, marker
from bot.report.numbers import exceeded, number, plain, ratio_interval, times
from bot.verdict.answer import Exceedance, Ratio, VerdictKind

_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Red:
    """What the job of this pull request showed. `values` in nats; SHAs full; `job_url` that of the job."""

    key: str
    """Names the sticky comment."""
    test: str
    head_sha: str
    job_url: str
    values: tuple[float, ...] = ()
    bound: float | None = None
    bound_name: str = "the bound"
    current_head: str | None = None
    """Where the pull request is now; other than `head_sha`: the job is of an older commit."""
    fork: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found for another pull request. `day` as 2026-03-01; `since`: the commit of the default branch
    from which on history is over the bound, where that is known."""

    pull: PullLink
    kind: VerdictKind
    head_sha: str
    base_sha: str
    day: str
    rates: Mapping[str, Exceedance] = field(default_factory=dict)
    ratio: Ratio | None = None
    min_detectable_ratio: float | None = None
    since: str | None = None
    evidence: EvidenceLinks | None = None
    proposal: PullLink | None = None


def waiting(red: Red, measured: PullLink) -> str:
    """Said at once: another pull request is being measured at this site. `measured.url`: of its comment."""
    other = link(f"#{measured.number}", measured.url)
    return _text(
        red,
        f"### {words.WAIT} KL triage: BEING MEASURED for another pull request - {_name(red)}",
        f"{_went_red(red)} It went red here too: the same bound is being measured for {other},"
        " and this comment gets the answer. **Next:** nothing to do.",
        _stale(red),
        _again(red),
    )


def answered(red: Red, verdict: Verdict) -> str:
    """Not your fault, with the evidence that says so and what would make it wrong."""
    label = words.WORDS[verdict.kind].label
    return _text(
        red,
        f"### {words.WARNING} KL triage: {label}, measured for another pull request - {_name(red)}",
        f"{_went_red(red)} {_meaning(verdict)} **Your commit was not measured.**",
        _stale(red),
        _measured(verdict),
        _links(verdict),
        _caveat(verdict),
        f"**Next:** {_next(verdict)}",
        _again(red),
    )


def unanswered(red: Red, why: str) -> str:
    """The answer that was waited for does not cover this pull request, and it is not measured. `why`: one
    sentence."""
    return _text(
        red,
        f"### {words.WARNING} KL triage: NOT MEASURED - {_name(red)}",
        f"{_went_red(red)} What was found for another pull request does not answer this one, and it is not"
        f" measured by itself: {prose(why)} This says nothing about the change.",
        _stale(red),
        _again(red),
    )


def red_again(commit: str, values: Iterable[float], bound: float | None) -> str:
    """For the comment of an older commit of the same pull request, as plain text."""
    shown = _shown(tuple(values), bound)
    return f"Commit {commit[:7]} went red too ({shown}), within what these runs showed, and was not measured."


def _text(red: Red, *blocks: str) -> str:
    first = marker(COMMENT, red.key, red.head_sha)
    return capped("\n\n".join([first, *(block for block in blocks if block)]), LIMIT)


def _name(red: Red) -> str:
    return code(red.test.rpartition("::")[2] or red.test, 120)


def _went_red(red: Red) -> str:
    bound = "its bound" if red.bound is None else f"{code(red.bound_name, 60)} = {plain(red.bound)}"
    where = f"in {link('this job', red.job_url)} at {short(red.head_sha)}"
    if not red.values:
        return f"A KL test went red against {bound} {where}."
    return f"KL was {_shown(red.values, red.bound)} against {bound} {where}."


def _shown(values: Sequence[float], bound: float | None) -> str:
    limits = () if bound is None else (bound,)
    shown = " and then ".join(number(value, *limits) for value in values[:_SHOWN])
    return f"{shown} and {len(values) - _SHOWN} more" if len(values) > _SHOWN else shown


def _meaning(verdict: Verdict) -> str:
    if verdict.kind is VerdictKind.OLD_REGRESSION:
        since = f" since {short(verdict.since)}" if verdict.since else ""
        return (
            f"The default branch got worse{since} by an earlier change, so probably not by this pull request."
        )
    return (
        "What was measured for another pull request says noise: this test varies so without any change,"
        " and probably here too."
    )


def _measured(verdict: Verdict) -> str:
    commits = {"head": verdict.head_sha, "base": verdict.base_sha}
    rates = [
        f"{arm} {short(commits[arm])} {exceeded(rate)}"
        for arm, rate in verdict.rates.items()
        if arm in commits and rate.n
    ]
    other = link(f"#{verdict.pull.number}", verdict.pull.url)
    over = f"runs over the bound: {', '.join(rates)}" if rates else "its runs are in the evidence"
    ratio = "" if verdict.ratio is None else f"; head over base ×{ratio_interval(verdict.ratio)}"
    return (
        f"**Measured** for {other} on {verdict.day}: {over}{ratio}."
        " No value of your job is above what was measured there."
    )


def _links(verdict: Verdict) -> str:
    parts = [link("verdict and numbers", verdict.pull.url)]
    if verdict.evidence is not None:
        parts += [link("readings", verdict.evidence.readings_url), link("chart", verdict.evidence.chart_url)]
    if verdict.proposal is not None:
        parts += [link(f"draft pull request #{verdict.proposal.number}", verdict.proposal.url)]
    return f"**Evidence:** {' · '.join(parts)}"


def _caveat(verdict: Verdict) -> str:
    blind = "this pull request raises KL by itself"
    if verdict.min_detectable_ratio is not None:
        seen = f"×{times(verdict.min_detectable_ratio)}"
        blind += f" (those runs would have shown {seen} there, but not here)"
    if verdict.kind is VerdictKind.OLD_REGRESSION:
        blind += ", or starts from a commit before that change"
    return f"**Could be wrong if:** {blind}; one red job cannot tell."


def _next(verdict: Verdict) -> str:
    if verdict.kind is VerdictKind.OLD_REGRESSION:
        return "look for the cause on the default branch; as far as this shows, nothing has to change here."
    if verdict.proposal is not None:
        pull = link(f"#{verdict.proposal.number}", verdict.proposal.url)
        return f"as far as this shows, nothing has to change here; {pull} proposes another bound."
    return "as far as this shows, nothing has to change here for this test."


def _stale(red: Red) -> str:
    if red.current_head is None or red.current_head == red.head_sha:
        return ""
    return f"**Older commit:** this is about {short(red.head_sha)}; the pull request has moved on."


def _again(red: Red) -> str:
    """A fork's code is bound to what the writer looked at."""
    asked = f"`/rerun-kl {red.head_sha}`" if red.fork and len(red.head_sha) == 40 else "`/rerun-kl`"
    return f"<sub>Somebody with write permission can comment {asked} to measure this commit.</sub>"
