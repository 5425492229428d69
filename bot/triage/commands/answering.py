"""Answering steps: the reactions, the one reply, and what is answered from the store alone."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from github import GithubException

from bot.github import writes
from bot.report import misreadings, overview, replies
from bot.report.overview import Judged, Progress
from bot.store import Hit, Investigation
from bot.triage.commands.admitting import WRITER, commands_of
from bot.triage.commands.grammar import MAX_COMMANDS, Misunderstood, Verb
from bot.triage.measure import halting
from bot.triage.red import relaying
from bot.triage.services import Services
from bot.triage.tell.casefile import case_file
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
    """One comment per comment, edited in place; `outcomes` of the first commands, as far as they are done.
    What was said before an edit stays below."""
    asked = commands_of(event)
    told = [(command.text, outcome) for command, outcome in zip(asked, outcomes, strict=False)]
    left_out = len(asked) - len(told) if len(told) == MAX_COMMANDS else 0
    marker = replies.reply_marker(int(event["comment_id"]))
    repo = svc.installations.repository(event["installation"], event["repo"])
    with writes.one_at_a_time(repo, event["pull"], marker):
        login = svc.installations.login()
        known = writes.own_comment(repo, event["pull"], marker=marker, author=login)
        text = replies.reply(marker, told, left_out, edit=edit_of(event), known=known)
        _say(svc, event, marker, text)


def note_failure(svc: Services, event: Event) -> None:
    """After GitHub failed for an hour."""
    sentence = "GitHub could not be reached, so the comment was not answered."
    svc.store.note(event["repo"], _subject(event), "unreadable", sentence)


def answer(svc: Services, event: Event, place: int) -> str:
    """Of a command that starts and stops nothing."""
    match commands_of(event)[place].asked:
        case Misunderstood(sentence, word):
            return _of_a_test(svc, event, word) or sentence
        case Verb.HELP:
            return overview.help_text()
        case Verb.STATUS:
            return overview.status(_sites(svc, event))
        case Verb.EXPLAIN:
            judged = (found for found in _mine(svc, event) if found.verdict)
            own = [_judged(found) for found in _newest(judged)]
            return overview.explained([*own, *_judged_elsewhere(svc, event)])
        case other:
            raise TypeError(f"{other} is answered by a step of its own")


def stop(svc: Services, event: Event, role: str) -> dict[str, Any]:
    """{"text": the answer, "keys": investigations that are ending}."""
    if role != WRITER:
        return {"text": replies.ONLY_WRITERS_STOP, "keys": []}
    reason = Refusal("stopped", f"{event['author']} stopped it.")
    # Before the investigations: whoever waits may be measured any moment.
    waited = svc.store.stop_waits(event["repo"], event["pull"], event["comment_id"])
    for found in _mine(svc, event):
        if found.state == "open":
            svc.store.remember_once(found.id, stopped_in=_comment_url(found, event))
            halting.halt(svc, found.id, reason)
    # Read again: what this comment halted is named also when the step runs twice.
    ending = [
        found
        for found in _mine(svc, event)
        if found.state == "open" or found.facts.get("stopped_in") == _comment_url(found, event)
    ]
    for hit in waited:
        relaying.tell_no_answer(svc, hit, reason.sentence)
    names, waits = [test_name(found.test) for found in ending], [test_name(h.facts["test"]) for h in waited]
    told = [replies.stopped(names)] if names else []
    told += [replies.waits_no_more(waits)] if waits else []
    return {"text": " ".join(told) or replies.NOTHING_TO_STOP, "keys": [found.id for found in ending]}


def ended(svc: Services, keys: Sequence[str]) -> bool:
    return all(svc.store.investigation(key).state != "open" for key in keys)


def test_name(test: str) -> str:
    """Class.method of path::Class.method."""
    return test.rpartition("::")[2]


def pull_url(found: Investigation) -> str:
    return f"{found.facts['server_url']}/{found.repo}/pull/{found.pull}"


def edit_of(event: Event) -> str:
    """Tells an edit of a comment from its others; "" for the comment as it was first."""
    return (
        hashlib.sha256(f"{event['before']}\0{event['body']}".encode()).hexdigest()[:12]
        if event["before"]
        else ""
    )


def _comment_url(found: Investigation, event: Event) -> str:
    return f"{pull_url(found)}#issuecomment-{event['comment_id']}"


def _of_a_test(svc: Services, event: Event, word: str) -> str:
    """Where a word is the class or the method of one test that is known of this pull request: that test."""
    known = {test_name(found.test).partition("[")[0] for found in _mine(svc, event)}
    meant = [test for test in sorted(known) if word in test.split(".")]
    return misreadings.unknown(word, meant[0]) if len(meant) == 1 else ""


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
    for hit, other in _answers(svc, event):
        state = overview.answered_by(other.verdict, other.pull, _told_in(other))
        test, told = test_name(hit.facts["test"]), hit.facts.get("comment_url")
        sites[hit.site_key] = Progress(test, hit.head_sha, state, done=0, planned=0, rounds=0, url=told)
    return list(sites.values())


def _answers(svc: Services, event: Event) -> list[tuple[Hit, Investigation]]:
    """The sites that were answered with the verdict of another pull request, each with that one."""
    hits = svc.store.answered_of(event["repo"], event["pull"])
    found = [(hit, svc.store.investigation(hit.investigation or "")) for hit in hits]
    return [(hit, other) for hit, other in found if other.pull != hit.pull]


def _judged_elsewhere(svc: Services, event: Event) -> list[Judged]:
    return [
        Judged(test_name(other.test), other.head_sha, other.verdict or {}, _told_in(other), other.pull)
        for _, other in _answers(svc, event)
    ]


def _told_in(found: Investigation) -> str:
    return found.facts.get("comment_url") or pull_url(found)


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
