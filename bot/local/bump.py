"""`--apply`: the proposed bound as a commit on a branch of its own; the working tree stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bot import __version__
from bot.local.question import Question
from bot.local.rounds import Answer
from bot.report import pull_request
from bot.report.facts import Case
from bot.report.terminal import verdict_text
from bot.source import Site, bump
from bot.source.relocate import relocation
from bot.triage.measure.restraint import EXPIRES
from bot.verdict import Refusal, VerdictKind

_WIDTH: Final = 72


@dataclass(frozen=True, slots=True)
class Bumped:
    """The branch, and its one commit on top of head. `made`: False where it was there already."""

    branch: str
    commit: str
    path: str
    made: bool = True


def commit_bump(question: Question, answer: Answer) -> Bumped | Refusal:
    """Located and proved anew in head's tree. Refuses anything but noise with a proposal."""
    verdict = answer.verdict
    if verdict is None or verdict.kind is not VerdictKind.NOISE or verdict.proposal is None:
        told = "there is no verdict" if verdict is None else f"the verdict is '{verdict.kind}'"
        if verdict is not None and verdict.kind is VerdictKind.NOISE:
            told = "the judge proposes no bound"
        return Refusal("nothing_to_apply", f"Nothing was committed: {told}.")
    site = question.site()
    if isinstance(site, Refusal):
        return site
    if site.refusal is not None and site.override is None:
        return site.refusal
    if site.value != verdict.proposal.old:
        return Refusal("bound_moved", f"The bound at head is {site.value:g}, not {verdict.proposal.old:g}.")
    return _commit(question, answer, site, verdict.proposal.threshold)


def branch_of(answer: Answer) -> str | None:
    """Where `--apply` would put the proposed bound."""
    if answer.verdict is None or answer.verdict.proposal is None or isinstance(answer.site, Refusal):
        return None
    return pull_request.branch(answer.site, answer.verdict.proposal.threshold)


def _commit(question: Question, answer: Answer, site: Site, new: float) -> Bumped | Refusal:
    clone, head, case = question.clone, question.head, _case(question, answer, site)
    path = site.path if site.override is None else site.override.path

    def read(wanted: str) -> bytes | None:
        return clone.read(head, wanted)

    proof = relocation(
        question.path,
        question.test.partition("::")[2].partition("[")[0],
        read,
        path,
        question.pack.attributes,
        question.pack.exact_gate,
    )
    verdict = answer.verdict
    if verdict is None:
        raise ValueError("a bump needs a verdict")
    old = read(path)
    if old is None:
        return Refusal("file_not_found", f"There is no file '{path}' at head.")
    edited = bump(old, site, new, pull_request.comment_line(case, verdict), proof)
    if isinstance(edited, Refusal):
        return edited
    branch = pull_request.branch(site, new)
    tip = clone.tip(branch)
    if tip is not None:
        if clone.changed(head, tip) == (path,) and clone.read(tip, path) == edited:
            return Bumped(branch, tip, path, made=False)
        return Refusal(
            "branch_is_there",
            f"The branch {branch} holds something else; git branch -D {branch} lets it be made anew.",
        )
    message = pull_request.commit_message(case, verdict)
    shown = verdict_text(verdict, answer.readings, _WIDTH, bound=answer.bound).rpartition("\nnext: ")[0]
    return Bumped(branch, clone.commit_file(branch, head, path, edited, f"{message}\n{shown}"), path)


def _case(question: Question, answer: Answer, site: Site) -> Case:
    return Case(
        key=site.key,
        repo=question.clone.folder.name,
        test=question.test,
        head_sha=question.head,
        base_sha=question.base,
        bot_version=__version__,
        bound=answer.bound,
        attribute=site.attribute,
        site=site,
        rounds=answer.rounds,
        rules=question.pack.name,
        expires=f"{datetime.now(UTC) + EXPIRES:%Y-%m-%d}",
    )
