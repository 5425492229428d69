"""Events that never came, came in vain, or told that the bot itself comes or goes.

A sweep queues work under the natural keys of the webhook, so what did arrive is not done again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import requests
from dbos import DBOS, SetWorkflowID
from github import GithubException

from bot.github import Happened, Installations, lost, reads
from bot.github.patience import RateLimited, reason
from bot.triage import story
from bot.triage.configured import read_config
from bot.triage.durable import AGAIN, DEAD, PEOPLE_QUEUE, QUEUE, STEP_FAILED, again, options_of, step
from bot.triage.intake import workflow_id, workflow_of
from bot.triage.measure import halting, left_runs
from bot.triage.red import settling
from bot.triage.services import Services
from bot.verdict import Refusal

log = logging.getLogger(__name__)

LONGEST_RUN: Final = timedelta(hours=6)
"""A run may have been made so long before it went red; also how far back a first sweep looks."""
OVERLAP: Final = timedelta(minutes=15)
"""Between two sweeps, for clocks that differ and lists that lag."""
LONGEST_ABSENCE: Final = timedelta(days=3)
"""Nothing older is caught up with: so long GitHub keeps deliveries."""
MAX_REDELIVERIES: Final = 200
FURTHER: Final = 20
"""Further parts of the list of deliveries that are looked at after a start."""
MAX_FAILED: Final = 100
MAX_LISTED: Final = 1_000
KEPT: Final = timedelta(days=30)
SWEEPS_KEPT: Final = timedelta(days=1)
WORKFLOWS_KEPT: Final = LONGEST_ABSENCE + timedelta(days=4)
"""Their ids are what keeps work that is found again from being done again."""
DECISIONS_KEPT: Final = timedelta(days=90)

Work = dict[str, Any]
"""{"workflow": its name, "key": its id, "event": what it is about}"""


@DBOS.workflow(name="sweep")
def sweep(_scheduled: object, after_start: bool | None) -> None:
    """Looks for lost events in every repository, for lost deliveries, and for work that failed.

    `after_start`: the bot may have been away, so that more than the newest deliveries may be lost.
    """
    queued = 0
    try:
        for repo in step(repositories):
            found = step(lost_work, repo)
            queued += _enqueue(found["work"])
            if found["until"]:
                step(note_swept, repo, found["until"])
        further = step(redeliver)["further"]
        for _ in range(FURTHER if after_start else 0):
            further = step(redeliver, further)["further"] if further else ""
        story.start_again(step(without_workflow))
        step(left_runs.end_left_runs)
        for workflow, key in step(settling.left_over).items():
            with SetWorkflowID(workflow):
                DBOS.start_workflow(story.settle, key)
        failed = step(failed_work)
        queued += _enqueue(failed)
        step(note_done_again, [{"of": work["of"], "key": work["key"]} for work in failed])
        step(forget)
    except STEP_FAILED:  # the next sweep looks again
        log.exception("a sweep ended early")
    log.info("sweep: %d lost or failed pieces of work are queued", queued)


@DBOS.workflow(name="installation_changed")
def installation_changed(event: dict[str, Any]) -> None:
    """Where the bot has left, its open investigations end."""
    for key in step(change_installation, event):
        step(halt_uninstalled, key)


def _enqueue(work: Sequence[Work]) -> int:
    for one in work:
        DBOS.enqueue_workflow_with_options(options_of(one["workflow"], one["key"]), one["event"])
    return len(work)


def cron(interval_s: float) -> str | None:
    """The nearest interval that a clock keeps, in seconds, whole minutes or whole hours; None for 0."""
    whole = max(round(interval_s), 1)
    if interval_s <= 0:
        return None
    if whole < 60:
        return f"*/{whole} * * * * *"
    if whole < 3_600:
        return f"0 */{whole // 60} * * * *"
    return f"0 0 */{min(whole // 3_600, 23)} * * *"


def repositories(svc: Services) -> list[str]:
    return [found.repo for found in svc.store.active_repositories()]


def lost_work(svc: Services, name: str) -> dict[str, Any]:
    """{"work": what was never queued, "until": from when on the next sweep looks}.

    "" for a repository that cannot be read at this moment: no trouble of one, a spent rate limit included,
    holds up the others, and the next sweep looks again.
    """
    now = datetime.now(UTC)
    try:
        events, until = _events(svc, name, now)
    except (GithubException, requests.RequestException, RateLimited) as trouble:
        log.warning("%s is not swept: %s", name, reason(trouble))
        return {"work": [], "until": ""}
    return {"work": _unknown([_work(event) for event in events]), "until": until.isoformat()}


def _events(svc: Services, name: str, now: datetime) -> tuple[list[Happened], datetime]:
    installed = svc.store.installed(name)
    if installed is None or not installed.active:
        return [], now
    repo = svc.installations.repository(installed.installation, name)
    branch = reads.facts(repo).default_branch
    settings = read_config(repo, branch)
    if isinstance(settings, Refusal) or settings[0].mode == "off":
        return [], now
    seen = max(installed.swept_at or now - LONGEST_RUN, now - LONGEST_ABSENCE)
    look = lost.Look(made=min(seen, now) - LONGEST_RUN, changed=seen - OVERLAP)
    red = lost.red_jobs(repo, name, installed.installation, look)
    # Of too many runs the next look begins at the first that is left, so that each one brings them further.
    until = now if red.left is None else min(red.left + OVERLAP, now)
    return [*red.jobs, *lost.ended_runs(repo, name, installed.installation, branch, look)], until


def _work(event: Happened) -> Work:
    return {"workflow": workflow_of(event), "key": workflow_id(event), "event": asdict(event)}


def _unknown(work: Sequence[Work]) -> list[Work]:
    known = _by_id([one["key"] for one in work])
    return [one for one in work if one["key"] not in known]


def note_swept(svc: Services, name: str, until: str) -> None:
    svc.store.swept(name, datetime.fromisoformat(until))


def redeliver(svc: Services, cursor: str = "") -> dict[str, Any]:
    """Asks the App's webhook for what did not arrive of some pages of its list: {"asked": how often,
    "further": where the list goes on, "" at its end}. A token has no such list: its lost red runs are found
    all the same, its lost comments are not."""
    if not isinstance(svc.installations, Installations):
        return {"asked": 0, "further": ""}
    app, now = svc.installations.app, datetime.now(UTC)
    try:
        listed = lost.sent(app, now - LONGEST_ABSENCE, cursor)
        numbers = lost.to_ask_for(listed.attempts, now, MAX_REDELIVERIES)
        for number in numbers:
            lost.ask_for(app, number)
    except (GithubException, requests.RequestException) as trouble:
        log.warning("lost deliveries are not asked for: %s", reason(trouble))
        return {"asked": 0, "further": ""}
    return {"asked": len(numbers), "further": listed.further}


def failed_work(svc: Services) -> list[Work]:
    """Work that gave up, or that broke, for the first time; "of" is the id it failed under."""
    since = datetime.now(UTC) - LONGEST_ABSENCE
    queues = [QUEUE, PEOPLE_QUEUE]
    for broken in _statuses(
        status="ERROR", queue_name=queues, start_time=since.isoformat(), load_input=False
    ):
        svc.store.delivery_failed(broken.workflow_id)
    failed = {found.workflow or "" for found in svc.store.failed_deliveries(since)}
    first = sorted(key for key in failed if key and AGAIN not in key)[:MAX_FAILED]
    work = [
        {"workflow": found.name, "key": again(key, 2), "event": found.input["args"][0], "of": key}
        for key, found in _by_id(first, load_input=True).items()
        if found.input is not None
    ]
    for one in work:
        log.warning("%s failed; it is done once more", one["of"])
        sentence = "The work of this event could not be done; it is done once more."
        svc.store.note(one["event"]["repo"], one["of"], "done_again", sentence)
    return work


def note_done_again(svc: Services, done: Sequence[Mapping[str, str]]) -> None:
    for one in done:
        svc.store.done_again(one["of"], one["key"])


def forget(svc: Services) -> None:
    """What only grows, so much at a time: deliveries and workflows far too old to come again, old decisions,
    the sweeps of the days before. Verdicts, readings and the ledger stay."""
    now = datetime.now(UTC)
    svc.store.forget_deliveries(now - KEPT)
    svc.store.forget_decisions(now - DECISIONS_KEPT)
    sweeps = {"name": "sweep", "status": "SUCCESS", "completed_before": (now - SWEEPS_KEPT).isoformat()}
    others = {"status": ["SUCCESS", *DEAD], "completed_before": (now - WORKFLOWS_KEPT).isoformat()}
    for old in (sweeps, others):
        ended = _statuses(**old, load_input=False)
        DBOS.delete_workflows([found.workflow_id for found in ended])


def change_installation(svc: Services, event: Mapping[str, Any]) -> list[str]:
    """The open investigations of repositories that the bot has left."""
    at, number = datetime.fromisoformat(event["at"]), event["installation"]
    svc.store.change_installation(number, event["repos"], active=event["active"], at=at)
    gone = svc.store.left(number)
    return [
        open_.id for open_ in svc.store.open_ones() if open_.repo in gone and open_.installation == number
    ]


def halt_uninstalled(svc: Services, key: str) -> None:
    sentence = "The App was removed from the repository, or suspended."
    halting.halt(svc, key, Refusal(halting.UNINSTALLED, sentence))


def without_workflow(svc: Services) -> dict[str, list[str]]:
    """Open investigations that nobody works on, which would block their sites for ever: {"never_started": a
    crash came between, "broken": ids}."""
    found = [investigation.id for investigation in svc.store.open_ones()]
    states = {key: status.status for key, status in _by_id([*found, *map(story.end_of, found)]).items()}
    broken = [key for key in found if states.get(key) in DEAD]
    for key in broken:
        log.error("investigation %s was stuck; its site is free again", key)
        if states.get(story.end_of(key)) in DEAD:  # it broke before it freed the site
            svc.store.finish(key, None)
    return {"never_started": [key for key in found if key not in states], "broken": broken}


def _by_id(ids: Sequence[str], *, load_input: bool = False) -> dict[str, Any]:
    """The workflows among these that are known."""
    some = [list(ids[start : start + MAX_LISTED]) for start in range(0, len(ids), MAX_LISTED)]
    return {
        found.workflow_id: found
        for part in some
        for found in _statuses(workflow_ids=part, load_input=load_input)
    }


def _statuses(**which: Any) -> list[Any]:
    return DBOS.list_workflows(**which, load_output=False, limit=MAX_LISTED)
