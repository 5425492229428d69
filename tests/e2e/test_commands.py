"""`/rerun-kl`, who may say it, and red jobs that are none of the bot's business."""

from __future__ import annotations

import time
from importlib import resources

import pytest
import requests

from bot.demo.scenario import SCENARIOS
from bot.demo.watch import Watcher
from bot.store import Store, open_database

RED = (resources.files("bot.demo") / "files/red-job-of-healthy-code.log").read_text(encoding="utf-8")


def until(look, seconds: float = 60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds:.0f} s")


def pull_request(stage) -> tuple[Watcher, int, str]:
    scenario = SCENARIOS["noise"]
    head = stage.project.push_change(scenario)
    developer = Watcher(stage.github_url, stage.tokens["dev-a"])
    return developer, developer.open_pull(scenario.title, scenario.body, scenario.branch)["number"], head


def red(developer: Watcher, head: str, log: str) -> None:
    document = {
        "workflow": "pr-test.yml",
        "head_sha": head,
        "log": log,
        "conclusion": "failure",
        "name": "kl",
        "labels": ["self-hosted", "kl-cpu"],
    }
    developer.post_recorded_job(document)


def redeliver_all(stage) -> None:
    """As somebody does with the button on GitHub: the same bodies under the same GUIDs."""
    for delivery in requests.get(f"{stage.github_url}/_demo/deliveries", timeout=10).json():
        answer = requests.post(
            f"{stage.github_url}/_demo/redeliver", json={"guid": delivery["guid"]}, timeout=10
        )
        assert answer.ok


def store(stage) -> Store:
    return Store(open_database(f"sqlite:///{stage.database}"))


@pytest.mark.timeout(240)
def test_a_writer_asks_again_and_a_stranger_is_refused(stage):
    developer, number, head = pull_request(stage)
    red(developer, head, RED)
    kept = store(stage)
    until(lambda: [i for i in kept.investigations() if i.state == "done"])

    Watcher(stage.github_url, stage.tokens["stranger-c"]).say(number, "/rerun-kl")
    refusal = until(lambda: [c for c in developer.comments(number) if "write permission here" in c["body"]])
    assert len(refusal) == 1
    assert len(kept.investigations()) == 1

    developer.say(number, "> /rerun-kl\n\nwould be a quote, this is not:\n\n/rerun-kl")
    until(lambda: [c for c in developer.comments(number) if "measured again" in c["body"]])
    until(lambda: len([i for i in kept.investigations() if i.state == "done"]) == 2, 90)
    sticky = [c for c in developer.comments(number) if "kl-triage:v1" in c["body"]]
    assert len(sticky) == 1, "the second verdict goes into the first comment"


@pytest.mark.timeout(120)
def test_a_red_job_without_a_kl_failure_is_one_line_in_the_log_of_decisions(stage):
    developer, number, head = pull_request(stage)
    red(developer, head, "2026-05-30T18:40:51.0037738Z ##[error]Process completed with exit code 1.\n")
    kept = store(stage)
    decisions = until(kept.decisions)
    assert [decision.code for decision in decisions] == ["no_kl_failure"]
    assert developer.comments(number) == [] and kept.investigations() == []


@pytest.mark.timeout(120)
def test_the_same_delivery_again_changes_nothing(stage):
    developer, number, head = pull_request(stage)
    red(developer, head, RED)
    kept = store(stage)
    until(lambda: developer.comments(number))
    redeliver_all(stage)
    until(lambda: [i for i in kept.investigations() if i.state == "done"])
    assert len(kept.investigations()) == 1
    assert len(developer.comments(number)) == 1
    titles = [run["display_title"] for run in developer.reruns()]
    assert len(titles) == len(set(titles))
