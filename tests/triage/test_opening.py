"""From a red job to its sites, its pull request, and investigations as they were asked for."""

from types import SimpleNamespace

import pytest
import requests

from bot.store import Store, open_database
from bot.triage import telling
from bot.triage.opening import _check_names, investigation_id, open_investigations
from bot.triage.paths import tree_path
from bot.triage.services import Services
from rules import load_named
from tests.demo_github.github_stage import commit
from tests.harvest.past import PATH, log

TEST = "test/registered/radix_cache/test_swa_radix_cache_kl.py"


@pytest.mark.parametrize(
    "printed",
    [TEST, f"/actions-runner/_work/x/x/{TEST}", "registered/radix_cache/test_swa_radix_cache_kl.py"],
)
def test_absolute_relative_and_cd_paths_are_one_file(printed):
    assert tree_path(printed, load_named("sglang")) == TEST


@pytest.mark.parametrize("printed", ["", "/", "setup.py", "/etc/passwd", f"../{TEST}", "test/../" + TEST])
def test_what_is_no_kl_test_of_the_pack_is_none(printed):
    assert tree_path(printed, load_named("sglang")) is None


def test_an_investigation_is_named_by_repository_site_commit_and_command():
    plain = investigation_id("acme/x", "a.py::T.kl_threshold", "a" * 40)
    assert plain == investigation_id("Acme/X", "a.py::T.kl_threshold", "a" * 40)
    others = [
        investigation_id("acme/y", "a.py::T.kl_threshold", "a" * 40),
        investigation_id("acme/x", "a.py::U.kl_threshold", "a" * 40),
        investigation_id("acme/x", "a.py::T.kl_threshold", "b" * 40),
        investigation_id("acme/x", "a.py::T.kl_threshold", "a" * 40, "c1"),
    ]
    assert len({plain, *others}) == 5


def test_each_site_of_a_commit_has_a_check_of_its_own_name():
    assert _check_names({}, ["a.py::A.kl_threshold", "a.py::B.kl_threshold"]) == {
        "a.py::A.kl_threshold": "kl-triage",
        "a.py::B.kl_threshold": "kl-triage: B.kl_threshold",
    }
    known = {"a.py::A.kl_threshold": "kl-triage"}
    assert _check_names(known, ["a.py::A.kl_threshold"]) == known
    assert (
        _check_names(known, ["a.py::B.kl_threshold"])["a.py::B.kl_threshold"] == "kl-triage: B.kl_threshold"
    )


# Against the stand-in: one red job with two red tests under one bound, and one under another


CONFIG = "extends: reference\nmode: comment\nrunners: [kl-cpu, big-gpu]\n"
SOURCE = """\
class TestA:
    kl_threshold = 0.003

    def test_decode(self):
        pass

    def test_prefill(self):
        pass


class TestB:
    kl_threshold = 0.002

    def test_decode(self):
        pass
"""
FILES = {".github/kl-triage.yml": CONFIG, PATH: SOURCE, ".github/workflows/ci.yml": "on: push\n"}


RED_TESTS = {
    "TestA.test_decode": "avg_kl_div=0.0034 > threshold=0.003 for tiny decode",
    "TestA.test_prefill": "avg_kl_div=0.0036 > threshold=0.003 for tiny prefill",
    "TestB.test_decode": "avg_kl_div=0.0025 > threshold=0.002 for tiny decode",
}


def error(name: str, told: str) -> list[str]:
    """As unittest prints it at the end."""
    cls, _, method = name.partition(".")
    head = ["=" * 70, f"ERROR: {method} (__main__.{cls}.{method})", "-" * 70]
    return [*head, "Traceback (most recent call last):", f"AssertionError: {told}", ""]


RED = log(
    *(line for test, told in RED_TESTS.items() for line in (f"[CI Test Method] {test}", told)),
    *(line for test, told in RED_TESTS.items() for line in error(test, told)),
    "-" * 70,
    "Ran 3 tests in 1.5s",
    "FAILED (errors=3)",
)


@pytest.fixture
def svc(tmp_path, installations) -> Services:
    settings = SimpleNamespace(stop=False)
    return Services(settings, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), installations)


