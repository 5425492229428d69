"""Answering steps: the reactions, the one reply, and what is answered from the store alone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from github import GithubException

from bot.github import writes
from bot.report import overview, replies
from bot.report.overview import Judged, Progress
from bot.store import Investigation
from bot.triage import halting
from bot.triage.admitting import WRITER, commands_of
from bot.triage.casefile import case_file
from bot.triage.commands import MAX_COMMANDS, Misunderstood, Verb
from bot.triage.services import Services
from bot.verdict import Refusal

log = logging.getLogger(__name__)

Event = Mapping[str, Any]


def react(svc: Services, event: Event, reaction: str) -> None:
    """A comment that was deleted meanwhile, or may not be reacted to, does not hold up its answer."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    try:
        writes.react(repo, event["pull"], event["comment_id"], reaction)
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        log.info("no reaction to comment %s: status %s", event["comment_id"], refused.status)


def refuse(svc: Services, event: Event) -> None:
    _say(svc, event, replies.REFUSED_MARKER, replies.refused())


def reply(svc: Services, event: Event, outcomes: Sequence[str]) -> None:
    """One comment per comment, edited in place; `outcomes` of the first commands, as far as they are done."""
    asked = commands_of(event)
    told = [(command.text, outcome) for command, outcome in zip(asked, outcomes, strict=False)]
    left_out = len(asked) - len(told) if len(told) == MAX_COMMANDS else 0
    marker = replies.reply_marker(int(event["comment_id"]))
    _say(svc, event, marker, replies.reply(marker, told, left_out))


def note_failure(svc: Services, event: Event) -> None:
    """After GitHub failed for an hour."""
    sentence = "GitHub could not be reached, so the comment was not answered."
    svc.store.note(event["repo"], _subject(event), "unreadable", sentence)


def answer(svc: Services, event: Event, place: int) -> str:
    """Of a command that starts and stops nothing."""
    match commands_of(event)[place].asked:
        case Misunderstood(sentence):
            return sentence
        case Verb.HELP:
            return overview.help_text()
        case Verb.STATUS:
            return overview.status(_sites(svc, event))
        case Verb.EXPLAIN:
            judged = (found for found in _mine(svc, event) if found.verdict)
            return overview.explained([_judged(found) for found in _newest(judged)])
        case other:
            raise TypeError(f"{other} is answered by a step of its own")


def stop(svc: Services, event: Event, role: str) -> dict[str, Any]:
    """{"text": the answer, "keys": investigations that are ending}."""
    if role != WRITER:
        return {"text": replies.ONLY_WRITERS_STOP, "keys": []}
    reason = Refusal("stopped", f"{event['author']} stopped it in comment {event['comment_id']}.")
    for found in _mine(svc, event):
        if found.state == "open":
            halting.halt(svc, found.id, reason)
    # Read again: what this comment halted is named also when the step runs twice.
    ending = [
        found for found in _mine(svc, event) if found.state == "open" or halting.halted(found.facts) == reason
    ]
    names = [test_name(found.test) for found in ending]
    text = replies.stopped(names) if names else replies.NOTHING_TO_STOP
    return {"text": text, "keys": [found.id for found in ending]}


def ended(svc: Services, keys: Sequence[str]) -> bool:
    return all(svc.store.investigation(key).state != "open" for key in keys)


def test_name(test: str) -> str:
    """Class.method of path::Class.method."""
    return test.rpartition("::")[2]


def pull_url(found: Investigation) -> str:
    return f"{found.facts['server_url']}/{found.repo}/pull/{found.pull}"


def _mine(svc: Services, event: Event) -> Sequence[Investigation]:
    return svc.store.investigations_of(event["repo"], event["pull"])


def _newest(found: Iterable[Investigation]) -> list[Investigation]:
    """One a site, of investigations that are sorted."""
    newest: dict[str, Investigation] = {}
    for investigation in found:
        newest.setdefault(investigation.site_key, investigation)
    return list(newest.values())


def _sites(svc: Services, event: Event) -> list[Progress]:
    """Each site that is or was measured for this pull request, or for whose verdict it waits."""
    sites = {found.site_key: _progress(svc, found) for found in _newest(_mine(svc, event))}
    for hit in svc.store.waits_of(event["repo"], event["pull"]):
        other = svc.store.investigation(hit.investigation or "")
        state = overview.waits_for(other.pull, pull_url(other))
        test, told = test_name(hit.facts["test"]), hit.facts.get("comment_url")
        sites[hit.site_key] = Progress(test, hit.head_sha, state, done=0, planned=0, rounds=0, url=told)
    return list(sites.values())


def _progress(svc: Services, found: Investigation) -> Progress:
    case = case_file(svc, found)
    state = overview.verdict_label(found.verdict)
    if found.state == "open":
        state = "stopping" if halting.halted(found.facts) else "measuring"
    return Progress(
        test_name(found.test),
        found.head_sha,
        state,
        done=case.runs_done,
        planned=case.runs_planned,
        rounds=case.rounds,
        url=found.facts.get("comment_url"),
    )


def _judged(found: Investigation) -> Judged:
    return Judged(test_name(found.test), found.head_sha, found.verdict or {}, found.facts.get("comment_url"))


def _say(svc: Services, event: Event, marker: str, body: str) -> None:
    repo = svc.installations.repository(event["installation"], event["repo"])
    login = svc.installations.login()
    try:
        writes.upsert_comment(repo, event["pull"], marker=marker, author=login, body=body)
    except GithubException as refused:
        if not writes.is_final(refused):
            raise
        sentence = f"GitHub refused the reply (status {refused.status}); the conversation may be locked."
        svc.store.note(event["repo"], _subject(event), "reply_refused", sentence)


def _subject(event: Event) -> str:
    return f"comment {event['comment_id']}"
