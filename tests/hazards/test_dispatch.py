"""Hazards 1 to 8: dispatching the reruns and believing what comes back."""

from __future__ import annotations

import pytest
import yaml

from bot.store.tables_history import HistoryReading
from runners.init import initial_files
from tests.lab.asserts import assert_ended, assert_once, doubled
from tests.lab.faults import DISPATCH, lose_answers, no_run_details, runs_appear_after, runs_reversed
from tests.lab.project import files, red_log, seed
from tests.lab.runner import Answer
from tests.lab.values import Values

RERUN_YML = ".github/workflows/kl-rerun.yml"
NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def test_hazard_01_a_dispatch_answered_502_runs_once(lab):
    bench = lab(NOTHING, trouble="twice")
    lost = lose_answers(bench.world, DISPATCH)
    bench.red_pull()
    assert len(lost) == len(bench.requests()) == 1
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_02_two_dispatches_at_once_listed_in_reverse_find_their_own_run(lab):
    bench = lab(NOTHING, trouble="twice")
    no_run_details(bench.world)
    runs_reversed(bench.world)
    bench.red_pull(log=red_log() + red_log("TestHybridCacheKLHiCache"))
    assert bench.kinds() == ["infra", "infra"]
    assert _runs_known_to_the_bot(bench) == _runs_on_github(bench)
    assert len(bench.requests()) == 2
    over(bench)


@pytest.mark.parametrize("seconds", [0.3, 1.2])
def test_hazard_02_a_run_that_appears_late_is_not_dispatched_again(lab, seconds):
    """Within the time that a dispatch looks for it, and long after."""
    bench = lab(NOTHING)
    no_run_details(bench.world)
    runs_appear_after(bench.world, seconds)
    bench.red_pull()
    assert bench.requests() == [rerun.request for rerun in _reruns(bench)]
    assert len(bench.requests()) == 1
    over(bench)


def test_hazard_03_the_default_branch_is_dispatched_and_commits_go_as_inputs(lab):
    bench = lab(NOTHING, trouble="twice")
    number = bench.red_pull()
    (spec,) = [spec for spec in bench.runner.specs if spec.workflow_path == RERUN_YML]
    (plan,) = bench.runner.plans()
    assert spec.ref == "refs/heads/main"
    assert plan.commits == {"head": bench.world.state.pulls[number].head_sha, "base": bench.sha("main")}
    over(bench)


@pytest.mark.parametrize(
    ("label", "told"),
    [(None, "kl-rerun.yml is not on the branch main"), ("another", "among the options of that file's input")],
)
def test_hazard_03_no_such_workflow_and_no_such_input_are_told_apart(lab, tmp_path, label, told):
    tree = files()
    if label is None:
        del tree[RERUN_YML]
    else:
        tree[RERUN_YML] = initial_files("reference", [label])[RERUN_YML]
    bench = lab(repository=seed(tmp_path, tree), trouble="twice")
    number = bench.red_pull()
    assert told in bench.sticky(number)[0]
    assert bench.requests() == [] and bench.kinds() == ["infra"]
    over(bench)


@pytest.mark.parametrize(("conclusion", "trouble"), [("cancelled", "twice"), ("timed_out", None)])
def test_hazard_04_a_rerun_that_was_cancelled_is_missing_data(lab, conclusion, trouble):
    bench = lab(Answer(uploads=False, conclusion=conclusion), trouble=trouble)
    number = bench.red_pull()
    assert bench.kinds() == ["infra"]
    assert "0 of 28" in bench.sticky(number)[0]
    assert bench.bumps() == []
    over(bench)


def test_hazard_04_each_rerun_has_a_concurrency_group_of_its_own():
    workflow = yaml.safe_load(initial_files("reference", ["kl-cpu"])[RERUN_YML])
    group = workflow.get("concurrency", {}).get("group", "none: nothing is cancelled")
    assert "inputs.request_id" in group or group.startswith("none")


def test_hazard_05_a_value_of_a_job_that_was_carried_over_counts_once(lab):
    """An attempt that is red again is another job; the job that passed is listed in both attempts."""
    bench = lab(NOTHING, trouble="twice")
    number = bench.open_pull()
    made = bench.red(number)
    bench.people.control("rerun", run_id=made["run_id"])
    bench.wait()
    (one,) = bench.investigations()
    triggers = [r["value"] for r in bench.store.records(one.id) if r["arm"] == "trigger"]
    assert len(triggers) == len(set(triggers)) == 2
    over(bench)


