"""Workflow files as data, and what is refused."""

from __future__ import annotations

import textwrap
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.demo.actions import (
    UnsupportedWorkflow,
    Workflow,
    parse_workflow,
    resolve_inputs,
    typed_inputs,
    validate_inputs,
)
from bot.demo.actions.model import Input, Step, Trigger

RERUN = """
name: KL rerun
run-name: KL rerun ${{ inputs.request_id }}
on:
  workflow_dispatch:
    inputs:
      request_id: {description: who asks, required: true, type: string}
      runner: {type: choice, options: [kl-cpu, 4-gpu-h100], default: kl-cpu}
      loud: {type: boolean}
      count: {type: number, default: 012}
  pull_request:
    branches: [main, 'release/**', '!release/old/*']
permissions: {contents: read}
concurrency: {group: kl}
env: {VERSION: 3.10, DEEP: 1}
defaults: {run: {shell: bash}}
jobs:
  rerun:
    name: KL rerun on ${{ inputs.runner }}
    runs-on: ['self-hosted', '${{ inputs.runner }}']
    timeout-minutes: 90
    env: {YES: yes, TRUE: true}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with: {fetch-depth: 0, persist-credentials: false}
      - id: measure
        run: python -m runners.harness
        env: {PLAN: "${{ inputs.plan }}"}
        working-directory: src
      - name: Keep
        if: always()
        uses: actions/upload-artifact@v4
        continue-on-error: true
        timeout-minutes: 5
"""


def with_step(step: str, job: str = "runs-on: kl-cpu") -> str:
    return f"on: push\njobs:\n  a:\n    {job}\n    steps:\n      - {step}"


def dispatch(inputs: str) -> Workflow:
    return parse_workflow(
        f"on: {{workflow_dispatch: {{inputs: {inputs}}}}}\njobs: {{a: {{runs-on: x, steps: [{{run: a}}]}}}}"
    )


def test_a_whole_file() -> None:
    workflow = parse_workflow(RERUN)
    assert (workflow.name, workflow.run_name) == ("KL rerun", "KL rerun ${{ inputs.request_id }}")
    assert workflow.inputs == {
        "request_id": Input("request_id", required=True),
        "runner": Input("runner", "choice", default="kl-cpu", options=("kl-cpu", "4-gpu-h100")),
        "loud": Input("loud", "boolean"),
        "count": Input("count", "number", default="12"),
    }
    assert set(workflow.triggers) == {"workflow_dispatch", "pull_request"}
    assert workflow.env == {"VERSION": "3.1", "DEEP": "1"}
    job = workflow.job
    assert (job.id, job.name, job.timeout_minutes) == ("rerun", "KL rerun on ${{ inputs.runner }}", 90)
    assert job.runs_on == ("self-hosted", "${{ inputs.runner }}")
    assert job.env == {"YES": "yes", "TRUE": "true"}
    checkout = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683"
    step = partial(Step, shell="bash")  # noqa: S604 (no process here)
    assert job.steps == (
        step(None, uses=checkout, with_={"fetch-depth": "0", "persist-credentials": "false"}),
        step(
            None,
            id="measure",
            run="python -m runners.harness",
            env={"PLAN": "${{ inputs.plan }}"},
            working_directory="src",
        ),
        step(
            "Keep",
            uses="actions/upload-artifact@v4",
            condition="always()",
            continue_on_error=True,
            timeout_minutes=5,
        ),
    )
    assert [found.title for found in job.steps] == [
        f"Run {checkout}",
        "Run python -m runners.harness",
        "Keep",
    ]


@pytest.mark.parametrize(
    ("on", "events"),
    [
        ("push", {"push"}),
        ("[push, pull_request]", {"push", "pull_request"}),
        ("{workflow_dispatch: null}", {"workflow_dispatch"}),
    ],
)
def test_forms_of_on(on: str, events: set[str]) -> None:
    assert set(parse_workflow(with_step("run: a").replace("on: push", f"on: {on}")).triggers) == events


