"""What was harvested reaches the judge: an investigation opens with the history of its test."""

from __future__ import annotations

import requests
from pytest import fixture

from bot.github import AppCredentials, Installations
from bot.triage.measuring import config_of, verdict_of
from bot.triage.opening import open_investigations
from bot.triage.services import Services
from tests.demo_github.github_stage import commit
from tests.harvest.past import CONFIG, PATH, TEST, ago, block, green, log

SOURCE = """\
class TestA:
    kl_threshold = 0.003

    def test_decode(self):
        pass
"""
FILES = {".github/kl-triage.yml": CONFIG, PATH: SOURCE, ".github/workflows/ci.yml": "on: push\n"}
OVER = "avg_kl_div=0.0034 > threshold=0.003 for tiny decode"
RED = log(
    "[CI Test Method] TestA.test_decode",
    f"AssertionError: {OVER}",
    f"retry() failed once (0th try, maximum 1 retries). Will delay 0.02s and retry. Error: {OVER}",
    f"AssertionError: {OVER.replace('34', '32')}",
    "=" * 70,
    "ERROR: test_decode (__main__.TestA.test_decode)",
    "-" * 70,
    "Traceback (most recent call last):",
    f"AssertionError: {OVER.replace('34', '32')}",
    "Exception: retry() exceed maximum number of retries.",
    "-" * 70,
    "Ran 1 test in 1.5s",
    "FAILED (errors=1)",
)


@fixture
def svc(stage, store) -> Services:
    app = AppCredentials(1, stage.private_key, stage.url)
    return Services(None, store, Installations(app, seconds_between_writes=None))


@fixture
def red(stage) -> dict[str, object]:
    return red_job(stage, FILES)


def red_job(stage, files: dict[str, str]) -> dict[str, object]:
    """The event of a red job on a pull request that touches no test."""
    main = commit(stage.git_dir, "main", files, "Set kl-triage up")
    head = commit(stage.git_dir, "topic", {**files, "engine.py": "fast = True\n"}, "Faster", main)
    pull = stage.repo("dev-a").create_pull(base="main", head="topic", title="Faster", body="It is.")
    body = {"workflow": "ci.yml", "head_sha": head, "log": RED, "pull": pull.number}
    made = requests.post(f"{stage.url}/_demo/recorded-job", json=body, timeout=5).json()
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    same = {"installation": installation, "repo": "acme/tinyserve", "head_sha": head}
    return {**same, "job_id": made["job_id"], "run_id": made["run_id"]}


def test_an_investigation_opens_with_the_past_of_its_test_and_the_judge_uses_it(
    past, harvest, svc, red, store
):
    for day in range(24, 0, -1):
        past.run(green(0.0020 + 0.00001 * (day % 7)), at=ago(days=day))
    past.run(green(0.0001), at=ago(days=1), labels=("self-hosted", "another-gpu"))
    past.run(log(*block(0.0001, method="test_prefill")), at=ago(days=1))
    harvest()
    (key,) = open_investigations(svc, red, "")
    assert open_investigations(svc, red, "") == [key]
    records = store.records(key)
    assert [record["arm"] for record in records].count("history") == 24
    assert {record["test"] for record in records} == {TEST}
    history = [record for record in records if record["arm"] == "history"]
    assert history[0]["at"] < history[-1]["at"]
    verdict, _ = verdict_of(svc, store.investigation(key))
    assert verdict.numbers.runs["history"].ok == 24
    assert 0.0019 < verdict.numbers.levels["history"].median < 0.0021
    assert verdict.next is not None


def test_with_history_the_judge_asks_for_fewer_runs_of_base(past, harvest, svc, red, store):
    def runs_of_base(suffix: str) -> int:
        (key,) = open_investigations(svc, red, suffix)
        verdict, _ = verdict_of(svc, store.investigation(key))
        assert verdict.next is not None
        store.finish(key, None)
        base = verdict.next.arms["base"]
        return base.launches * base.repeats

    without = runs_of_base("")
    for number in range(60):
        past.run(green(0.0018 + 0.00001 * (number % 40)), at=ago(days=20, hours=-number))
    harvest()
    assert runs_of_base("c1") < without


def test_without_a_past_everything_is_as_before(svc, red, store):
    (key,) = open_investigations(svc, red, "")
    assert {record["arm"] for record in store.records(key)} == {"trigger"}


def test_another_check_of_the_same_test_is_no_history(past, harvest, svc, red, store):
    other = ["[prefill] 2 samples", *block(0.0001, 0.0003)[1:]]
    past.run(log("[CI Test Method] TestA.test_decode", *other))
    harvest()
    (key,) = open_investigations(svc, red, "")
    assert [record["arm"] for record in store.records(key)].count("history") == 0


def test_reruns_and_history_are_those_of_the_runner_that_the_test_registers_for(
    past, harvest, svc, stage, store
):
    config = """\
extends: reference
mode: propose
runners: [kl-cpu, big-gpu]
registrations: [{call: register_ci, argument: needs, labels: {big: big-gpu}}]
"""
    source = f"register_ci(needs='big')\n{SOURCE}"
    event = red_job(stage, {**FILES, ".github/kl-triage.yml": config, PATH: source})
    past.run(green(0.0020), at=ago(days=2), labels=("self-hosted", "big-gpu"))
    past.run(green(0.0021), at=ago(days=1))
    harvest()
    (key,) = open_investigations(svc, event, "")
    assert config_of(store.investigation(key)).runner == "big-gpu"
    assert [r["value"] for r in store.records(key) if r["arm"] == "history"] == [0.0020]
