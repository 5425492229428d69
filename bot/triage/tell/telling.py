"""Telling steps: the sticky comment, the check run, the evidence. Each is found again by its marker."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Final

import requests
from github import GithubException

from bot.github import reads, status, writes
from bot.report import chart, check, comment, evidence
from bot.store import Investigation
from bot.triage.measure import halting, kill_switch
from bot.triage.measure.measuring import first_round, verdict_of
from bot.triage.services import Services
from bot.triage.tell.casefile import case_file

log = logging.getLogger(__name__)

EVIDENCE_BRANCH: Final = "kl-triage/evidence"


def announce(svc: Services, key: str) -> None:
    """Says at once that somebody is looking, and what will be measured."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation)
    if verdict.next is not None:
        plan = first_round(investigation, verdict.next)
        _comment(svc, investigation, comment.investigating(case, plan, readings))
    _check_if_let(svc, svc.store.investigation(key), check.in_progress(case, 0, 0))


def update_progress(svc: Services, key: str, request: str, state: str) -> None:
    """The check run says how far the reruns are; the comment stays as it is, nobody wants the mails."""
    investigation = svc.store.investigation(key)
    seen = f"{request} {state}"
    if investigation.facts.get("progress") == seen:
        return
    case = case_file(svc, investigation)
    try:
        _check(svc, investigation, check.in_progress(case, case.runs_done, case.runs_planned))
    except (GithubException, requests.RequestException):
        log.warning("the check of %s could not be updated", key, exc_info=True)  # it is a courtesy
    svc.store.remember(key, progress=seen)


def publish_evidence(svc: Services, key: str) -> None:
    """Raw readings and chart on the side branch; texts link to them by commit."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation)
    new_bound = verdict.proposal.threshold if verdict.proposal else None
    files = {
        evidence.READINGS: evidence.readings_jsonl(readings),
        evidence.CHART: chart.svg(readings, case.bound, new_bound),
        "README.md": evidence.evidence_readme(case, verdict),
    }
    repo = svc.repository(investigation)
    folder = f"investigations/{key}"
    try:
        sha = writes.commit_evidence(repo, EVIDENCE_BRANCH, folder, files, f"Evidence of {key}")
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.warning("evidence of %s was refused", key, exc_info=True)
        svc.store.note(investigation.repo, key, "evidence_refused", "GitHub refused the evidence branch.")
        svc.store.remember(key, evidence_refusal="GitHub refused the branch for readings and chart")
        return
    base = f"{case.server_url}/{investigation.repo}/blob/{sha}/{folder}"
    urls = {"readings_url": f"{base}/{evidence.READINGS}", "chart_url": f"{base}/{evidence.CHART}"}
    svc.store.remember(key, evidence={"commit": sha, **urls})


def conclude(svc: Services, key: str) -> None:
    """The verdict, in the comment and in the check run; a newer head is said to be there."""
    investigation = _with_newest_head(svc, key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    _comment(svc, investigation, comment.result(case, verdict, readings))
    _check_if_let(svc, investigation, check.completed(case, verdict, readings))


def tell_again(svc: Services, key: str) -> None:
    """The comment of an ended investigation, with what became known since."""
    investigation = _with_newest_head(svc, key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    _write_comment(svc, investigation, comment.result(case, verdict, readings))


def _with_newest_head(svc: Services, key: str) -> Investigation:
    """The investigation, with where its pull request is at this moment among its facts."""
    investigation = svc.store.investigation(key)
    pull = reads.pull(svc.repository(investigation), investigation.pull)
    svc.store.remember(key, current_head=pull.head_sha if pull else investigation.head_sha)
    return svc.store.investigation(key)


def close_check(svc: Services, key: str) -> None:
    """Where nothing may be said, the check run ends all the same, if GitHub lets it."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    _check_if_let(svc, investigation, check.completed(case, verdict, readings))


