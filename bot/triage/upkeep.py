"""Upkeep: what pull requests and the default branch do while the bot works, and its own open bumps.

A bump whose bound moved is given up, one whose file changed is made anew on the new head. Only a pull request
that is as the bot left it, and that nobody has said anything about, is ever moved or closed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbos import DBOS
from github.Repository import Repository

from bot.github import pulls, reads, writes
from bot.github.pulls import PullState, WriteRefused, needing
from bot.report import bump_notes
from bot.store import Bump, Investigation
from bot.store.base import utcnow
from bot.triage.bump.editing import NOT_READ, Edit, edit_for
from bot.triage.bump.proposing import texts_of
from bot.triage.bump.publishing import Branch, publish
from bot.triage.configured import CONFIG_PATH, read_config
from bot.triage.durable import STEP_FAILED, note_failed, step
from bot.triage.measure import halting, kill_switch, own_bumps
from bot.triage.measure.measuring import verdict_of
from bot.triage.measure.restraint import EXPIRES
from bot.triage.services import Services
from bot.triage.tell.casefile import case_file
from bot.verdict import Reading, Refusal, Verdict

log = logging.getLogger(__name__)

Json = Mapping[str, Any]


@DBOS.workflow(name="pull_closed")
def pull_closed(event: dict[str, Any]) -> None:
    """One of our bumps is settled; what is measured for another pull request that was not merged ends."""
    try:
        if not step(settle_own, event):
            step(halt_closed, event)
    except STEP_FAILED:
        log.exception("the end of #%d of %s was not noted", event["pull"], event["repo"])
        note_failed()


@DBOS.workflow(name="pull_moved")
def pull_moved(event: dict[str, Any]) -> None:
    """A fork's code runs only as it was asked for; in the repository itself the older commit is judged."""
    try:
        step(halt_moved_fork, event)
    except STEP_FAILED:
        log.exception("the push to #%d of %s was not looked at", event["pull"], event["repo"])
        note_failed()


@DBOS.workflow(name="branch_moved")
def branch_moved(event: dict[str, Any]) -> None:
    """The default branch moved: each open bump is looked at, one that fails does not stop the next."""
    for number in step(open_bumps, event):
        try:
            step(keep_up, event, number)
        except STEP_FAILED:
            log.exception("bump #%d of %s was not kept up", number, event["repo"])
            note_failed()


def settle_own(svc: Services, event: Json) -> bool:
    """Whether the closed pull request is a bump of ours; what became of it is written down."""
    if not event["head_ref"].startswith(own_bumps.PREFIX):
        return False
    repo = svc.installations.repository(event["installation"], event["repo"])
    pull = pulls.state_of(repo, event["pull"])
    if pull is None or not own_bumps.is_own(svc, event["repo"], pull):
        return False
    if pull.state != "open":  # opened again since
        _settle(svc, event["repo"], pull)
    return True


def halt_closed(svc: Services, event: Json) -> None:
    if event["merged"]:
        return
    why = Refusal("pull_closed", f"The pull request #{event['pull']} was closed.")
    for investigation in _open_of(svc, event):
        halting.halt(svc, investigation.id, why)


def halt_moved_fork(svc: Services, event: Json) -> None:
    """Asks GitHub who the head belongs to, once there is something to end."""
    older = [found for found in _open_of(svc, event) if found.head_sha != event["head_sha"]]
    if not older:
        return
    repo = svc.installations.repository(event["installation"], event["repo"])
    pull = pulls.state_of(repo, event["pull"])
    if pull is not None and pull.head_repo.lower() == event["repo"].lower():
        return
    for investigation in older:
        if pull is None or pull.head_sha != investigation.head_sha:
            halting.halt(svc, investigation.id, halting.fork_moved(investigation.head_sha))


def open_bumps(svc: Services, event: Json) -> list[int]:
    """Those of the bot's table: without one there is nothing to ask GitHub."""
    return list(svc.store.unsettled(event["repo"]))


def keep_up(svc: Services, event: Json, number: int) -> str:
    """Settled, left, rebuilt or given up: what was done with one open bump."""
    with own_bumps.alone(event["repo"]):
        return _kept_up(svc, event, number)


