"""What was harvested reaches the judge: an investigation opens with the history of its test."""

from __future__ import annotations

import pytest
import requests

from bot.github import AppCredentials, Installations
from bot.triage.configured import config_of
from bot.triage.measure.measuring import verdict_of
from bot.triage.red.opening import open_investigations
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


@pytest.fixture
def svc(stage, store) -> Services:
    app = AppCredentials(1, stage.private_key, stage.url)
    return Services(None, store, Installations(app, seconds_between_writes=None))


@pytest.fixture
def red(stage) -> dict[str, object]:
    return red_job(stage, FILES)


def red_job(
    stage, files: dict[str, str], labels: tuple[str, ...] = ("self-hosted", "kl-cpu"), gpu: str = ""
) -> dict[str, object]:
    """The event of a red job on a pull request that touches no test; `gpu` is what its log names."""
    main = commit(stage.git_dir, "main", files, "Set kl-triage up")
    head = commit(stage.git_dir, "topic", {**files, "engine.py": "fast = True\n"}, "Faster", main)
    pull = stage.repo("dev-a").create_pull(base="main", head="topic", title="Faster", body="It is.")
    body = {"workflow": "ci.yml", "head_sha": head, "log": on(gpu, RED), "pull": pull.number}
    body["labels"] = list(labels)
    made = requests.post(f"{stage.url}/_demo/recorded-job", json=body, timeout=5).json()
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    same = {"installation": installation, "repo": "acme/tinyserve", "head_sha": head}
    return {**same, "job_id": made["job_id"], "run_id": made["run_id"]}


def on(gpu: str, text: str) -> str:
    """The log of a job on a machine that lists this GPU; of none for ''."""
    return text.replace("Begin (", f"GPU 0: {gpu} (UUID: GPU-1)\nBegin (") if gpu else text


def history(svc, store, event) -> list[float]:
    """What the investigation of the red job opens with."""
    (key,) = open_investigations(svc, event, "")
    return [record["value"] for record in store.records(key) if record["arm"] == "history"]


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
    files = {**FILES, ".github/kl-triage.yml": config, PATH: source}
    event = red_job(stage, files, labels=("self-hosted", "big-gpu"))
    past.run(green(0.0020), at=ago(days=2), labels=("self-hosted", "big-gpu"))
    past.run(green(0.0021), at=ago(days=1))
    harvest()
    (key,) = open_investigations(svc, event, "")
    assert config_of(store.investigation(key)).runner == "big-gpu"
    assert [r["value"] for r in store.records(key) if r["arm"] == "history"] == [0.0020]


def test_only_jobs_that_asked_for_the_same_labels_are_compared(past, harvest, svc, stage, store):
    event = red_job(stage, FILES, labels=("Self-Hosted", "kl-cpu", "h100"))
    past.run(green(0.0020), at=ago(days=3), labels=("kl-cpu", "H100", "self-hosted"))
    past.run(green(0.0021), at=ago(days=2), labels=("self-hosted", "kl-cpu", "a100"))
    past.run(green(0.0022), at=ago(days=1), labels=("self-hosted", "kl-cpu"))
    harvest()
    assert history(svc, store, event) == [0.0020]
    assert store.decisions() == []


GENERIC = ("self-hosted", "Linux", "X64", "gpu")
ON_GPU = {**FILES, ".github/kl-triage.yml": "extends: reference\nmode: comment\nrunners: [gpu]\n"}


@pytest.mark.parametrize(
    ("labels", "gpu", "found", "why"),
    [
        (GENERIC, "NVIDIA H100", [0.0020], None),
        (GENERIC, "", [], "name no type of machine and its log no GPU"),
        (GENERIC, "NVIDIA A100", [], "or on another GPU"),
        ((*GENERIC, "h100"), "NVIDIA H100", [], "other runner labels"),
        (("self-hosted", "h100"), "NVIDIA H100", [], "did not ask for the label 'gpu'"),
    ],
)
def test_labels_that_name_no_machine_need_the_same_gpu(
    past, harvest, svc, stage, store, labels, gpu, found, why
):
    event = red_job(stage, ON_GPU, labels, gpu)
    past.run(on("NVIDIA H100", green(0.0020)), at=ago(days=3), labels=GENERIC)
    past.run(on("NVIDIA H200", green(0.0021)), at=ago(days=2), labels=GENERIC)
    past.run(green(0.0022), at=ago(days=1), labels=GENERIC)
    harvest()
    assert history(svc, store, event) == found
    decisions = [(decision.code, decision.sentence) for decision in store.decisions()]
    assert [code for code, _ in decisions] == ([] if why is None else ["history_not_used"])
    assert why is None or why in decisions[0][1]


def test_a_test_without_a_past_costs_no_more_requests_and_no_decision(past, svc, red, store):
    past.asked.clear()
    assert history(svc, store, red) == []
    assert past.asked.count(f"/actions/jobs/{red['job_id']}") == 1, "its labels, asked for in any case"
    assert store.decisions() == []