def test_hazard_05_history_has_each_job_of_all_attempts_once(lab):
    bench = lab()
    made = bench.red(None, log=red_log(), user="dev-a")
    bench.wait()
    again = bench.people.control("rerun", run_id=made["run_id"], conclusion="success")
    bench.wait()
    read = [(row.job_id, row.number) for row in bench.rows(HistoryReading)]
    assert {job for job, _ in read} == {made["job_id"], *again["job_ids"]}
    assert doubled(read) == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(takes=False), "no runner with the label 'kl-cpu' took the job in time"),
        (Answer(ends=False, uploads=False, log="loading weights\n"), "did not end in time on the runner"),
    ],
)
def test_hazard_06_a_runner_that_never_takes_it_or_is_lost_is_no_data(lab, answer, told):
    bench = lab(answer, trouble="twice", queue_deadline_s=0.3, run_deadline_s=0.3)
    number = bench.red_pull()
    assert bench.kinds() == ["infra"]
    assert told in bench.sticky(number)[0]
    assert [run.conclusion for run in _rerun_runs(bench)] == ["cancelled"]
    over(bench)


def test_hazard_07_exceedances_of_one_host_are_the_hosts_and_never_noise(lab):
    values = Values(hosts=("cpu-local-0", "gpu-box-2"), bad_hosts={"cpu-local-0": 1.6})
    bench = lab(Answer(values), trouble="twice")
    number = bench.red_pull()
    assert bench.kinds() == ["hardware"]
    assert "cpu-local-0" in bench.sticky(number)[0]
    assert bench.bumps() == []
    over(bench)


def test_hazard_08_a_head_that_moved_while_it_was_measured_gets_no_bump(lab):
    bench = lab(trouble="twice")
    pushed: list[str] = []

    def push(_spec: object) -> None:
        if not pushed:
            pushed.append(bench.push("feature", {"tinyserve/metrics.py": "cached_tokens = 1\n"}))

    bench.runner.on_rerun = push
    number = bench.red_pull()
    measured = {plan.commits["head"] for plan in bench.runner.plans()}
    assert len(measured) == 1 and measured.isdisjoint(pushed)
    assert bench.bumps() == []
    assert pushed[0][:7] in bench.sticky(number)[0]
    over(bench)


def test_hazard_08_a_forks_code_runs_only_for_a_writer_who_names_its_commit(lab):
    bench = lab(NOTHING, trouble="twice")
    old = bench.push("scratch", {"tinyserve/metrics.py": "cached_tokens = 2\n"})
    new = bench.push("scratch", {"tinyserve/metrics.py": "cached_tokens = 3\n"})
    number = bench.people.control("fork-pull", user="stranger-c", branch="fast", sha=old)["number"]
    bench.red(number)
    bench.wait()
    bench.say(number, "/rerun-kl")
    bench.say(number, f"/rerun-kl {old[:12]}")
    bench.say(number, f"/rerun-kl {old}", who="stranger-c")
    bench.wait()
    assert bench.requests() == []

    bench.people.control("fork-push", number=number, sha=new)
    bench.say(number, f"/rerun-kl {old}")
    bench.wait()
    assert bench.requests() == []

    bench.red(number)
    bench.wait()
    bench.say(number, f"/rerun-kl {new}")
    bench.wait()
    assert [plan.commits["head"] for plan in bench.runner.plans()] == [new]
    over(bench)


def _reruns(bench):
    return [rerun for one in bench.investigations() for rerun in bench.store.reruns(one.id)]


def _rerun_runs(bench):
    return [run for run in bench.world.state.runs.values() if run.event == "workflow_dispatch"]


def _runs_known_to_the_bot(bench) -> dict[str, int]:
    return {rerun.request: rerun.run_id for rerun in _reruns(bench)}


def _runs_on_github(bench) -> dict[str, int]:
    return {run.display_title.removeprefix("KL rerun "): run.id for run in _rerun_runs(bench)}
