"""The play: a developer opens a pull request, CI goes red, and the bot is watched until it has answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any, Final, TypeVar

from bot.demo.ending import Ending
from bot.demo.project import RUNNER
from bot.demo.scenario import Scenario
from bot.demo.stage import Stage, StageError
from bot.demo.watch import Watcher
from bot.store import Investigation, Store, open_database
from bot.triage.measure.measuring import planned
from bot.triage.tell.telling import EVIDENCE_BRANCH

CI_TRIES: Final = 20
RED_TIMEOUT_S: Final = 60.0
ANSWER_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the story."""

    title: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """How far the reruns are: readings per arm so far, and how many are planned in all rounds yet."""

    rounds: int
    planned: int
    values: dict[str, list[float]]

    @property
    def done(self) -> int:
        return sum(len(values) for values in self.values.values())


T = TypeVar("T")
Report = Callable[[Step | Measured], None]


def play(stage: Stage, scenario: Scenario, report: Report) -> Ending:
    """Plays a scenario on a running stage; `report` hears of every step and of every look at the reruns."""
    developer = Watcher(stage.github_url, stage.tokens["dev-a"])
    head = stage.project.push_change(scenario)
    pull = developer.open_pull(scenario.title, scenario.body, scenario.branch)
    report(Step(f"dev-a opens pull request #{pull['number']}", f"“{scenario.title}” {pull['html_url']}"))
    head, failure = _go_red(stage, scenario, developer, head, report)
    report(Step("CI goes red", failure))
    store = Store(open_database(f"sqlite:///{stage.database}"))
    investigation = _await(lambda: _newest(store), RED_TIMEOUT_S, "the bot opened no investigation")
    comment = _await(
        lambda: _first(developer.comments(pull["number"])), RED_TIMEOUT_S, "the bot said nothing"
    )
    report(Step("kl-triage answers at once", comment["html_url"]))
    _await(
        lambda: _finished(store, investigation.id, developer, report),
        ANSWER_TIMEOUT_S,
        "there was no verdict",
    )
    return _ending(stage, store, investigation.id, developer, pull["number"], head)


def _go_red(
    stage: Stage, scenario: Scenario, developer: Watcher, head: str, report: Report
) -> tuple[str, str]:
    """Waits for CI to fail. Faulty code fails soon by itself; healthy code once in 150 jobs, so for
    the noise story the log of such a job is replayed, recorded from the same code by `bot.demo.record`."""
    if scenario.fault is None:
        log = (resources.files("bot.demo") / "files/red-job-of-healthy-code.log").read_text(encoding="utf-8")
        document = {
            "workflow": "pr-test.yml",
            "head_sha": head,
            "log": log,
            "conclusion": "failure",
            "name": "kl-suite",
            "labels": ["self-hosted", RUNNER],
        }
        developer.post_recorded_job(document)
        return head, f"{failure_line(log)} (a recorded job: healthy code goes red about once in 150)"
    for number in range(1, CI_TRIES + 1):
        job = _await(partial(_finished_ci_job, developer, head), RED_TIMEOUT_S, "CI did not finish")
        if job["conclusion"] == "failure":
            return head, failure_line(developer.log(job["id"]))
        report(
            Step(
                f"CI is green this time ({number})",
                "the fault does not show in every run; dev-a pushes again",
            )
        )
        head = stage.project.push_again(scenario)
        developer.tell_of_push()
    raise StageError(f"CI stayed green {CI_TRIES} times")


def _finished_ci_job(developer: Watcher, head: str) -> dict[str, Any] | None:
    return _first([job for job in developer.jobs(head, "pr-test.yml") if job["conclusion"]])


def failure_line(log: str) -> str:
    """The first line of a job log that says which value was over which bound."""
    found = next((line for line in log.splitlines() if "AssertionError: avg_kl_div=" in line), "")
    return found.partition("AssertionError: ")[2] or "no KL value in the log"


def _finished(
    store: Store,
    key: str,
    developer: Watcher,
    report: Report,
) -> bool:
    measured = _measured(store, key, developer)
    if measured.planned:
        report(measured)
    return store.investigation(key).state == "done"


def _measured(store: Store, key: str, developer: Watcher) -> Measured:
    """Counts planned readings from the bot's plans, and measured ones from the logs of the running jobs."""
    reruns = store.reruns(key)
    values: dict[str, list[float]] = {"head": [], "base": []}
    for rerun in reruns:
        for arm, value in developer.readings_so_far(rerun.run_id) if rerun.run_id else ():
            values[arm].append(value)
    return Measured(len(reruns), sum(map(planned, reruns)), values)


def _ending(stage: Stage, store: Store, key: str, developer: Watcher, number: int, head: str) -> Ending:
    bumps = developer.bump_pulls()
    verdict: dict[str, Any] = store.investigation(key).verdict or {}
    return Ending(
        verdict=verdict,
        comments=developer.comments(number),
        checks=developer.checks(head),
        bumps=bumps,
        diff=stage.project.diff("main", bumps[0]["head"]["ref"]) if bumps else "",
        evidence=stage.project.files(EVIDENCE_BRANCH),
    )


def _newest(store: Store) -> Investigation | None:
    return _first(list(store.investigations(limit=1)))


def _first(items: list[T]) -> T | None:
    return items[0] if items else None


def _await(look: Callable[[], T | None], timeout_s: float, what: str) -> T:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.5)
    raise StageError(f"{what} within {timeout_s:.0f} s")
