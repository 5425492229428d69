"""The plan's fields: what is taken, what is refused, and that plan.schema.json says the same."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runners.plan
from runners.plan import KINDS, PlanError, PlannedLaunch, RerunPlan

SCHEMA = jsonschema_rs.validator_for(
    json.loads(Path(runners.plan.__file__).with_name("plan.schema.json").read_text())
)
PLAIN = {
    "version": 1,
    "request": "req-1",
    "test": "test/test_kl.py::TestKL.test_hit",
    "commits": {"head": "a" * 40, "base": "b" * 40},
    "launches": [{"arm": "head", "repeats": 3}, {"arm": "base", "repeats": 3}],
}
SCRIPT = {**PLAIN, "test": "scripts/check.sh"}


def taken(document: dict) -> RerunPlan:
    return RerunPlan.from_json(json.dumps(document))


@pytest.mark.parametrize(
    "document",
    [
        PLAIN,
        {**PLAIN, "test": "a.py::test_f"},
        {**PLAIN, "test": "a.py::test_f[x-1.5::y] z]"},
        {**PLAIN, "test": "a.py::TestKL.test_hit[µ]", "kind": "pytest"},
        {**PLAIN, "kind": "unittest", "compare": "kit.kl:compare", "save_logprobs": True},
        {**PLAIN, "prints": ["kl=(?P<value>.*)"], "max_seconds": 0.5, "launch_timeout_s": 5},
        {**PLAIN, "prepare": [["{python}", "-m", "pip", "install", "-e", "{tree}/python"], ["make", ""]]},
        {**PLAIN, "python_path": [".", "python/src"], "prepare_timeout_s": 60},
        SCRIPT,
        {**SCRIPT, "kind": "script", "arguments": ["--max", ""]},
        {**PLAIN, "test": "check.py", "compare": None},
    ],
)
def test_a_good_plan_is_good_for_the_schema_too_and_survives_its_json(document):
    SCHEMA.validate(document)
    plan = taken(document)
    SCHEMA.validate(json.loads(plan.to_json()))
    assert RerunPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"request": "a b"}, "request: "),
        ({"test": "a.txt"}, "test: must be path"),
        ({"test": "../a.py"}, "test: must be path"),
        ({"test": "/a.py::test_f"}, "test: must be path"),
        ({"test": "a.sh::test_f"}, "test: must be path"),
        ({"test": "a.py::test_f["}, "test: must end in"),
        ({"test": "a.py::A.b.c"}, "test: must end in"),
        ({"test": f"a.py::test_f[{'x' * 201}]"}, "test: must end in"),
        ({"test": "a.py::test_f[a\nb]"}, "test: must end in"),
        ({"kind": "nose"}, "kind: must be one of auto, unittest, pytest, script"),
        ({"kind": "script"}, "test: a script is a path alone"),
        ({"test": "a.py", "kind": "pytest"}, "test: a pytest test needs ::"),
        ({"test": "a.py::test_f", "kind": "unittest"}, "test: a unittest test must end in"),
        ({"test": "a.py", "compare": "kit:compare"}, "compare: a script has none"),
        ({"prints": "x"}, "prints: must be a list"),
        ({"prints": ["no group here"]}, "prints: groups are one or more of"),
        ({"prints": ["(?P<value>" + "x" * 1000 + ")"]}, "prints: at most 1000 characters"),
        ({"prints": ["(?P<value>.*)"] * 51}, "prints: at most 50"),
        ({"prepare": ["make all"]}, "prepare: words of one line"),
        ({"prepare": [[]]}, "prepare: words of one line"),
        ({"prepare": [[""]]}, "prepare: words of one line"),
        ({"prepare": [["make", "a\nb"]]}, "prepare: words of one line"),
        ({"prepare": [["make"]] * 17}, "prepare: at most 16"),
        ({"prepare_timeout_s": 0}, "prepare_timeout_s: more than 0"),
        ({"arguments": ["--x"]}, "arguments: only a script takes them"),
        ({"max_seconds": 0}, "max_seconds: more than 0"),
        ({"max_seconds": True}, "max_seconds: more than 0"),
        ({"save_logprobs": True}, "save_logprobs: needs a compare function"),
        ({"save_logprobs": 1}, "save_logprobs: must be true or false"),
        ({"launches": [{"arm": "head", "repeats": 1}] * 65}, "launches: 1 to 64"),
    ],
)
def test_a_bad_plan_is_bad_for_the_schema_too(change, problem):
    document = {**PLAIN, **change}
    with pytest.raises(PlanError, match="^" + problem.replace("(", r"\(")):
        taken(document)
    assert not SCHEMA.is_valid(document)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"test": "a/../../b.py::test_f"}, "test: must be path"),
        ({"test": "a.py::test_f[\u2028]"}, "test: must end in"),
        ({"prints": ["(?P<value>"]}, "prints: '"),
        ({"prints": ["(?P<value>.)(?P<other>.)"]}, "prints: groups"),
        ({"commits": {"base": "b" * 40}}, "launches: arm 'head' has no commit"),
        ({"test": "a.py", "launches": [{"arm": "head", "repeats": 200}] * 3}, "launches: at most 400 runs"),
    ],
)
def test_what_a_schema_cannot_say_is_refused_by_the_plan(change, problem):
    with pytest.raises(PlanError, match="^" + problem.replace("(", r"\(")):
        taken({**PLAIN, **change})


def test_each_run_of_a_script_is_a_launch():
    plan = taken(SCRIPT)
    assert plan.launches == (PlannedLaunch("head", 1),) * 3 + (PlannedLaunch("base", 1),) * 3
    assert (plan.is_script, plan.planned, plan.path, plan.name) == (True, 6, "scripts/check.sh", "")


def test_a_plan_that_asks_for_nothing_new_is_written_as_before():
    assert set(json.loads(taken(PLAIN).to_json())) == set(PLAIN)


def test_the_place_of_a_launch():
    plan = taken(PLAIN)
    assert [plan.launch_id(2), plan.launch_id(2, 3)] == ["req-1-2", "req-1-2-3"]
    assert plan.place_of("req-1-2") == (2, 1)
    assert plan.place_of("req-1-2-3") == (2, 3)
    for other in (
        None,
        "",
        "req-1-3",
        "req-1-0",
        "req-1-02",
        "req-2-1",
        "req-1-1-1",
        "req-1-1-x",
        "req-1-1-2-3",
    ):
        assert plan.place_of(other) is None, other


@given(st.text(max_size=30), st.sampled_from(KINDS))
def test_any_test_name_is_taken_or_refused_in_a_sentence(text, kind):
    try:
        plan = taken({**PLAIN, "test": f"a.py::{text}", "kind": kind})
    except PlanError:
        return
    assert plan.name == text and text.isprintable()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=6))
def test_any_value_of_a_field_is_taken_or_refused_in_a_sentence(value):
    for name in ("test", "kind", "prints", "prepare", "arguments", "max_seconds", "launches", "commits"):
        with contextlib.suppress(PlanError):
            taken({**PLAIN, name: value})
