"""From a red job to its sites, its pull request, and investigations as they were asked for."""

from types import SimpleNamespace

import pytest
import requests
from flask import request

from bot.store import Investigation, Store, open_database
from bot.triage.red.opening import investigation_id, open_investigations
from bot.triage.red.paths import tree_path
from bot.triage.services import Services
from bot.triage.tell import telling
from rules import load_named
from tests.demo_github.github_stage import commit, git
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


def red_job(
    stage, head: str, pull: int, text: str = RED, labels: tuple[str, ...] = ("self-hosted", "kl-cpu")
):
    body = {"workflow": "ci.yml", "head_sha": head, "log": text, "pull": pull, "labels": list(labels)}
    made = requests.post(f"{stage.url}/_demo/recorded-job", json=body, timeout=5).json()
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    same = {"installation": installation, "repo": "acme/tinyserve", "head_sha": head}
    return {**same, "job_id": made["job_id"], "run_id": made["run_id"]}


@pytest.fixture
def red(stage) -> dict[str, object]:
    main = commit(stage.git_dir, "main", FILES, "Set kl-triage up")
    head = commit(stage.git_dir, "topic", {**FILES, "engine.py": "fast = True\n"}, "Faster", main)
    pull = stage.repo("dev-a").create_pull(base="main", head="topic", title="Faster", body="It is.")
    return red_job(stage, head, pull.number)


def barred(found) -> str | None:
    refusal = found.facts["bump_refusal"]
    return refusal and refusal["code"]


def test_each_site_is_investigated_once_and_what_else_is_red_under_its_bound_is_named(svc, red):
    keys = open_investigations(svc, red, "", {})
    found = [svc.store.investigation(key) for key in keys]
    assert [one.test for one in found] == [f"{PATH}::TestA.test_decode", f"{PATH}::TestB.test_decode"]
    assert [one.facts["also_red"] for one in found] == [[f"{PATH}::TestA.test_prefill"], []]
    assert [one.facts["asked"] for one in found] == [{}, {}]
    assert [barred(one) for one in found] == [None, None]
    hits = [svc.store.hit("acme/tinyserve", one.site_key, one.pull) for one in found]
    assert [(hit.state, hit.investigation) for hit in hits] == [("measured", key) for key in keys]
    assert hits[0].facts["values"] == [0.0034]
    assert open_investigations(svc, red, "", {}) == keys, "the step may run twice"


KL_JOBS = 'jobs: ["kl-*"]\n'


@pytest.mark.parametrize(
    ("jobs", "name", "read"),
    [("", "lint", True), (KL_JOBS, "", True), (KL_JOBS, "kl-4-gpu", True), (KL_JOBS, "lint", False)],
)
def test_no_log_is_read_of_a_job_that_is_none_of_the_packs(svc, stage, red, jobs, name, read):
    parent, config = git(stage.git_dir, "rev-parse", "main"), CONFIG + jobs
    commit(stage.git_dir, "main", {".github/kl-triage.yml": config}, "Name jobs", parent)
    asked = []
    stage.server.world.before.append(lambda: asked.append(request.path))
    open_investigations(svc, {**red, "name": name}, "", {})
    assert any(path.endswith("/logs") for path in asked) is read


def test_a_command_measures_the_one_test_it_names_as_it_says(svc, stage, red):
    base = stage.repo().get_branch("main").commit.sha
    asked = {"only": "TestA.test_prefill", "runs": 12, "launches": 4, "base": base, "runner": "big-gpu"}
    (key,) = open_investigations(svc, {**red, "pull": 1}, "c7-0", asked)
    found = svc.store.investigation(key)
    assert found.test == f"{PATH}::TestA.test_prefill"
    assert found.facts["also_red"] == [f"{PATH}::TestA.test_decode"], "it still bars a bump"
    assert (found.base_sha, found.facts["runner"]) == (base, "big-gpu")
    assert found.facts["asked"] == {"runs": 12, "launches": 4, "base": base, "runner": "big-gpu"}
    assert barred(found) == "chosen_measurement"


@pytest.mark.parametrize("labels", [("self-hosted", "mi300"), ()])
def test_no_bump_follows_a_job_of_other_machines_or_of_unknown_ones(svc, stage, red, labels):
    (first, _) = open_investigations(svc, red_job(stage, red["head_sha"], 1, labels=labels), "", {})
    assert barred(svc.store.investigation(first)) == "other_machine"


