"""What each kind of verdict is called, how it looks, and what its reader does next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.report.facts import Case
from bot.report.markdown import code, link, prose
from bot.report.numbers import number, plain, ratio_interval
from bot.verdict.answer import Proposal, Verdict, VerdictKind

PASS: Final = "✅"  # noqa: S105 - an icon
WARNING: Final = "⚠️"
CROSS: Final = "❌"
WAIT: Final = "⏳"
AGAIN: Final = "comment {again} to measure again"
"""`{again}`: the command, which for a fork names the commit."""


@dataclass(frozen=True, slots=True)
class Words:
    """`conclusion` is the check run's: success, failure or neutral. `next` may hold `{again}`."""

    label: str
    icon: str
    conclusion: str
    next: str


WORDS: Final[Mapping[VerdictKind, Words]] = {
    VerdictKind.NOISE: Words(
        "NOISE", PASS, "success", "nothing has to change here for this test; the bound stays as it is"
    ),
    VerdictKind.REGRESSION: Words(
        "REGRESSION", CROSS, "failure", "look for the cause in this pull request; the bound stays"
    ),
    VerdictKind.OLD_REGRESSION: Words(
        "OLD REGRESSION",
        CROSS,
        "failure",
        "look for the cause on the default branch, not in this pull request; the bound stays",
    ),
    VerdictKind.DETERMINISTIC: Words(
        "LEVEL SHIFT (deterministic)",
        CROSS,
        "failure",
        "find what fixed the level; a rerun will not pass, and the bound stays",
    ),
    VerdictKind.INTERMITTENT: Words(
        "INTERMITTENT FAULT",
        CROSS,
        "failure",
        "look for state that one request leaves to another (slots, resets, races); the bound stays",
    ),
    VerdictKind.HARDWARE: Words(
        "HARDWARE-SPECIFIC", WARNING, "neutral", "check the host or GPU type named here; the bound stays"
    ),
    VerdictKind.INFRA: Words(
        "INFRA",
        WARNING,
        "neutral",
        f"this says nothing about the change; repair the runner, then {AGAIN}",
    ),
    VerdictKind.NON_FINITE: Words(
        "NOT A NUMBER", CROSS, "failure", "find where nan or inf comes from; no bound can cover it"
    ),
    VerdictKind.EXACT_GATE: Words(
        "EXACT GATE", CROSS, "failure", "any difference here is a bug; a bit-exact gate is never loosened"
    ),
    VerdictKind.NOT_REPRODUCED: Words(
        "NOT REPRODUCED",
        WARNING,
        "neutral",
        f"if it goes red again, {AGAIN}; the bound stays, also after that",
    ),
    VerdictKind.REFUSED: Words("REFUSED", WARNING, "neutral", "a person has to look; the bound stays"),
    VerdictKind.INCONCLUSIVE: Words(
        "NO VERDICT",
        WARNING,
        "neutral",
        f"these runs do not settle it; a person has to look, or {AGAIN}, which moves no bound",
    ),
}
BARRED: Final = Words(
    "NOISE, NO BUMP",
    WARNING,
    "neutral",
    "a person decides on the bound, which stays",
)
"""Noise by what was measured, where something bars the bump."""
STOPPED: Final = Words("STOPPED", WARNING, "neutral", AGAIN)
_HALTED: Final = frozenset({"stopped", "pull_closed", "head_moved"})
"""Reasons of refusals that ended a measurement from outside."""


def words(verdict: Verdict) -> Words:
    """While runs are still wanted there is no verdict, whatever the kind says."""
    if verdict.next is not None:
        return WORDS[VerdictKind.INCONCLUSIVE]
    return words_of(verdict.kind, verdict.reason, verdict.trace[-1].name if verdict.trace else "")


def words_of(kind: VerdictKind, reason: str, answered_by: str) -> Words:
    """`answered_by`: the last step of the ladder."""
    if kind is VerdictKind.REFUSED and answered_by == "noise":
        return BARRED
    return STOPPED if kind is VerdictKind.REFUSED and reason in _HALTED else WORDS[kind]


def again(case: Case) -> str:
    """The command that measures this commit again."""
    if not case.from_fork:
        return "`/rerun-kl`"
    if is_stale(case):
        return "`/rerun-kl` with the full SHA of the newest commit"
    return code(f"/rerun-kl {case.head_sha}")


