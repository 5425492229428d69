"""A run of the default branch ends while the bot runs: its readings are kept, and nobody is told."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import requests

from bot.demo.stage import Stage
from bot.demo.watch import Watcher
from bot.store import Store, open_database
from bot.triage.harvest.steps import Source
from rules import RepositoryConfig, repository_pack
from tests.demo_github.github_stage import git
from tests.harvest.past import ago, block, log

PATH = "test/registered/kl/test_hybrid_cache_kl.py"
TEST = f"{PATH}::TestA.test_decode"


@pytest.fixture
def live(tmp_path) -> Iterator[Stage]:
    stage = Stage(tmp_path, github_module="tests.openapi.github")
    stage.build()
    stage.start_github()
    try:
        stage.start_bot()
        yield stage
        violations = requests.get(f"{stage.github_url}/_demo/violations", timeout=10).json()
        assert violations == [], violations
    finally:
        stage.close()


def until(look, seconds: float = 60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds:.0f} s")


@pytest.mark.timeout(120)
def test_a_red_and_a_green_run_of_main_are_kept_once_also_when_told_of_twice(live):
    developer = Watcher(live.github_url, live.tokens["dev-a"])
    main = git(live.project.bare, "rev-parse", "main")
    for value, conclusion in ((0.0020, "success"), (0.0021, "failure")):
        document = {
            "workflow": "pr-test.yml",
            "head_sha": main,
            "log": log(*block(value), path=PATH),
            "conclusion": conclusion,
            "name": "kl-suite",
            "labels": ["self-hosted", "kl-cpu"],
        }
        developer.post_recorded_job(document)
    store = Store(open_database(f"sqlite:///{live.database}"))

    def kept() -> list[float]:
        records = store.history("acme/tinyserve", TEST, "kl-cpu", ago(seconds=-60), since=ago(days=1))
        return sorted(record["value"] for record in records)

    until(lambda: len(kept()) == 2)
    for delivery in requests.get(f"{live.github_url}/_demo/deliveries", timeout=10).json():
        again = {"guid": delivery["guid"]}
        assert requests.post(f"{live.github_url}/_demo/redeliver", json=again, timeout=10).ok
    config = repository_pack((live.project.clone / ".github/kl-triage.yml").read_text())
    assert isinstance(config, RepositoryConfig), config
    reader = Source(None, "acme/tinyserve", config.pack, store).reader
    until(lambda: all(store.is_run_done("acme/tinyserve", run, 1, reader) for run in runs(live)))
    assert kept() == [0.0020, 0.0021]
    assert store.investigations() == []
    assert len(runs(live)) == 2


def runs(stage: Stage) -> set[int]:
    sent = requests.get(f"{stage.github_url}/_demo/deliveries", timeout=10).json()
    return {item["payload"]["workflow_run"]["id"] for item in sent if item["event"] == "workflow_run"}
