"""The proposing step: where noise was shown, a draft pull request that moves one number."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from github import GithubException
from github.Repository import Repository

from bot.github import reads, writes
from bot.github.tree import python_files
from bot.report import pull_request
from bot.report.facts import Case
from bot.source import EditError, Site, bump, locate
from bot.source.relocate import relocation
from bot.store import Bump, Investigation
from bot.triage import ledger
from bot.triage.casefile import case_file
from bot.triage.measuring import config_of, verdict_of
from bot.triage.services import Services
from bot.verdict import Proposal, Reading, Refusal, Verdict, VerdictKind

log = logging.getLogger(__name__)

LABEL: Final = "kl-triage"


@dataclass(frozen=True, slots=True)
class Edit:
    """The file before and after, at the commit of the default branch it was read from."""

    path: str
    site: Site
    bound: float
    base_sha: str
    old: bytes
    new: bytes


def open_pull_request(svc: Services, key: str) -> None:
    """Opens the draft, or writes down in one sentence why there is none."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    if verdict.kind is not VerdictKind.NOISE or verdict.proposal is None:
        return
    opened = _open(svc, investigation, verdict, verdict.proposal, readings)
    if isinstance(opened, Refusal):
        log.info("%s: no pull request: %s", key, opened.sentence)
        svc.store.note(investigation.repo, key, opened.code, opened.sentence)
        svc.store.remember(key, proposal_refusal=opened.sentence)
    else:
        svc.store.record_bump(_ledger_row(investigation, verdict.proposal, opened.number))
        svc.store.remember(key, proposal={"number": opened.number, "url": opened.url})


def _open(
    svc: Services,
    investigation: Investigation,
    verdict: Verdict,
    proposal: Proposal,
    readings: Sequence[Reading],
) -> writes.ProposedPull | Refusal:
    repo = svc.repository(investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    if case.site is None:
        return Refusal("no_site", "The literal that sets the bound is not known, so nothing is changed.")
    if case.ledger is None:
        return Refusal("no_ledger", "The earlier moves of this bound were not read, so it is not moved.")
    # One that is open already comes first: this step may have opened it before a crash.
    there = writes.pull_of_branch(repo, pull_request.branch(case.site, proposal.threshold))
    if there is not None:
        return _judged(there)
    edit = _not_now(repo, investigation, case) or _edit(repo, investigation, case, verdict, proposal)
    if isinstance(edit, Refusal):
        return edit
    try:
        return _publish(repo, edit, replace(case, site=edit.site), verdict, readings)
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.warning("%s: GitHub refused the pull request", investigation.id, exc_info=True)
        return Refusal("github_refused", f"GitHub refused the pull request (HTTP {refused.status}).")


def _judged(there: writes.ProposedPull) -> writes.ProposedPull | Refusal:
    if there.merged:
        return Refusal("merged", f"The same bump was merged in #{there.number}.")
    if there.state == "closed":
        return Refusal("declined", f"The same bump was closed in #{there.number}; it is not opened again.")
    return there


def _not_now(repo: Repository, investigation: Investigation, case: Case) -> Refusal | None:
    """Why the repository or the pull request as it is today is not for a bump."""
    if config_of(investigation).mode != "propose":
        return Refusal("mode", "The repository's mode is not 'propose', so no pull request is opened.")
    if investigation.facts["base_ref"] != case.default_branch:
        return Refusal(
            "other_base", "The pull request is not for the default branch, so its bound is not moved."
        )
    pull = reads.pull(repo, investigation.pull)
    if pull is None or pull.head_sha != investigation.head_sha:
        return Refusal(
            "head_moved", "The pull request moved on while the reruns were out, so no bound is changed."
        )
    return None


def _edit(
    repo: Repository, investigation: Investigation, case: Case, verdict: Verdict, proposal: Proposal
) -> Edit | Refusal:
    """Located and proved anew on the default branch, which may have moved while the reruns were out."""
    base_sha = reads.branch_head(repo, case.default_branch)
    if base_sha is None:
        return Refusal("no_default_branch", "The default branch could not be read, so no bound is changed.")

    files = python_files(repo, base_sha)
    if files is None:
        return Refusal(
            "tree_unreadable",
            "The default branch could not be searched for other tests under this bound, so it is not moved.",
        )
    pack = config_of(investigation).pack
    attributes, gate = pack.attributes, pack.exact_gate
    file, _, name = investigation.test.partition("::")
    name = name.partition("[")[0]  # pytest's parameters stand in brackets
    site = locate(file, name, files.get, attributes, gate, list_files=lambda: files)
    if isinstance(site, Refusal):
        return site
    if site.refusal is not None and site.override is None:
        return site.refusal
    if site.key != investigation.site_key:
        return Refusal("site_moved", "On the default branch another literal sets this bound.")
    if not site.complete:
        return Refusal(
            "tree_unreadable",
            "Not every file of the default branch could be searched for tests under this bound: it stays.",
        )
    path = site.path if site.override is None else site.override.path
    old = files.get(path)
    if old is None or site.value != proposal.old:
        return Refusal("bound_moved", f"The bound on the default branch is no longer {proposal.old:g}.")
    comment = pull_request.comment_line(case, verdict)
    again = relocation(file, name, files.get, path, attributes, gate)
    try:
        new = bump(old, site, proposal.threshold, comment, again)
    except EditError:
        log.exception("%s: the edit of %s failed its proof", investigation.id, site.key)
        return Refusal(
            "not_proved", "The edit did not pass its own proof, so nothing is changed; report this."
        )
    if isinstance(new, Refusal):
        return new
    edited = {**files, path: new}
    after = locate(file, name, edited.get, attributes, gate, list_files=lambda: edited)
    if isinstance(after, Refusal):
        return after
    # Subclasses follow a bound of the class's own: the text names every test that the edit moves.
    moved = replace(site, governs=after.governs)
    return Edit(path, moved, proposal.threshold, base_sha, old, new)


def _publish(
    repo: Repository, edit: Edit, case: Case, verdict: Verdict, readings: Sequence[Reading]
) -> writes.ProposedPull | Refusal:
    """Branch, commit, draft; what is there from an earlier try is taken as it is."""
    branch = pull_request.branch(edit.site, edit.bound)
    writes.ensure_branch(repo, branch, edit.base_sha)
    message = pull_request.commit_message(case, verdict)
    if not writes.commit_file(repo, branch, edit.path, old=edit.old, new=edit.new, message=message):
        return Refusal(
            "branch_edited", f"The branch {branch} holds another edit; delete it to let the bot propose."
        )
    title, body = pull_request.title(case, verdict), pull_request.body(case, verdict, readings)
    return writes.ensure_draft_pull(repo, branch, case.default_branch, title=title, body=body, label=LABEL)


def _ledger_row(investigation: Investigation, proposal: Proposal, pull: int) -> Bump:
    return Bump(
        repo=investigation.repo,
        site_key=investigation.site_key,
        investigation=investigation.id,
        old=proposal.old,
        new=proposal.threshold,
        pull=pull,
        evidence=(investigation.facts.get("evidence") or {}).get("commit", ""),
        expires_at=ledger.expires(investigation),
    )