@pytest.fixture
def red(stage) -> dict[str, object]:
    main = commit(stage.git_dir, "main", FILES, "Set kl-triage up")
    head = commit(stage.git_dir, "topic", {**FILES, "engine.py": "fast = True\n"}, "Faster", main)
    pull = stage.repo("dev-a").create_pull(base="main", head="topic", title="Faster", body="It is.")
    body = {"workflow": "ci.yml", "head_sha": head, "log": RED, "pull": pull.number}
    body["labels"] = ["self-hosted", "kl-cpu"]
    made = requests.post(f"{stage.url}/_demo/recorded-job", json=body, timeout=5).json()
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    same = {"installation": installation, "repo": "acme/tinyserve", "head_sha": head}
    return {**same, "job_id": made["job_id"], "run_id": made["run_id"]}


def test_each_site_is_investigated_once_and_what_else_is_red_under_its_bound_is_named(svc, red):
    keys = open_investigations(svc, red, "", {})
    found = [svc.store.investigation(key) for key in keys]
    assert [one.test for one in found] == [f"{PATH}::TestA.test_decode", f"{PATH}::TestB.test_decode"]
    assert [one.facts["also_red"] for one in found] == [[f"{PATH}::TestA.test_prefill"], []]
    assert [one.facts["asked"] for one in found] == [{}, {}]
    hits = [svc.store.hit("acme/tinyserve", one.site_key, one.pull) for one in found]
    assert [(hit.state, hit.investigation) for hit in hits] == [("measured", key) for key in keys]
    assert hits[0].facts["values"] == [0.0034]
    assert open_investigations(svc, red, "", {}) == keys, "the step may run twice"


def test_a_command_measures_the_one_test_it_names_as_it_says(svc, stage, red):
    base = stage.repo().get_branch("main").commit.sha
    asked = {"only": "TestA.test_prefill", "runs": 12, "launches": 4, "base": base, "runner": "big-gpu"}
    (key,) = open_investigations(svc, {**red, "pull": 1}, "c7-0", asked)
    found = svc.store.investigation(key)
    assert found.test == f"{PATH}::TestA.test_prefill"
    assert found.facts["also_red"] == [f"{PATH}::TestA.test_decode"], "it still bars a bump"
    assert (found.base_sha, found.facts["runner"]) == (base, "big-gpu")
    assert found.facts["asked"] == {"runs": 12, "launches": 4, "base": base, "runner": "big-gpu"}


def test_a_commands_pull_request_must_still_have_the_commit_as_head(svc, red):
    assert open_investigations(svc, {**red, "pull": 1, "head_sha": "a" * 40}, "c7-0", {}) == []
    assert [decision.code for decision in svc.store.decisions()] == ["no_pull_request"]


def test_red_on_the_bots_own_branch_starts_nothing(svc, stage, red):
    head = red["head_sha"]
    stage.repo("dev-a").get_pull(1).edit(state="closed")
    stage.repo().create_git_ref("refs/heads/kl-triage/bump/t-1/0.004", head)
    stage.repo().create_pull(base="main", head="kl-triage/bump/t-1/0.004", title="Relax", body="")
    for event, suffix in ((red, ""), ({**red, "pull": 2}, "c7-0")):
        assert open_investigations(svc, event, suffix, {}) == []
    assert [decision.code for decision in svc.store.decisions()] == ["own_branch"]
    assert svc.store.investigations() == []


def test_an_older_investigation_does_not_write_over_the_comment_of_a_newer_one(svc, stage, red):
    key = open_investigations(svc, red, "", {})[0]
    hit = svc.store.hit("acme/tinyserve", svc.store.investigation(key).site_key, 1)
    hit.investigation = "kl-newer"
    svc.store.record_hit(hit)
    telling.announce(svc, key)
    assert list(stage.repo().get_issue(1).get_comments()) == []
    hit.investigation = key
    svc.store.record_hit(hit)
    telling.announce(svc, key)
    assert len(list(stage.repo().get_issue(1).get_comments())) == 1