def gaps(case: Case, verdict: Verdict) -> list[str]:
    """Everything that was not measured or not judged, as Markdown sentences. Any of them: never green."""
    found = [prose(sentence) for sentence in case.not_measured[:20]]
    for arm in ("head", "base"):
        runs = verdict.numbers.runs.get(arm)
        if runs is not None and runs.missing:
            found.append(f"{runs.missing} of {runs.ok + runs.missing} runs of {arm} gave no value.")
    if is_stale(case):
        found.append(f"The newest commit {code((case.current_head or '')[:7])} was not measured.")
    if case.also_red:
        names = ", ".join(code(red.test) for red in case.also_red[:5])
        more = f" and {len(case.also_red) - 5} more" if len(case.also_red) > 5 else ""
        found.append(f"Also red in the same job and not judged here: {names}{more}.")
    return found


def is_stale(case: Case) -> bool:
    return case.current_head is not None and case.current_head != case.head_sha


def head_above(verdict: Verdict) -> bool:
    """Whether the interval that is shown lies over 1, be it too narrowly for the judge to bar a bump."""
    return verdict.numbers.ratio is not None and verdict.numbers.ratio.low > 1


def icon(case: Case, verdict: Verdict) -> str:
    """Green for answered noise with nothing left unmeasured and no rise of head, and for nothing else."""
    chosen = words(verdict).icon
    return WARNING if chosen == PASS and (gaps(case, verdict) or head_above(verdict)) else chosen


def conclusion(case: Case, verdict: Verdict) -> str:
    chosen = words(verdict).conclusion
    return "neutral" if chosen == "success" and (gaps(case, verdict) or head_above(verdict)) else chosen


def next_step(case: Case, verdict: Verdict) -> str:
    """One Markdown sentence."""
    kind, proposal = verdict.kind, verdict.proposal
    if verdict.next is not None:
        return "**Next:** more runs are wanted; nothing to do until they are in."
    if kind is VerdictKind.NOISE and proposal is not None:
        move = f"{code(case.bound_name)} {plain(proposal.old)} → {plain(proposal.threshold)}"
        if case.proposal_pull is not None:
            pull = link(f"draft pull request #{case.proposal_pull.number}", case.proposal_pull.url)
            return f"**Next:** review {pull}, which moves {move}; here nothing has to change for this test."
        why = f" {prose(case.no_pull_because, 200)}" if case.no_pull_because else ""
        return f"**Next:** a person decides on {move}; no pull request is open for it.{why}"
    return f"**Next:** {words(verdict).next.replace('{again}', again(case))}."


def beside(case: Case, verdict: Verdict) -> list[str]:
    """What else a reader of this verdict has to know of the bound and the commit, as Markdown sentences."""
    told = []
    if words(verdict) is STOPPED:
        told += [f"It was stopped in {link('this comment', case.stopped_in)}."] if case.stopped_in else []
        told += ["Runs were seen, so a rerun is judged but moves no bound."] if case.runs_done else []
        told += [f"Before that, this commit was judged {prose(case.earlier, 60)}."] if case.earlier else []
    if case.open_bump is not None and case.proposal_pull is None:
        pull = link(f"#{case.open_bump.number}", case.open_bump.url)
        told.append(f"A pull request that moves {code(case.bound_name, 60)} is open already: {pull}.")
    return told


def caveat(verdict: Verdict) -> str:
    """What would make 'noise' wrong: said beside it, always."""
    head = verdict.numbers.exceedance.get("head")
    blind = []
    if head_above(verdict) and verdict.numbers.ratio is not None:
        blind.append(f"more than chance in the ×{ratio_interval(verdict.numbers.ratio)} of head over base")
    elif verdict.numbers.min_detectable_ratio is not None:
        blind.append(f"a shift of head below ×{number(verdict.numbers.min_detectable_ratio)}")
    if head is not None:
        blind.append(f"a fault too rare to show in {head.n} runs of head")
    history = verdict.numbers.runs.get("history")
    if history is None or not history.ok:
        blind.append("an older fault that head and base share (no history yet)")
    return f"**Could be wrong if:** there is {', or '.join(blind)}." if blind else ""


def direction(proposal: Proposal) -> str:
    """`looser, +67 %`"""
    change = (proposal.factor - 1) * 100
    return f"{'looser' if change > 0 else 'tighter'}, {change:+.0f} %"