def test_what_another_job_of_the_commit_shows_joins_what_is_measured_and_after_it_is_measured_anew(
    svc, stage, red
):
    (first, _) = open_investigations(svc, red, "", {})
    worse = RED.replace("avg_kl_div=0.0034", "avg_kl_div=0.9")
    second = red_job(stage, red["head_sha"], 1, worse, ("self-hosted", "mi300"))
    for _ in range(2):
        assert open_investigations(svc, second, "", {}) == []
    values = [record["value"] for record in svc.store.records(first)]
    assert sorted(values) == [0.0034, 0.9]
    assert barred(svc.store.investigation(first)) == "other_machine"
    svc.store.finish(first, {"kind": "noise", "numbers": {}})
    third = red_job(stage, red["head_sha"], 1, RED.replace("avg_kl_div=0.0034", "avg_kl_div=nan"))
    for _ in range(2):
        (fresh,) = open_investigations(svc, third, "", {})
    assert fresh != first and svc.store.investigation(first).verdict["kind"] == "refused"
    assert [record["value"] for record in svc.store.records(fresh)] == ["nan"]
    assert svc.store.hit("acme/tinyserve", svc.store.investigation(fresh).site_key, 1).investigation == fresh


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


# An answer holds only while what it was about is there


ONLY_B = log(
    "[CI Test Method] TestB.test_decode",
    RED_TESTS["TestB.test_decode"],
    *error("TestB.test_decode", RED_TESTS["TestB.test_decode"]),
    "-" * 70,
    "Ran 1 test in 0.5s",
    "FAILED (errors=1)",
)
SITE_B = f"{PATH}::TestB.kl_threshold"


def ended(svc, key: str, kind: str, *, pull: int, head_sha: str, base_sha: str) -> None:
    """An investigation of TestB in which the red job and a run of head showed 0.0026."""
    facts = {"site": None, "threshold": 0.002, "label": "decode", "runner": "kl-cpu", "base_ref": "main"}
    facts |= {"also_red": [], "bump_refusal": None, "server_url": "https://example.invalid"}
    same = {"repo": "acme/tinyserve", "installation": 1, "site_key": SITE_B, "job_url": f"job of {key}"}
    test = f"{PATH}::TestB.test_decode"
    row = Investigation(
        id=key, pull=pull, head_sha=head_sha, base_sha=base_sha, test=test, facts=facts, **same
    )
    shown = {"arm": "head", "test": test, "status": "ok", "value": 0.0026}
    svc.store.open_investigation(row, [])
    svc.store.add_readings(key, "r0", [shown])
    svc.store.finish(key, {"kind": kind, "numbers": {}})


def grown(stage, branch: str, parent: str) -> int:
    """A pull request of one commit more than `parent`; its number."""
    commit(stage.git_dir, branch, {**FILES, f"{branch}.py": "x = 1\n"}, "A change", parent)
    made = stage.repo("dev-a").create_pull(base="main", head=branch, title=branch, body="")
    return made.number


def fate(svc, stage, pull: int) -> str:
    head = stage.repo().get_pull(pull).head.sha
    open_investigations(svc, red_job(stage, head, pull, ONLY_B), "", {})
    return svc.store.hit("acme/tinyserve", SITE_B, pull).state


@pytest.mark.parametrize(("moved", "state"), [(False, "answered"), (True, "measured")])
def test_an_old_fault_answers_only_who_starts_from_code_that_has_it(svc, stage, red, moved, state):
    base = stage.repo().get_branch("main").commit.sha
    ended(svc, "kl-old", "old_regression", pull=1, head_sha="a" * 40, base_sha=base)
    parent = (
        commit(stage.git_dir, "main", {**FILES, "fix.py": "ok = 1\n"}, "Mend it", base) if moved else base
    )
    assert fate(svc, stage, grown(stage, "late", parent)) == state


@pytest.mark.parametrize(("merged", "state"), [(False, "answered"), (True, "measured")])
def test_noise_answers_nobody_once_a_fault_of_the_site_was_merged(svc, stage, red, merged, state):
    base = stage.repo().get_branch("main").commit.sha
    worse = grown(stage, "worse", base)
    head = stage.repo().get_pull(worse).head.sha
    ended(svc, "kl-noise", "noise", pull=1, head_sha="a" * 40, base_sha=base)
    ended(svc, "kl-worse", "regression", pull=worse, head_sha=head, base_sha=base)
    if merged:
        git(stage.git_dir, "update-ref", "refs/heads/main", head)
        requests.post(f"{stage.url}/_demo/refresh", json={"user": "dev-a"}, timeout=5).raise_for_status()
        assert stage.repo().get_pull(worse).merged
    assert fate(svc, stage, grown(stage, "third", head if merged else base)) == state
