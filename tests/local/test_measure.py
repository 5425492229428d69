"""What the harness says, counted: every line it can write is understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.local.clone import LocalError
from bot.local.measure import Counter, finished_before, measure, plan_in, stopped
from bot.verdict import Arm, Reading, Status
from runners.plan import PlannedLaunch, RerunPlan
from runners.progress import progress_line

PLAN = RerunPlan(
    "r-1",
    "t.py::T.test_x",
    {"head": "a" * 40, "base": "b" * 40},
    (PlannedLaunch("head", 2), PlannedLaunch("base", 3)),
)


def reading(number: int = 1, repeat: int = 1, **fields) -> Reading:
    planned = PLAN.launches[number - 1]
    given = {"status": Status.OK, "value": 0.002, **fields}
    return Reading(
        arm=Arm(planned.arm), test=PLAN.test, launch=PLAN.launch_id(number), repeat=repeat, **given
    )


@given(
    st.none() | st.text(max_size=40),
    st.one_of(
        st.builds(lambda v, b: {"value": v, "threshold": b}, st.floats(), st.none() | st.floats(1e-9, 1.0)),
        st.builds(lambda e: {"status": Status.ERROR, "value": None, "error": e}, st.text(max_size=80)),
    ),
)
def test_every_line_of_progress_is_understood(label, fields):
    step = Counter(PLAN, set()).step(progress_line(PLAN, 2, reading(2, 3, label=label, **fields)))
    assert step is not None
    assert (step.arm, step.launch, step.launches, step.done, step.planned) == ("base", 2, 2, 1, 5)
    assert (step.value is None) == (fields["value"] is None)


def test_a_repeat_counts_once_and_one_that_was_cancelled_does_not():
    counter = Counter(PLAN, {(1, 1)})
    lines = [
        progress_line(PLAN, 1, reading(1, 2, label=label, threshold=0.003)) for label in ("prefill", "decode")
    ]
    assert [counter.step(line).done for line in lines] == [2, 2]
    cancelled = reading(2, 1, status=Status.CANCELLED, value=None, error="the rerun was cancelled")
    assert counter.step(progress_line(PLAN, 2, cancelled)) is None
    odd = reading(2, 2, label="hit", status=Status.ERROR, value=None, error="got value=5 bound=3")
    step = counter.step(progress_line(PLAN, 2, odd))
    assert step is not None and (step.value, step.bound) == (None, None)
    assert counter.step("Traceback (most recent call last):") is None


def test_a_folder_without_a_plan_or_with_a_broken_one(tmp_path):
    assert plan_in(tmp_path) is None and finished_before(PLAN, tmp_path) == set()
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(LocalError, match="version: must be 1"):
        plan_in(tmp_path)
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    assert plan_in(tmp_path) == PLAN


def test_a_harness_that_broke_off_says_why():
    assert stopped({"complete": False, "stopped": None}) == "" and stopped({}) == ""
    assert (
        stopped({"stopped": "[Errno 28] No space left\n on device"}) == "[Errno 28] No space left on device"
    )


def test_an_interpreter_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(LocalError, match="--python nobody: no such interpreter on this machine"):
        measure(PLAN, tmp_path, tmp_path / "o", python="nobody", resume=False, report=print)
