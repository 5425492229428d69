"""Dispatches through the fleet and PyGithub: one POST, found again by the request id."""

import pytest
from flask import jsonify, request
from github import GithubException

from bot.demo.executor import JobResult
from bot.github.actions import Actions
from bot.verdict import Refusal
from runners.fleets.github_actions import DispatchRefused, GitHubActionsFleet
from runners.plan import PlannedLaunch, RerunPlan

WORKFLOW = "kl-rerun.yml"


def plan(request: str = "kl-abc-r0") -> RerunPlan:
    return RerunPlan(
        request=request,
        test="test/test_kl.py::TestKL.test_hit",
        commits={"head": "a" * 40, "base": "b" * 40},
        launches=(PlannedLaunch("head", 2), PlannedLaunch("base", 2)),
    )


@pytest.fixture
def fleet(repo):
    return GitHubActionsFleet(Actions(repo), ref="main", runner="kl-cpu", sleep=lambda _s: None)


@pytest.fixture
def small_inputs(stage):
    """The seeded workflow declares no `plan` input; the real one does."""
    text = stage.repo().get_contents(f".github/workflows/{WORKFLOW}").decoded_content.decode()
    text = text.replace("      runner:", "      plan: {type: string, required: true}\n      runner:")
    admin = stage.repo("maintainer-b")
    sha = admin.get_contents(f".github/workflows/{WORKFLOW}").sha
    admin.update_file(f".github/workflows/{WORKFLOW}", "plan", text, sha, branch="main")


def runs(stage):
    return [run.display_title for run in stage.repo().get_workflow_runs(event="workflow_dispatch")]


def test_a_plan_is_dispatched_and_found_again(stage, fleet, small_inputs):
    ticket = fleet.dispatch(plan())
    assert ticket.handle is not None and ticket.url
    assert fleet.dispatch(plan()).handle == ticket.handle
    assert runs(stage) == ["KL rerun kl-abc-r0"]


def test_a_dispatch_whose_answer_was_lost_started_one_run(stage, fleet, small_inputs, lose_the_next_answer):
    lose_the_next_answer("POST", "/dispatches")
    ticket = fleet.dispatch(plan())
    assert ticket.handle is not None
    assert runs(stage) == ["KL rerun kl-abc-r0"]


def test_a_workflow_that_is_not_there_is_a_sentence(repo):
    fleet = GitHubActionsFleet(Actions(repo), ref="main", runner="kl-cpu", workflow="absent.yml")
    refusal = fleet.dispatch(plan())
    assert isinstance(refusal, Refusal) and "absent.yml" in refusal.sentence and "init" in refusal.sentence


def test_an_input_the_workflow_does_not_know_is_refused(repo):
    with pytest.raises(DispatchRefused, match="422"):
        Actions(repo).dispatch(WORKFLOW, "main", {"request_id": "x", "colour": "red"})


def test_a_label_that_the_workflow_does_not_list_is_named(stage, repo, small_inputs):
    refusal = GitHubActionsFleet(Actions(repo), ref="main", runner="9-gpu", sleep=lambda _s: None).dispatch(
        plan()
    )
    assert isinstance(refusal, Refusal)
    assert "for the runner label '9-gpu' (HTTP 422)" in refusal.sentence
    assert runs(stage) == []


def test_the_log_of_a_run_comes_in_pieces(stage, repo, fleet, small_inputs):
    ticket = fleet.dispatch(plan())
    spec = stage.hand.specs[-1]
    line = b"2026-05-30T18:40:51.0000000Z kl-triage: head launch 1/2 repeat 2/2 value=0.002\n"
    stage.hand.events.on_log(spec.job_id, line)
    stage.hand.events.on_finished(spec.job_id, JobResult("cancelled"))
    collected = fleet.collect(ticket)
    assert [(r.arm, r.repeat, r.value) for r in collected.readings if r.status == "ok"] == [
        ("head", 2, 0.002)
    ]
    assert (
        "label 'kl-cpu' was cancelled and left no artifact; values are those of its log" in collected.missing
    )


def test_an_artifact_comes_from_the_blob_store(stage, repo, fleet, small_inputs):
    ticket = fleet.dispatch(plan())
    spec = stage.hand.specs[-1]
    stage.hand.events.on_artifact(spec.job_id, "kl-readings-kl-abc-r0", b"PK zip")
    actions = Actions(repo)
    assert actions.artifact(int(ticket.handle), "kl-readings-kl-abc-r0") == b"PK zip"
    assert actions.artifact(int(ticket.handle), "other") is None


def refuse_cancel(stage, status):
    """Asks for a forced end are counted and go through."""
    forced = []

    def before():
        if request.path.endswith("/force-cancel"):
            forced.append(request.path)
        elif request.path.endswith("/cancel"):
            answer = jsonify(message="No")
            answer.status_code = status
            return answer
        return None

    stage.server.world.before.append(before)
    return forced


@pytest.mark.parametrize("status", [409, 500])
def test_a_run_whose_cancel_github_does_not_take_is_forced_to_end(stage, fleet, small_inputs, status):
    ticket = fleet.dispatch(plan())
    forced = refuse_cancel(stage, status)
    fleet.cancel(ticket)
    assert len(forced) == 1 and stage.hand.cancelled == [stage.hand.specs[-1].job_id]


@pytest.mark.parametrize("status", [403, 429])
def test_a_cancel_that_is_refused_is_no_cancel(stage, fleet, small_inputs, status):
    ticket = fleet.dispatch(plan())
    forced = refuse_cancel(stage, status)
    with pytest.raises(GithubException):
        fleet.cancel(ticket)
    assert forced == [] and stage.hand.cancelled == []


def test_a_run_can_be_cancelled(stage, fleet, small_inputs):
    ticket = fleet.dispatch(plan())
    fleet.cancel(ticket)
    assert stage.hand.cancelled == [stage.hand.specs[-1].job_id]
