"""The fleet of this machine: the harness as its own process, started once a request."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from runners.fleets import LocalFleet, State, Ticket


@pytest.fixture
def fleet(project, tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    one = LocalFleet(project.path, tmp_path / "work")
    tickets: list[Ticket] = []
    dispatch = one.dispatch

    def remembered(plan, **options):
        tickets.append(dispatch(plan, **options))
        return tickets[-1]

    one.dispatch = remembered  # type: ignore[method-assign]
    yield one
    for ticket in tickets:
        one.cancel(ticket)
        assert one.wait(ticket, 20)


def test_from_dispatch_to_readings_and_a_second_dispatch_runs_nothing(project, fleet, helpers, tmp_path):
    head = project.commit("def test_hit(self): check(0.004)")
    plan = helpers.plan({"head": head}, "head head", repeats=2)
    ticket = fleet.dispatch(plan)
    assert fleet.wait(ticket, 20)
    progress = fleet.progress(ticket)
    assert (progress.state, progress.done, progress.planned, progress.conclusion) == (
        State.FINISHED,
        4,
        4,
        "success",
    )
    collected = fleet.collect(ticket)
    assert collected.missing is None and [r.value for r in collected.readings] == [0.004] * 4
    again = LocalFleet(project.path, tmp_path / "work")
    assert again.dispatch(plan) == ticket
    assert len(again.collect(ticket).readings) == 4


SLOW = """
calls = 0
def test_hit(self):
    TestKL.calls += 1
    if self.calls == 2: time.sleep(60)
    check(0.002)
"""


def test_a_cancelled_plan_gives_what_it_measured(project, fleet, helpers):
    plan = helpers.plan({"head": project.commit(SLOW)}, repeats=3)
    ticket = fleet.dispatch(plan)
    helpers.until(lambda: fleet.progress(ticket).done == 1)
    assert fleet.progress(ticket).state is State.RUNNING
    fleet.cancel(ticket)
    assert fleet.wait(ticket, 20)
    progress = fleet.progress(ticket)
    assert (progress.state, progress.conclusion) == (State.FINISHED, "cancelled")
    assert [r.status for r in fleet.collect(ticket).readings] == ["ok", "cancelled", "cancelled"]


def test_another_process_of_ours_finds_and_cancels_it(project, fleet, helpers, tmp_path):
    plan = helpers.plan({"head": project.commit(SLOW)}, repeats=3)
    ticket = fleet.dispatch(plan)
    helpers.until(lambda: fleet.progress(ticket).done == 1)
    restarted = LocalFleet(project.path, tmp_path / "work")
    kept = replace(ticket)
    assert restarted.progress(kept).state is State.RUNNING
    restarted.cancel(kept)
    assert fleet.wait(ticket, 20)
    assert restarted.progress(kept).state is State.FINISHED


def test_a_killed_harness_is_lost_and_its_readings_are_kept(project, fleet, helpers):
    plan = helpers.plan({"head": project.commit(SLOW)}, repeats=2, launch_timeout_s=60)
    ticket = fleet.dispatch(plan)
    helpers.until(lambda: fleet.progress(ticket).done == 1)
    folder = fleet._folder(ticket)
    assert str(project.path.parent / "tmp") in helpers.command_lines()
    os.kill(int((folder / "harness.pid").read_text()), signal.SIGKILL)
    assert fleet.wait(ticket, 20)
    assert fleet.progress(ticket).state is State.LOST
    helpers.until(lambda: str(project.path.parent / "tmp") not in helpers.command_lines())
    collected = fleet.collect(ticket)
    assert [r.status for r in collected.readings] == ["ok", "lost"]
    assert collected.missing is not None and "did not come to its end" in collected.missing


def test_a_harness_that_refuses_says_why(fleet, helpers, tmp_path):
    broken = LocalFleet(tmp_path / "nowhere", tmp_path / "other")
    ticket = broken.dispatch(helpers.plan({"head": "a" * 40}))
    assert isinstance(ticket, Ticket) and broken.wait(ticket, 20)
    assert broken.progress(ticket).state is State.LOST
    assert "no such folder" in (broken.collect(ticket).missing or "")
