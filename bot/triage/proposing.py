"""The proposing step: where noise was shown, a draft pull request that moves one number."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from bot.github import reads, writes
from bot.report import pull_request
from bot.source import Site, bump, locate
from bot.store import Bump, Investigation
from bot.store.tables import utcnow
from bot.triage.casefile import case_file
from bot.triage.measuring import config_of, verdict_of
from bot.triage.services import Services
from bot.verdict import Proposal, Reading, Refusal, Verdict, VerdictKind

log = logging.getLogger(__name__)

LABEL: Final = "kl-triage"
EXPIRES: Final = timedelta(days=90)


def open_pull_request(svc: Services, key: str) -> None:
    """Opens the draft, or writes down in one sentence why there is none."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    if verdict.kind is not VerdictKind.NOISE or verdict.proposal is None:
        return
    refusal = _propose(svc, investigation, verdict, verdict.proposal, readings)
    if refusal is not None:
        log.info("%s: no pull request: %s", key, refusal.sentence)
        svc.store.note(investigation.repo, key, refusal.code, refusal.sentence)
        svc.store.remember(key, proposal_refusal=refusal.sentence)


def _propose(
    svc: Services,
    investigation: Investigation,
    verdict: Verdict,
    proposal: Proposal,
    readings: Sequence[Reading],
) -> Refusal | None:
    if config_of(investigation).mode != "propose":
        return Refusal("mode", "The repository's mode is not 'propose', so no pull request is opened.")
    repo = svc.repository(investigation)
    pull = reads.pull(repo, investigation.pull)
    if pull is None or pull.head_sha != investigation.head_sha:
        return Refusal(
            "head_moved", "The pull request moved on while the reruns were out, so no bound is changed."
        )
    default = investigation.facts["default_branch"]
    base_sha = reads.branch_head(repo, default)
    if base_sha is None:
        return Refusal("no_default_branch", f"The branch {default} could not be read.")
    path, _, name = investigation.test.partition("::")
    old = reads.file_at(repo, path, base_sha)
    site = locate(
        path, name, lambda wanted: reads.file_at(repo, wanted, base_sha), _attributes(investigation)
    )
    if isinstance(site, Refusal):
        return site
    if old is None or site.value != proposal.old:
        return Refusal(
            "bound_moved", f"The bound on {default} is no longer {proposal.old:g}, so it is left alone."
        )
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    new = bump(old, site, proposal.threshold, pull_request.comment_line(case, verdict))
    if isinstance(new, Refusal):
        return new
    branch = pull_request.branch(site, proposal.threshold)
    earlier = writes.pull_of_branch(repo, branch)
    if earlier is not None and earlier.state == "closed":
        return Refusal("declined", f"The same bump was closed in #{earlier.number}; it is not opened again.")
    writes.ensure_branch(repo, branch, base_sha)
    if not writes.commit_file(
        repo, branch, path, old=old, new=new, message=pull_request.commit_message(case, verdict)
    ):
        return Refusal(
            "branch_edited", f"The branch {branch} holds somebody else's edit, so it is left alone."
        )
    opened = writes.ensure_draft_pull(
        repo,
        branch,
        default,
        title=pull_request.title(case, verdict),
        body=pull_request.body(case, verdict, readings),
        label=LABEL,
    )
    svc.store.record_bump(_ledger_row(investigation, site, proposal, opened.number))
    svc.store.remember(investigation.id, proposal={"number": opened.number, "url": opened.url})
    return None


def _attributes(investigation: Investigation) -> tuple[str, ...]:
    return config_of(investigation).pack.attributes


def _ledger_row(investigation: Investigation, site: Site, proposal: Proposal, pull: int) -> Bump:
    return Bump(
        repo=investigation.repo,
        site_key=site.key,
        investigation=investigation.id,
        old=proposal.old,
        new=proposal.threshold,
        pull=pull,
        evidence=(investigation.facts.get("evidence") or {}).get("commit", ""),
        expires_at=utcnow() + EXPIRES,
    )