def test_a_trigger_matches_types_and_branches() -> None:
    pulls = parse_workflow(RERUN).triggers["pull_request"]
    assert pulls.matches("opened", "main")
    assert pulls.matches("synchronize", "release/1/2")
    assert not pulls.matches("closed", "main")
    assert not pulls.matches("opened", "topic")
    assert not pulls.matches("opened", "release/old/1")
    assert Trigger("push").matches(None, "anything")
    assert Trigger("push", branches=("feature/*",)).matches(None, "feature/a")
    assert not Trigger("push", branches=("feature/*",)).matches(None, "feature/a/b")
    assert not Trigger("push", branches=("a.c",)).matches(None, "abc")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the workflow must be a mapping"),
        ("on: push", "the workflow has 0 jobs; this runner takes exactly one"),
        (with_step("run: a").replace("on: push", "x: 1"), "the workflow has no on"),
        (with_step("run: a") + "\n  b: {}", "the workflow has 2 jobs"),
        (with_step("run: a") + "\nsecrets: x", "'secrets' of the workflow is not supported"),
        (with_step("run: a", "runs-on: x\n    strategy: {}"), "'strategy' of job 'a' is not supported"),
        (with_step("run: a", "runs-on: {group: gpu}"), "runs-on of job 'a' must be text"),
        (with_step("run: a", "env: {}"), "job 'a' has no runs-on"),
        (with_step("{}"), "step 1 of job 'a' must have either uses or run"),
        (with_step("{run: a, uses: b}"), "step 1 of job 'a' must have either uses or run"),
        (with_step("{run: a, shell: pwsh}"), "shell 'pwsh' of step 1 of job 'a' is not supported"),
        (with_step("{uses: a@b, shell: bash}"), "shell and working-directory belong to run"),
        (with_step("{run: a, if: \"${{ hashFiles('x') }}\"}"), "function 'hashFiles' is not supported"),
        (with_step("{run: 'echo ${{ matrix.x }}'}"), "context 'matrix' is not supported"),
        (with_step("{run: 'echo ${{ always() }}'}"), "status functions belong in an if"),
        (with_step("{run: a, timeout-minutes: 0}"), "must be more than 0"),
        (with_step("{run: a, continue-on-error: '${{ true }}'}"), "must be true or false"),
        (with_step("{run: a, id: x}\n      - {run: b, id: x}"), "two steps of job 'a' have the same id"),
        (with_step("run: a").replace("on: push", "on: schedule"), "event 'schedule' is not supported"),
        (with_step("run: a").replace("on: push", "on: {push: {paths: [a]}}"), "'paths' of push of on"),
        (with_step("run: a").replace("on: push", "on: {push: {branches: ['a?']}}"), "branch pattern 'a?'"),
        (with_step("run: &x a\n      - run: *x"), "line 7, column 14: aliases are not supported"),
        (with_step("run: !!str a"), "line 6, column 14: tags are not supported"),
        (with_step("run: a") + "\non: push", "line 7, column 1: the key 'on' stands twice"),
        ("a: [", "line 1, column 5"),
        ("[" * 5000, "nested too deeply"),
        ("x: " + "a" * 600_000, "the file is larger than"),
    ],
)
def test_what_is_not_supported_is_refused_with_a_sentence(text: str, problem: str) -> None:
    with pytest.raises(UnsupportedWorkflow) as caught:
        parse_workflow(text)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ("{a: {type: environment}}", "type 'environment' of a of inputs"),
        ("{a: {type: choice}}", "options belong to a choice"),
        ("{a: {options: [b]}}", "options belong to a choice"),
        ("{a: {type: choice, options: [b], default: c}}", "not in the list of allowed values"),
        ("{a: {type: number, default: many}}", "is not a number"),
        ("{" + ", ".join(f"i{n}: {{}}" for n in range(26)) + "}", "has 26 inputs; at most 25"),
    ],
)
def test_inputs_that_are_refused_when_declared(inputs: str, problem: str) -> None:
    with pytest.raises(UnsupportedWorkflow, match=problem):
        dispatch(inputs)


GIVEN_OK = {"request_id": "r1"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (GIVEN_OK, None),
        ({**GIVEN_OK, "loud": True, "count": 3, "runner": "4-gpu-h100"}, None),
        ({**GIVEN_OK, "loud": "false", "count": "-3.5e1"}, None),
        ({}, "Required input 'request_id' not provided"),
        ({"request_id": ""}, "Required input 'request_id' not provided"),
        ({**GIVEN_OK, "x": "1"}, 'Unexpected inputs provided: ["x"]'),
        (
            {**GIVEN_OK, "runner": "root"},
            "Provided value 'root' for input 'runner' not in the list of allowed values",
        ),
        ({**GIVEN_OK, "loud": "maybe"}, "Provided value 'maybe' for input 'loud' is not a boolean"),
        ({**GIVEN_OK, "count": "many"}, "Provided value 'many' for input 'count' is not a number"),
        ({"request_id": ["r1"]}, "Provided value for input 'request_id' must be a string"),
        ({"request_id": "x" * 65_536}, "Inputs are longer than 65535 characters"),
        ({f"i{n}": "" for n in range(26)}, "At most 25 inputs may be provided, got 26"),
    ],
)
def test_inputs_of_a_dispatch(given: dict[str, object], problem: str | None) -> None:
    assert validate_inputs(parse_workflow(RERUN), given) == problem


def test_a_workflow_without_the_trigger_takes_no_dispatch() -> None:
    workflow = parse_workflow(with_step("run: a"))
    assert validate_inputs(workflow, {}) == "Workflow does not have 'workflow_dispatch' trigger"


def test_resolved_and_typed_inputs() -> None:
    workflow = parse_workflow(RERUN)
    texts = resolve_inputs(workflow, {"request_id": "r1", "loud": True})
    assert texts == {"request_id": "r1", "runner": "kl-cpu", "loud": "true", "count": "12"}
    assert typed_inputs(workflow, texts) == {
        "request_id": "r1",
        "runner": "kl-cpu",
        "loud": True,
        "count": 12.0,
    }


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="on:{}[],&*!|>-#'\"\\\n \tabc${}~?%@`0.", max_size=80))
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    for candidate in (text, with_step("run: a") + "\n" + text, with_step(text), textwrap.indent(text, "  ")):
        try:
            parse_workflow(candidate)
        except UnsupportedWorkflow as error:
            assert str(error)
