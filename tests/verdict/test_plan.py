"""What is asked for next: within budget, for the arm in question, in the cheapest mix."""

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given, settings

from bot.verdict import Arm, ArmPlan, Evidence, Plan, Policy
from bot.verdict.case import Case
from bot.verdict.plan import More, first_plan, next_plan, runs_needed
from bot.verdict.stats import look_number
from tests.verdict.build import arm, lost, noisy, trigger

MANY = settings(max_examples=100, deadline=None, derandomize=True)


def case(records, **constants) -> Case:
    return Case(Evidence.from_records(records), Policy(**constants))


def reruns(launches=2, repeats=4, sd=0.25) -> list[dict]:
    return [*noisy("head", 0.002, launches, repeats, 1, sd), *noisy("base", 0.002, launches, repeats, 2, sd)]


def past(runs: int) -> list[dict]:
    return noisy("history", 0.002, runs, 1, 3)


def minutes(plan: Plan, policy: Policy) -> float:
    return sum(
        each.launches * (policy.launch_minutes + each.repeats * policy.repeat_minutes)
        for each in plan.arms.values()
    )


def runs(plan: Plan, name: str) -> int:
    return plan.arms[name].launches * plan.arms[name].repeats


@pytest.mark.parametrize(("n", "head", "base"), [(0, 4, 4), (19, 4, 4), (20, 5, 3), (200, 5, 3)])
def test_arms_are_equal_until_past_runs_stand_beside_base(n, head, base):
    plan = first_plan(case([*trigger(0.0035), *past(n)]))
    assert plan.arms == {"head": ArmPlan(2, head), "base": ArmPlan(2, base)}


def test_past_runs_that_agree_move_later_repeats_to_head():
    records = reruns(sd=0.3)
    alone, beside = next_plan(case(records)), next_plan(case([*records, *past(60)]))
    assert runs(beside, "base") < runs(alone, "base")
    assert runs(beside, "head") > runs(beside, "base")


def test_the_first_batch_has_more_repeats_where_launches_are_dear():
    """The root of the cost ratio: 12 times as dear, twice as many (3.46 rounds 4 x 3.46 / 1.73 to 8)."""
    sizes = [Policy(launch_minutes=m).first_batch for m in (0.5, 3.0, 12.0, 3_000.0)]
    assert sizes == [(2, 4), (2, 4), (2, 8), (2, 16)]


def test_cheaper_launches_mean_more_launches_and_fewer_repeats():
    records = reruns(sd=0.4)
    cheap = next_plan(case(records, launch_minutes=0.02)).arms["head"]
    dear = next_plan(case(records, launch_minutes=12.0)).arms["head"]
    assert cheap.launches > dear.launches
    assert cheap.repeats < dear.repeats


@pytest.mark.parametrize("wanted", [2, 8, 24, 96])
@pytest.mark.parametrize("name", [Arm.HEAD, Arm.BASE])
def test_an_arm_in_question_gets_what_it_needs_and_the_other_takes_part(name, wanted):
    other = Arm.BASE if name is Arm.HEAD else Arm.HEAD
    plan = next_plan(case(reruns()), More(name, wanted))
    assert runs(plan, name) >= wanted
    assert 0 < runs(plan, other) <= runs(plan, name)


def test_a_ratio_asks_less_where_values_spread_less():
    quiet, loud = (next_plan(case(reruns(sd=sd))) for sd in (0.1, 0.5))
    assert minutes(quiet, Policy()) < minutes(loud, Policy())


def test_no_question_of_the_ratio_after_its_last_look():
    """Six launches a look: 18 launches are look 3 of 4, 20 are look 4."""
    assert next_plan(case(reruns(9, 2), budget_minutes=1e4)) is not None
    assert next_plan(case(reruns(10, 2), budget_minutes=1e4)) is None


def test_other_questions_until_the_last_batch():
    more = More(Arm.HEAD, 8)
    assert next_plan(case(reruns(12, 2), budget_minutes=1e4), more) is not None
    assert next_plan(case(reruns(13, 2), budget_minutes=1e4), more) is None


