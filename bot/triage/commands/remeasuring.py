"""Steps of a rerun that a person asks for: which red jobs, measured how, and what came of it."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads
from bot.github.pulls import OWN_BRANCHES
from bot.report import replies
from bot.report.facts import PullLink
from bot.store import Investigation
from bot.triage.commands.admitting import LISTED, commands_of
from bot.triage.commands.answering import pull_url, test_name
from bot.triage.commands.grammar import Rerun
from bot.triage.configured import read_config
from bot.triage.red import redjob
from bot.triage.services import Services
from bot.verdict import Refusal

Event = Mapping[str, Any]
MAX_JOBS_NAMED: Final = 10
_JOB_URL: Final = re.compile(r".*/actions/runs/(\d{1,18})/job/(\d{1,18})")


def targets(svc: Services, event: Event, place: int, admitted: Mapping[str, Any]) -> dict[str, Any]:
    """{"jobs": red jobs of the pull request's head, "asked": how to measure them, "suffix": what tells these
    investigations from others of the commit, "refusal": why there is none, or ""}."""
    rerun = _rerun_of(event, place)
    repo = svc.installations.repository(event["installation"], event["repo"])
    none = {"jobs": [], "asked": {}, "suffix": ""}
    if admitted["free_at"]:
        return none | {"refusal": replies.cooling(admitted["free_at"])}
    pull = reads.pull(repo, event["pull"])
    if pull is None:
        return none | {"refusal": replies.NOT_OPEN}
    refusal = _unbound(rerun, pull, event["repo"], listed=admitted["role"] == LISTED) or _unfit(
        repo, rerun, pull
    )
    if refusal:
        return none | {"refusal": refusal}
    same = {"installation": event["installation"], "repo": event["repo"], "head_sha": pull.head_sha}
    jobs = [
        {**same, "pull": event["pull"], "job_id": job, "run_id": run}
        for job, run in reads.red_jobs(repo, pull.head_sha)
    ]
    return {
        "jobs": jobs,
        "asked": _asked(rerun),
        "suffix": _suffix(event, place),
        "refusal": "" if jobs else replies.NOTHING_RED,
    }


def outcome(
    svc: Services, event: Event, place: int, jobs: Sequence[Mapping[str, Any]], opened: Sequence[str]
) -> str:
    """What came of a rerun: the investigations it opened, those that were there, or why there is none."""
    only = _rerun_of(event, place).only
    mine = svc.store.investigations_of(event["repo"], event["pull"])
    running = [found for found in mine if found.state == "open" and found.id not in opened]
    said = []
    if opened:
        mine_now = [svc.store.investigation(key) for key in opened]
        sites = {(found.site_key, found.head_sha) for found in mine if found.id not in opened}
        again = any((found.site_key, found.head_sha) in sites for found in mine_now)
        tests = [test_name(found.test) for found in mine_now]
        said.append(replies.measuring(tests, again=again, asked=_asked(_rerun_of(event, place))))
    if already := [found for found in running if _meant(found.test, only)]:
        said.append(replies.measured_already([_where(found) for found in already]))
    if waits := list(_waits(svc, event, only)):
        said.append(replies.waiting(waits))
    return " ".join(said) or _nothing(svc, jobs, only)


def asked_by_click(svc: Services, event: Event) -> list[dict[str, Any]]:
    """[{"job", "asked"}]: what a check's button is about, while its commit is still the head.

    The check names an investigation; a suite stands for all of its commit, the newest of each site.
    """
    found = svc.store.investigations_at(event["repo"], event["head_sha"])
    if event["external_id"]:
        found = [investigation for investigation in found if investigation.id == event["external_id"]]
    repo = svc.installations.repository(event["installation"], event["repo"])
    newest = {(one.pull, one.site_key): one for one in reversed(found)}
    heads = {number: reads.pull(repo, number) for number in sorted({number for number, _ in newest})}
    return [
        {"job": job, "asked": _asked(Rerun(only=_plain(test_name(one.test))))}
        for one in newest.values()
        if (job := _job(event, one)) and (head := heads[one.pull]) and head.head_sha == one.head_sha
    ]


def _suffix(event: Event, place: int) -> str:
    """One command of one comment as it stood: an edit brings others to the same place."""
    text = hashlib.sha256(f"{event['before']}\0{event['body']}".encode()).hexdigest()[:12]
    return f"c{event['comment_id']}-{text}-{place}"


def _rerun_of(event: Event, place: int) -> Rerun:
    asked = commands_of(event)[place].asked
    if not isinstance(asked, Rerun):
        raise TypeError(f"command {place} of comment {event['comment_id']} is no rerun")
    return asked


def _unbound(rerun: Rerun, pull: reads.Pull, repo: str, *, listed: bool) -> str:
    """Why this code must not run for this author; "" where it may."""
    from_fork = pull.head_repo.lower() != repo.lower()
    if listed and rerun != Rerun(only=rerun.only):
        return replies.ONLY_WRITERS_CHOOSE
    if listed and from_fork:
        return replies.ONLY_WRITERS_BIND
    if rerun.head is not None and rerun.head != pull.head_sha:
        return replies.not_the_head(pull.head_sha)
    if from_fork and rerun.head is None:
        # Between the comment and now a stranger may have pushed other code; the SHA binds what was looked at.
        return replies.FORK_NEEDS_SHA
    if not from_fork and pull.head_ref.startswith(OWN_BRANCHES):
        return replies.OWN_BRANCH
    return ""


def _unfit(repo: Repository, rerun: Rerun, pull: reads.Pull) -> str:
    """Why this base or runner cannot be taken; "" where both can."""
    if rerun.runner is not None:
        config = read_config(repo, reads.facts(repo).default_branch)
        runners = () if isinstance(config, Refusal) else config[0].pack.runners
        if rerun.runner not in runners:
            return replies.no_such_runner(rerun.runner, runners)
    if rerun.base is not None and not reads.is_ancestor(repo, pull.base_ref, rerun.base):
        return replies.no_such_base(rerun.base, pull.base_ref)
    return ""


def _asked(rerun: Rerun) -> dict[str, Any]:
    """What was said, without what was not; the head is bound already."""
    said = {name: value for name, value in asdict(rerun).items() if value is not None}
    return {name: value for name, value in said.items() if name != "head"}


def _nothing(svc: Services, jobs: Sequence[Mapping[str, Any]], only: str | None) -> str:
    red = _red_tests(svc, jobs)
    if only is not None and only not in red:
        return replies.not_red(only, red, next(iter(difflib.get_close_matches(only, red, n=1)), None))
    return replies.not_opened(red) if red else replies.NOTHING_RED


def _red_tests(svc: Services, jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Class.method of every KL test that the jobs' logs show over its bound."""
    runs = (redjob.read(svc, job) for job in jobs[:MAX_JOBS_NAMED])
    failures = (found for run in runs if not isinstance(run, Refusal) for found in run.scanned.failures)
    return sorted({_plain(test_name(found.test or "")) for found in failures if redjob.counts(found)})


def _waits(svc: Services, event: Event, only: str | None) -> Iterable[tuple[str, PullLink]]:
    for hit in svc.store.waits_of(event["repo"], event["pull"]):
        other = svc.store.investigation(hit.investigation or "")
        if _meant(hit.facts["test"], only):
            yield test_name(hit.facts["test"]), PullLink(other.pull, pull_url(other))


def _where(found: Investigation) -> tuple[str, str, str | None]:
    return test_name(found.test), found.head_sha, found.facts.get("comment_url")


def _meant(test: str, only: str | None) -> bool:
    return only is None or _plain(test_name(test)) == only


def _plain(name: str) -> str:
    """Without pytest's parameters, which stand in brackets."""
    return name.partition("[")[0]


def _job(event: Event, found: Investigation) -> dict[str, Any] | None:
    """The red job that an investigation began with."""
    match = _JOB_URL.fullmatch(found.job_url)
    if match is None:
        return None
    job = {"run_id": int(match[1]), "job_id": int(match[2]), "head_sha": found.head_sha, "pull": found.pull}
    return job | {"installation": event["installation"], "repo": event["repo"]}
