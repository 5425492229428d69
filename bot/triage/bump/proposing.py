"""The proposing step: where noise was shown, a draft pull request that moves one number."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from github.Repository import Repository

from bot.github import pulls, reads
from bot.github.pulls import PullState, WriteRefused
from bot.report import pull_request
from bot.report.facts import Case
from bot.store import Bump, Investigation
from bot.triage.bump import reviewers
from bot.triage.bump.editing import edit_for
from bot.triage.bump.publishing import Branch, Published, Texts, publish
from bot.triage.measure import halting, ledger, own_bumps
from bot.triage.measure.measuring import verdict_of
from bot.triage.services import Services
from bot.triage.tell.casefile import case_file
from bot.verdict import Proposal, Reading, Refusal, Verdict, VerdictKind

log = logging.getLogger(__name__)

OPENED: Final = "opened"


def open_pull_request(svc: Services, key: str) -> str:
    """OPENED when the draft is there, or writes down in one sentence why there is none."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    if verdict.kind is not VerdictKind.NOISE or verdict.proposal is None:
        return ""
    with own_bumps.alone(investigation.repo):
        return _proposed(svc, svc.store.investigation(key), verdict, readings, verdict.proposal)


def _proposed(
    svc: Services,
    investigation: Investigation,
    verdict: Verdict,
    readings: Sequence[Reading],
    proposal: Proposal,
) -> str:
    key = investigation.id
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    target = _target(svc, investigation, case, proposal)
    if isinstance(target, Branch):
        opened = _open(svc, investigation, target, case, verdict, readings)
    else:
        opened = target
    if isinstance(opened, Refusal):
        log.info("%s: no pull request: %s", key, opened.sentence)
        svc.store.note(investigation.repo, key, opened.code, opened.sentence)
        svc.store.remember(key, proposal_refusal=opened.sentence)
        return ""
    svc.store.remember(key, proposal={"number": opened.number, "url": opened.url})
    return OPENED if isinstance(target, Branch) else ""


def _open(
    svc: Services,
    investigation: Investigation,
    branch: Branch,
    case: Case,
    verdict: Verdict,
    readings: Sequence[Reading],
) -> PullState | Refusal:
    proposal = verdict.proposal
    if proposal is None:
        raise ValueError("a bump needs a proposal")
    edit = edit_for(svc.repository(investigation), investigation, case, verdict, proposal)
    if isinstance(edit, Refusal):
        return edit
    texts = texts_of(replace(case, site=edit.site), verdict, readings)
    try:
        published = publish(svc, investigation, branch, edit, texts)
    except WriteRefused as refused:
        return Refusal("github_refused", str(refused))
    if isinstance(published, Refusal):
        return published
    svc.store.record_bump(_ledger_row(investigation, proposal, published))
    reviewers.ask(svc, svc.store.investigation(investigation.id), edit.path, published.pull.number)
    return published.pull


def texts_of(case: Case, verdict: Verdict, readings: Sequence[Reading]) -> Texts:
    return Texts(
        title=pull_request.title(case, verdict),
        body=pull_request.body(case, verdict, readings),
        message=pull_request.commit_message(case, verdict),
    )


def _target(
    svc: Services, investigation: Investigation, case: Case, proposal: Proposal
) -> Branch | PullState | Refusal:
    """The branch that the bump goes to, the pull request that proposes the same already, or why there is
    none. One is open for a site at a time: another value goes to the branch of the one that is open."""
    if case.site is None:
        return Refusal("no_site", "The literal that sets the bound is not known, so nothing is changed.")
    if case.ledger is None:
        return Refusal("no_ledger", "The earlier moves of this bound were not read, so it is not moved.")
    repo = svc.repository(investigation)
    name = pull_request.branch(case.site, proposal.threshold)
    there = pulls.of_branch(repo, name)
    if there is not None and there.state != "open":
        return _judged(there)
    made = frozenset(investigation.facts.get("bump_commits") or [])
    if there is not None and there.head_sha in made:
        return Branch(name, made)  # this step opened it before a crash
    allowed = _not_now(svc, repo, investigation, case)
    if isinstance(allowed, Refusal):
        return allowed
    found = own_bumps.open_ones(svc, repo)
    if isinstance(found, Refusal):
        return found
    prefix = pull_request.branch_prefix(case.site)
    same = next((bump for bump in found if bump.head_ref.startswith(prefix)), None)
    if same is not None:
        return _open_already(svc, repo, investigation, same.number, proposal)
    if len(found) >= allowed:
        return Refusal(
            "open_bumps",
            f"{len(found)} of the bot's pull requests are open and open_bumps allows {allowed}; close or "
            "merge one first.",
        )
    return Branch(name, made)


def _judged(there: PullState) -> Refusal:
    if there.state == "merged":
        return Refusal("merged", f"The same bump was merged in #{there.number}.")
    return Refusal("declined", f"The same bump was closed in #{there.number}; it is not opened again.")


def _not_now(svc: Services, repo: Repository, investigation: Investigation, case: Case) -> int | Refusal:
    """How many bumps may be open, or why the repository or the pull request as it is today is not for one."""
    config = halting.allowed(svc, investigation)
    if isinstance(config, Refusal):
        return config
    if config.mode != "propose":
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
    return config.open_bumps


def _open_already(
    svc: Services, repo: Repository, investigation: Investigation, number: int, proposal: Proposal
) -> Branch | PullState | Refusal:
    """The open bump of the site: the same value is linked to, another replaces it if nobody touched it."""
    pull, bump = pulls.state_of(repo, number), svc.store.bump_of_pull(investigation.repo, number)
    if pull is None or bump is None:
        return Refusal("bump_is_open", f"A bump of this bound is open in #{number}; it is left as it is.")
    made = frozenset(investigation.facts.get("bump_commits") or [])
    if bump.new == proposal.threshold and pull.head_sha not in made:
        return pull
    # A head that this step made is one that it found untouched before a crash.
    touched = None if pull.head_sha in made else own_bumps.touched(svc, repo, bump, pull)
    if touched is not None:
        return Refusal(
            "bump_is_open",
            f"A bump of this bound to {bump.new:g} is open in #{number} ({pull.url}) and left as it is: "
            f"{touched}.",
        )
    return Branch(pull.head_ref, made | own_bumps.made_by_us(svc, bump))


def _ledger_row(investigation: Investigation, proposal: Proposal, published: Published) -> Bump:
    return Bump(
        repo=investigation.repo,
        site_key=investigation.site_key,
        investigation=investigation.id,
        old=proposal.old,
        new=proposal.threshold,
        pull=published.pull.number,
        evidence=(investigation.facts.get("evidence") or {}).get("commit", ""),
        expires_at=ledger.expires(investigation),
        commit=published.pull.head_sha,
        body_digest=published.body_digest,
    )