def test_nothing_is_asked_that_the_budget_cannot_pay():
    """28 minutes are spent; the least batch to the next look is 2 launches of 4 and one of 2: 19 minutes."""
    assert next_plan(case(reruns(), budget_minutes=28 + 18.9)) is None
    plan = next_plan(case(reruns(), budget_minutes=28 + 19.0))
    assert plan.arms == {"head": ArmPlan(2, 4), "base": ArmPlan(1, 2)}


def test_lost_runs_cost_as_much():
    missing = [lost("head", launch=f"lost-{i}") for i in range(2)]  # 2 launches of one run: 8 minutes
    assert case([*reruns(), *missing]).spent_minutes == 36.0
    assert next_plan(case([*reruns(), *missing], budget_minutes=28 + 19.0)) is None


@pytest.mark.parametrize(("absent", "present"), [("head", "base"), ("base", "head")])
def test_an_arm_without_two_launches_gets_the_first_batch(absent, present):
    records = [*noisy(present, 0.002, 2, 4, 1), *noisy(absent, 0.002, 1, 4, 2)]
    assert next_plan(case(records)).arms == {absent: ArmPlan(2, 4)}
    assert next_plan(case(records, budget_minutes=21 + 13.9)) is None


def test_launches_of_one_run_and_of_many_count_for_what_they_say():
    """Eight runs on even launches settle the ratio no later than 1 + 7, where one launch says little."""
    values = [0.0017, 0.0023, 0.0015, 0.0026, 0.0021, 0.0019, 0.0025, 0.0016]
    even = [*arm("head", [values[:4], values[4:]]), *arm("base", [values[:4], values[4:]])]
    odd = [*arm("head", [values[:1], values[1:]]), *arm("base", [values[:1], values[1:]])]
    assert runs_needed(case(even)) <= runs_needed(case(odd))
    for records in (even, odd):
        plan = next_plan(case(records))
        assert set(plan.arms) == {"head", "base"} and minutes(plan, Policy()) <= 230 - 28


@st.composite
def policies(draw) -> Policy:
    looks = draw(st.integers(1, 5))
    policy = Policy(
        launch_minutes=draw(st.floats(0.05, 30)),
        repeat_minutes=draw(st.floats(0.05, 10)),
        budget_minutes=draw(st.floats(20, 1_000)),
        max_repeats=draw(st.integers(4, 40)),
        look_shares=(1 / looks,) * looks,
        max_batches=draw(st.integers(looks, 7)),
        launches_per_look=draw(st.integers(1, 12)),
        launch_sd=draw(st.sampled_from([0.03, 0.1, 0.3])),
    )
    assume(policy.first_minutes <= policy.budget_minutes)
    return policy


@st.composite
def evidence(draw) -> list[dict]:
    """Launches of unequal length on both arms, past runs, lost runs; an arm may have none."""
    values = st.lists(st.floats(0.001, 0.004), min_size=1, max_size=6)
    arms = [arm(name, draw(st.lists(values, max_size=8))) for name in ("head", "base")]
    missing = [lost("head", launch=f"lost-{i}") for i in range(draw(st.integers(0, 3)))]
    return [*trigger(0.0035), *arms[0], *arms[1], *missing, *past(draw(st.sampled_from([0, 6, 30])))]


questions = st.one_of(st.none(), st.builds(More, st.sampled_from([Arm.HEAD, Arm.BASE]), st.integers(1, 100)))


@given(policies(), evidence(), questions)
@MANY
def test_a_plan_stays_in_budget_and_ends_at_a_later_look(policy, records, more):
    asked = Case(Evidence.from_records(records), policy)
    plan = next_plan(asked, more)
    if plan is None:
        return
    assert minutes(plan, policy) <= policy.budget_minutes - asked.spent_minutes + 1e-9
    assert all(each.launches > 0 and 0 < each.repeats <= policy.max_repeats for each in plan.arms.values())
    if asked.comparable:
        assert set(plan.arms) == {"head", "base"}
        launches = sum(view.launch_count for view in (asked.evidence.head, asked.evidence.base))
        after = launches + sum(each.launches for each in plan.arms.values())
        assert look_number(after, policy.launches_per_look, policy.max_batches) > asked.look
        assert asked.look < (policy.max_looks if more is None else policy.max_batches)