def _kept_up(svc: Services, event: Json, number: int) -> str:
    repo = svc.installations.repository(event["installation"], event["repo"])
    bump, pull = svc.store.bump_of_pull(event["repo"], number), pulls.state_of(repo, number)
    if bump is None or pull is None:
        return "gone"
    if pull.state != "open":
        _settle(svc, event["repo"], pull)
        return "settled"
    investigation = svc.store.investigation(bump.investigation)
    stopped = kill_switch.thrown(svc, repo) or _not_in_mode(repo, investigation.facts["default_branch"])
    if stopped is not None:
        svc.store.note(event["repo"], f"#{number}", stopped.code, stopped.sentence)
        return "stopped"
    verdict, readings = verdict_of(svc, investigation)
    if verdict.proposal is None or verdict.proposal.threshold != bump.new:
        sentence = f"The evidence of #{number} is not judged as it was ({verdict.reason}); it is left."
        svc.store.note(event["repo"], f"#{number}", "judged_anew", sentence)
        return "left"
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    edit = edit_for(repo, investigation, case, verdict, verdict.proposal)
    if isinstance(edit, Refusal):
        return "left" if edit.code in NOT_READ else _give_up(svc, investigation, bump, pull, edit)
    if reads.file_at(repo, edit.path, pull.head_sha) == edit.new:
        return "fits"
    return _rebuild(svc, investigation, bump, pull, edit, verdict, readings)


def _not_in_mode(repo: Repository, default_branch: str) -> Refusal | None:
    """Pull requests are the mode 'propose': in any other, and where it cannot be read, none is written to."""
    found = read_config(repo, default_branch)
    if isinstance(found, Refusal):
        return found
    mode = found[0].mode
    if mode == "propose":
        return None
    return Refusal(
        "mode", f"The mode in {CONFIG_PATH} is '{mode}', so the bot's open bumps are left as they are."
    )


def _rebuild(
    svc: Services,
    investigation: Investigation,
    bump: Bump,
    pull: PullState,
    edit: Edit,
    verdict: Verdict,
    readings: list[Reading],
) -> str:
    """The same move on the file as it is, in place of the bot's own commit."""
    repo, changed = svc.repository(investigation), f"The file {edit.path} was changed."
    touched = own_bumps.touched(svc, repo, bump, pull)
    if touched is not None:
        return _left(svc, investigation, pull, changed, touched)
    ours = own_bumps.made_by_us(svc, bump)
    case = case_file(svc, investigation, gpu_minutes=verdict.numbers.gpu_minutes)
    texts = texts_of(replace(case, site=edit.site), verdict, readings)
    try:
        published = publish(svc, investigation, Branch(pull.head_ref, ours), edit, texts)
    except WriteRefused as refused:
        svc.store.note(investigation.repo, f"#{pull.number}", "github_refused", str(refused))
        return "left"
    if isinstance(published, Refusal):
        return _left(svc, investigation, pull, changed, published.sentence)
    svc.store.wrote_bump(bump.id, commit=published.pull.head_sha)
    if published.body_digest is not None:
        svc.store.wrote_bump(bump.id, body_digest=published.body_digest)
    return "rebuilt"


def _give_up(svc: Services, investigation: Investigation, bump: Bump, pull: PullState, why: Refusal) -> str:
    """Said once, written down as nobody's decline, then closed."""
    touched = own_bumps.touched(svc, svc.repository(investigation), bump, pull)
    if touched is not None:
        return _left(svc, investigation, pull, why.sentence, touched)
    svc.store.note(investigation.repo, f"#{pull.number}", why.code, why.sentence)
    try:
        _say(svc, investigation, pull, bump_notes.given_up(why.sentence))
        svc.store.settle_bump(investigation.repo, pull.number, own_bumps.GIVEN_UP, utcnow())
        with needing("pull_requests: write", f"close #{pull.number}"):
            pulls.close(svc.repository(investigation), pull.number)
    except WriteRefused as refused:
        svc.store.note(investigation.repo, f"#{pull.number}", "github_refused", str(refused))
    return own_bumps.GIVEN_UP


def _left(svc: Services, investigation: Investigation, pull: PullState, why: str, touched: str) -> str:
    touched = touched.rstrip(".")
    svc.store.note(investigation.repo, f"#{pull.number}", "bump_left", f"{why} It is left: {touched}.")
    try:
        _say(svc, investigation, pull, bump_notes.left_alone(why, touched))
    except WriteRefused as refused:
        svc.store.note(investigation.repo, f"#{pull.number}", "github_refused", str(refused))
    return "left"


def _say(svc: Services, investigation: Investigation, pull: PullState, text: str) -> None:
    """One comment of the upkeep, edited in place."""
    with needing("pull_requests: write", f"comment on #{pull.number}"):
        writes.upsert_comment(
            svc.repository(investigation),
            pull.number,
            marker=bump_notes.UPKEEP_MARKER,
            author=svc.installations.login(),
            body=text,
        )


def _settle(svc: Services, repo: str, pull: PullState) -> None:
    """Merged: the look that its comment asks for is due so long after the merge."""
    moment = pull.ended_at or utcnow()
    expires = moment + EXPIRES if pull.state == "merged" else None
    svc.store.settle_bump(repo, pull.number, pull.state, moment, expires)


def _open_of(svc: Services, event: Json) -> list[Investigation]:
    """Open investigations for the pull request of an event."""
    mine = (event["repo"].lower(), event["pull"])
    return [found for found in svc.store.open_ones() if (found.repo.lower(), found.pull) == mine]
