"""From a rule pack to the plan of a rerun."""

from __future__ import annotations

import pytest

from bot.store import Store, open_database
from bot.triage.measure.measuring import verdict_of
from bot.triage.measure.plans import plan_of, policy_of
from bot.triage.services import Services
from bot.verdict import ArmPlan, Policy, Refusal
from rules import Pack, load_named
from runners.plan import RerunPlan
from tests.store.test_store import investigation
from tests.triage.test_measuring import FACTS

COMMITS = {"head": "a" * 40, "base": "b" * 40}
BOTH = {"head": ArmPlan(2, 4), "base": ArmPlan(1, 2)}


@pytest.fixture
def pack() -> Pack:
    found = load_named("reference")
    assert isinstance(found, Pack)
    return found


def planned(pack: Pack, test: str = "t/test_a.py::T.test_hit", wanted=BOTH, **more) -> RerunPlan:
    plan = plan_of(pack, request="r-1", test=test, commits=COMMITS, wanted=wanted, **more)
    assert isinstance(plan, RerunPlan), plan
    return plan


def test_what_the_judge_wants_in_balanced_order(pack):
    plan = planned(pack)
    assert [(launch.arm, launch.repeats) for launch in plan.launches] == [
        ("head", 4),
        ("base", 2),
        ("head", 4),
    ]
    assert plan.launch_timeout_s == 300 and plan.kind == "auto"
    assert (plan.compare, plan.python_path) == ("tinyserve.kl_utils:compare_kl_divergence", (".",))


def test_the_packs_own_words_reach_the_plan(pack):
    own = pack.model_copy(update={"prepare": (("{python}", "-m", "build"),), "test_kind": "pytest"})
    plan = planned(own, "t/test_a.py::test_hit[fp8-4]", max_seconds=60.0, save_logprobs=True)
    assert (plan.prepare, plan.kind, plan.max_seconds) == ((("{python}", "-m", "build"),), "pytest", 60.0)
    assert plan.prints[2] == r"avg_kl_div=(?P<value>\S+)\s*$"


def test_only_the_arms_that_are_wanted_are_in_it(pack):
    assert dict(planned(pack, wanted={"base": ArmPlan(1, 1)}).commits) == {"base": "b" * 40}


def test_a_script_has_no_compare_function_and_each_of_its_runs_is_a_launch(pack):
    own = pack.model_copy(update={"test_kind": "unittest"})
    plan = planned(own, "tests/kl.py", {"head": ArmPlan(2, 2), "base": ArmPlan(2, 2)}, arguments=["--x"])
    assert plan.compare is None and plan.kind == "auto" and plan.arguments == ("--x",)
    assert [launch.arm for launch in plan.launches] == ["head", "base", "base", "head"] * 2


@pytest.mark.parametrize("test", ["t/test_a.py::T.test_hit", "t/kl.py"])
def test_what_is_asked_stays_within_what_one_plan_holds(pack, test):
    huge = {"head": ArmPlan(999, 999), "base": ArmPlan(999, 999)}
    assert len(planned(pack, test, huge).launches) in (64, 400)


@pytest.mark.parametrize("pattern", [r"kl=(?P<value>\pN+)", "kl=(?P<value>.*)" + "x" * 1000])
def test_a_print_that_the_harness_cannot_read_is_a_refusal(pack, pattern):
    own = pack.model_copy(update={"prints": (pack.prints[0].model_copy(update={"pattern": pattern}),)})
    answer = plan_of(own, request="r-1", test="t/a.py::T.test_x", commits=COMMITS, wanted=BOTH)
    assert isinstance(answer, Refusal) and answer.code == "bad_plan"
    assert answer.sentence.startswith("This test cannot be measured by the rules of 'reference' (prints: ")


def test_costs_and_gate_are_the_packs(pack):
    policy = policy_of(pack, 7.0)
    assert (policy.launch_minutes, policy.repeat_minutes, policy.budget_minutes) == (0.05, 0.005, 7.0)
    assert policy_of(pack).budget_minutes == Policy().budget_minutes


@pytest.fixture
def svc(tmp_path) -> Services:
    return Services(None, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), None)


RED = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034, "threshold": 0.003}


def judged(svc: Services, config: str):
    found = investigation(facts={**FACTS, "config": config})
    svc.store.open_investigation(found, [{**RED, "test": found.test}])
    return verdict_of(svc, svc.store.investigation(found.id))[0]


def test_an_investigation_that_no_harness_could_measure_is_refused_with_the_reason(svc):
    verdict = judged(svc, "extends: reference\ntest_kind: script\n")
    assert (verdict.kind, verdict.reason, verdict.next) == ("refused", "bad_plan", None)
    assert "cannot be measured by the rules of 'reference' (test: a script is " in verdict.sentence


def test_one_that_can_be_measured_asks_for_runs(svc):
    verdict = judged(svc, "extends: reference\n")
    assert verdict.kind == "inconclusive" and set(verdict.next.arms) == {"head", "base"}
