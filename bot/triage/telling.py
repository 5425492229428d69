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
from bot.triage.casefile import case_file
from bot.triage.measuring import verdict_of
from bot.triage.services import Services

log = logging.getLogger(__name__)

EVIDENCE_BRANCH: Final = "kl-triage/evidence"


def announce(svc: Services, key: str) -> None:
    """Says at once that somebody is looking, and what will be measured."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation)
    if verdict.next is not None:
        _comment(svc, investigation, comment.investigating(case, verdict.next, readings))
    _check(svc, svc.store.investigation(key), check.in_progress(case, 0, 0))


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
        return
    base = f"{case.server_url}/{investigation.repo}/blob/{sha}/{folder}"
    urls = {"readings_url": f"{base}/{evidence.READINGS}", "chart_url": f"{base}/{evidence.CHART}"}
    svc.store.remember(key, evidence={"commit": sha, **urls})


def conclude(svc: Services, key: str) -> None:
    """The verdict, in the comment and in the check run; a newer head is said to be there."""
    investigation = svc.store.investigation(key)
    pull = reads.pull(svc.repository(investigation), investigation.pull)
    svc.store.remember(key, current_head=pull.head_sha if pull else investigation.head_sha)
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    _comment(svc, investigation, comment.result(case, verdict, readings))
    _check(svc, investigation, check.completed(case, verdict, readings))


def tell_again(svc: Services, key: str) -> None:
    """The comment of an ended investigation, with what became known since."""
    investigation = svc.store.investigation(key)
    pull = reads.pull(svc.repository(investigation), investigation.pull)
    svc.store.remember(key, current_head=pull.head_sha if pull else investigation.head_sha)
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    _write_comment(svc, investigation, comment.result(case, verdict, readings))


def close_check(svc: Services, key: str) -> None:
    """Where nothing may be said, the check run ends all the same, if GitHub lets it."""
    investigation = svc.store.investigation(key)
    verdict, readings = verdict_of(svc, investigation)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    try:
        _check(svc, investigation, check.completed(case, verdict, readings))
    except (GithubException, requests.RequestException):
        log.warning("the check of %s could not be ended", key, exc_info=True)


def give_up(svc: Services, key: str) -> None:
    """After a step failed for an hour: the site is free again, and the check says there is no verdict."""
    investigation = svc.store.investigation(key)
    svc.store.note(investigation.repo, key, "given_up", "GitHub could not be reached or refused; no verdict.")
    svc.store.finish(key, None)
    try:
        _check(svc, investigation, check.given_up(case_file(svc, investigation)))
    except (GithubException, requests.RequestException):
        log.exception("could not even say that %s was given up", key)


def _comment(svc: Services, investigation: Investigation, body: str) -> None:
    hit = svc.store.hit(investigation.repo, investigation.site_key, investigation.pull)
    if hit is not None and hit.investigation != investigation.id:
        log.info("%s: the comment belongs to %s", investigation.id, hit.investigation)
        return  # an older text never goes over a newer one
    _write_comment(svc, investigation, body)


def _write_comment(svc: Services, investigation: Investigation, body: str) -> None:
    written = writes.upsert_comment(
        svc.repository(investigation),
        investigation.pull,
        marker=comment.marker_prefix(case_file(svc, investigation).key),
        author=svc.installations.login(),
        body=body,
    )
    svc.store.remember(investigation.id, comment_url=written.url)


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