def abandon(svc: Services, key: str) -> None:
    """The site is free again, without a verdict; asks nobody."""
    investigation = svc.store.investigation(key)
    svc.store.note(investigation.repo, key, "given_up", "The bot could not finish its work; no verdict.")
    if investigation.state == "open":
        svc.store.finish(key, None)


def give_up(svc: Services, key: str) -> None:
    """Comment and check say that there is no verdict."""
    investigation = svc.store.investigation(key)
    if not _is_silent(svc, investigation):
        _comment(svc, investigation, comment.given_up(case_file(svc, investigation)))
    investigation = svc.store.investigation(key)
    _check_if_let(svc, investigation, check.given_up(case_file(svc, investigation)))


def note_missing(svc: Services, key: str, what: str) -> None:
    """A step behind the verdict could not be done for an hour: the comment says what is missing."""
    told = {
        "publish_evidence": ("evidence_refusal", "readings and chart could not be published"),
        "open_pull_request": (
            "proposal_refusal",
            "GitHub did not answer long enough to open one, or to finish it.",
        ),
    }
    sentence = f"'{what.replace('_', ' ')}' failed for too long and was left out."
    svc.store.note(svc.store.investigation(key).repo, key, "left_out", sentence)
    if what in told:
        name, why = told[what]
        svc.store.remember(key, **{name: why})


def _is_silent(svc: Services, investigation: Investigation) -> bool:
    stopped = halting.halted(investigation.facts)
    if stopped is not None and stopped.code in halting.SILENT:
        return True
    return kill_switch.thrown(svc, svc.repository(investigation)) is not None


def _comment(svc: Services, investigation: Investigation, body: str) -> None:
    marker = comment.marker_prefix(investigation.site_key)
    with writes.one_at_a_time(svc.repository(investigation), investigation.pull, marker):
        hit = svc.store.hit(investigation.repo, investigation.site_key, investigation.pull)
        if hit is not None and hit.investigation != investigation.id:
            log.info("%s: the comment belongs to %s", investigation.id, hit.investigation)
            return  # an older text never goes over a newer one
        _write_comment(svc, investigation, body)


def _write_comment(svc: Services, investigation: Investigation, body: str) -> None:
    """A final no, as of a locked conversation, is noted and takes nothing else away."""
    try:
        written = writes.upsert_comment(
            svc.repository(investigation),
            investigation.pull,
            marker=comment.marker_prefix(case_file(svc, investigation).key),
            author=svc.installations.login(),
            body=body,
        )
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.warning("the comment of %s was refused", investigation.id, exc_info=True)
        sentence = f"GitHub refused the comment (HTTP {refused.status}); the conversation may be locked."
        svc.store.note(investigation.repo, investigation.id, "comment_refused", sentence)
        return
    svc.store.remember(investigation.id, comment_url=written.url)


def _check_if_let(svc: Services, investigation: Investigation, output: check.CheckOutput) -> None:
    """A final no is noted and takes nothing else away; an outage fails the step, which is tried again: else
    the check would be in progress for ever."""
    try:
        _check(svc, investigation, output)
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.warning("the check of %s was refused", investigation.id, exc_info=True)
        sentence = f"GitHub refused the check (HTTP {refused.status})."
        svc.store.note(investigation.repo, investigation.id, "check_refused", sentence)


def _check(svc: Services, investigation: Investigation, output: check.CheckOutput) -> None:
    """A check run; with a token a commit status, since GitHub lets only Apps write the former."""
    if not svc.installations.can_check:
        status.upsert_status(
            svc.repository(investigation),
            investigation.head_sha,
            context=investigation.facts["check_name"],
            state=status.state_of(output.conclusion),
            description=output.title,
            target_url=investigation.facts.get("comment_url"),
        )
        return
    writes.upsert_check(
        svc.repository(investigation),
        investigation.head_sha,
        name=investigation.facts["check_name"],
        external_id=investigation.id,
        details_url=investigation.facts.get("comment_url"),
        title=output.title,
        summary=output.summary,
        text=output.text,
        conclusion=output.conclusion,
        button=None if output.button is None else asdict(output.button),
    )
