"""What a policy may hold."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict import Policy
from bot.verdict.limits import FIELDS, policy_from, problems, range_of


def test_the_judges_own_constants_are_in_range():
    assert problems(asdict(Policy())) == []
    assert policy_from(asdict(Policy())) == Policy()


def test_what_is_left_out_keeps_its_default():
    assert policy_from({}) == Policy()
    assert policy_from({"known_bad": [0.004, 1], "max_batches": 2, "launch_minutes": 8}) == Policy(
        known_bad=(0.004, 1.0), max_batches=2, launch_minutes=8.0
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("launch_minutes", 0, "must be over 0 and under 100000, not 0"),
        ("launch_minutes", -3.5, "must be over 0 and under 100000, not -3.5"),
        ("budget_minutes", float("inf"), "must be finite"),
        ("repeat_minutes", float("nan"), "must be finite"),
        ("usable_share", 1.5, "must be from 0 to 1, not 1.5"),
        ("target_exceedance", -0.1, "must be from 0 to 1, not -0.1"),
        ("alpha_worse", 0, "must be over 0 and under 1, not 0"),
        ("alpha_step_doubt", 1, "must be over 0 and under 1, not 1"),
        ("upper_confidence", 1.0, "must be over 0 and under 1, not 1"),
        ("max_batches", 0, "must be from 1 to 100, not 0"),
        ("first_launches", 1_000_000, "must be from 1 to 100, not 1e+06"),
        ("max_batches", 2.0, "must be a whole number"),
        ("fault_reference_runs", 0, "must be from 1 to 10000, not 0"),
        ("max_factor", 0.5, "must be from 1 to 1000, not 0.5"),
        ("host_sd", 0, "must be over 0 and under 10, not 0"),
        ("exact_gate", -1e-9, "must be from 0 to 1e+12, not -1e-09"),
        ("smallest_shift", True, "must be a number"),
        ("smallest_shift", "1.2", "must be a number"),
        ("smallest_shift", None, "must be a number"),
        ("known_bad", 0.01, "must be a list of numbers"),
        ("known_bad", "0.01", "must be a list of numbers"),
        ("look_shares", [], "must be shares that together are over 0 and at most 1"),
        ("look_shares", [0.6, 0.6], "must be shares that together are over 0 and at most 1"),
        ("max_batchez", 3, "is no field of a policy; did you mean max_batches?"),
        ("first_batch", 3, "is no field of a policy"),
    ],
)
def test_one_problem(field, value, sentence):
    (problem,) = problems({field: value})
    assert problem[0] == (field,) and problem[1].startswith(sentence)


def test_all_problems_come_at_once_and_an_item_has_its_place():
    assert problems({"max_factor": 0, "known_bad": [0.1, "x", -1], "margin": 1.01}) == [
        (("max_factor",), "must be from 1 to 1000, not 0"),
        (("known_bad", 1), "must be a number"),
        (("known_bad", 2), "must be from 0 to 1e+12, not -1"),
    ]


VALUES = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.lists(st.floats(), max_size=3),
)


@given(st.dictionaries(st.sampled_from([*sorted(FIELDS), "x"]), VALUES, max_size=5))
def test_a_mapping_has_problems_or_makes_a_policy_in_range(mapping):
    if not problems(mapping):
        policy = policy_from(mapping)
        assert {name: getattr(policy, name) for name in mapping} == {
            name: tuple(value) if isinstance(value, list) else value for name, value in mapping.items()
        }
        assert problems(asdict(policy)) == []


def test_every_field_has_a_range_around_its_default():
    for name, value in asdict(Policy()).items():
        for item in value if isinstance(value, tuple) else [value]:
            assert range_of(name).problem(item) == "", name
