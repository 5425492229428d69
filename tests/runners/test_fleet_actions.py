"""The Actions fleet against a GitHub in memory that does what is hazardous about the real one."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict.answer import Refusal
from bot.verdict.reading import Reading
from runners.fleets import DispatchRefused, GitHubActionsFleet, RunState, State, Ticket
from runners.fleets.fleet import with_lost
from runners.fleets.job_log import readings_in_log
from runners.plan import PlannedLaunch, RerunPlan

HEAD = "a" * 40
PLAN = RerunPlan("req-1", "t.py::T.test_x", {"head": HEAD}, (PlannedLaunch("head", 2),))


@dataclass
class GitHubInMemory:
    """`tells_id`: answers a dispatch with the run's id. `appears_after`: looks until a run is listed."""

    tells_id: bool = True
    appears_after: int = 0
    fails: Exception | None = None
    writes_before_failing: bool = True
    runs: list[tuple[str, RunState]] = field(default_factory=list)
    sent: list[Mapping[str, str]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    logs: dict[int, bytes] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    slept: float = 0

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> int | None:
        assert (workflow, ref) == ("kl-rerun.yml", "main")
        self.sent.append(inputs)
        if self.fails is None or self.writes_before_failing:
            number = 100 + len(self.runs)
            self.runs.append(
                (inputs["request_id"], RunState(number, "queued", None, f"https://run/{number}"))
            )
        if self.fails is not None:
            raise self.fails
        return self.runs[-1][1].run_id if self.tells_id else None

    def find_run(self, workflow: str, request_id: str) -> RunState | None:
        if self.appears_after > 0:
            self.appears_after -= 1
            return None
        return next((state for request, state in self.runs if request == request_id), None)

    def run_state(self, run_id: int) -> RunState | None:
        return next((state for _, state in self.runs if state.run_id == run_id), None)

    def artifact(self, run_id: int, name: str) -> bytes | None:
        return self.artifacts.get(name)

    def log(self, run_id: int) -> list[bytes]:
        data = self.logs.get(run_id, b"")
        return [data[at : at + 7] for at in range(0, len(data), 7)]

    def cancel(self, run_id: int) -> None:
        self.cancelled.append(run_id)

    def set_state(self, **changes: str | None) -> None:
        self.runs = [(request, replace(state, **changes)) for request, state in self.runs]

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def fleet(api: GitHubInMemory) -> GitHubActionsFleet:
    return GitHubActionsFleet(api, ref="main", runner="kl-cpu", sleep=api.sleep)


def test_one_dispatch_with_the_plan_as_data():
    api = GitHubInMemory()
    ticket = fleet(api).dispatch(PLAN)
    assert ticket == Ticket(PLAN, "100", "https://run/100")
    (inputs,) = api.sent
    assert (inputs["request_id"], inputs["runner"]) == ("req-1", "kl-cpu")
    assert RerunPlan.from_json(inputs["plan"]) == PLAN


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError("read"), OSError("502")])
def test_a_write_that_happened_before_the_answer_was_lost_is_found_and_not_repeated(error):
    api = GitHubInMemory(fails=error, appears_after=3)
    ticket = fleet(api).dispatch(PLAN)
    assert ticket == Ticket(PLAN, "100", "https://run/100")
    assert len(api.runs) == len(api.sent) == 1


def test_a_write_that_may_not_have_happened_is_not_repeated_either():
    api = GitHubInMemory(fails=OSError("502"), writes_before_failing=False)
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert ticket == Ticket(PLAN, None, None) and len(api.sent) == 1
    assert one.progress(ticket).state is State.QUEUED
    assert one.collect(ticket).missing == "The rerun is not among the workflow runs of the repository."


def test_an_answer_without_an_id_is_followed_by_looking_for_our_own_run():
    api = GitHubInMemory(tells_id=False, appears_after=9)
    api.runs.append(("req-0", RunState(7, "queued", None, None)))
    assert fleet(api).dispatch(PLAN) == Ticket(PLAN, "101", "https://run/101")
    assert api.slept == 40


def test_a_run_that_shows_up_after_the_ticket_is_found_by_its_mark():
    api = GitHubInMemory(tells_id=False, appears_after=20)
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert isinstance(ticket, Ticket) and ticket.handle is None
    api.appears_after = 0
    api.set_state(status="in_progress")
    assert one.progress(ticket).state is State.RUNNING


def test_a_plan_that_is_out_already_is_not_sent_again():
    api = GitHubInMemory()
    first = fleet(api).dispatch(PLAN)
    assert fleet(api).dispatch(PLAN) == first and len(api.sent) == 1


def test_after_a_crash_in_the_dispatch_the_list_is_given_time_before_anything_is_sent():
    api = GitHubInMemory()
    fleet(api).dispatch(PLAN)  # and the process dies before it keeps the ticket
    api.appears_after = 8
    ticket = fleet(api).dispatch(PLAN, maybe_sent=True)
    assert ticket == Ticket(PLAN, "100", "https://run/100") and len(api.sent) == 1


def test_a_clear_no_is_a_refusal():
    api = GitHubInMemory(
        fails=DispatchRefused("kl-rerun.yml is not on the default branch; run kl-triage init."),
        writes_before_failing=False,
    )
    assert fleet(api).dispatch(PLAN) == Refusal(
        "dispatch_refused", "kl-rerun.yml is not on the default branch; run kl-triage init."
    )


def test_a_plan_too_large_for_the_inputs_is_refused_before_it_is_sent():
    api = GitHubInMemory()
    plan = replace(PLAN, python_path=tuple("f" * 400 for _ in range(200)))
    answer = fleet(api).dispatch(plan)
    assert isinstance(answer, Refusal) and answer.code == "plan_too_large" and api.sent == []


def record(repeat: int) -> dict[str, object]:
    where = {"arm": "head", "test": "t.py::T.test_x", "commit": HEAD, "launch": "req-1-1"}
    return {**where, "repeat": repeat, "status": "ok", "value": 0.002}


def artifact(*records: Mapping[str, object]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readings-head.jsonl", "".join(json.dumps(item) + "\n" for item in records))
    return buffer.getvalue()


def test_from_queued_to_readings():
    api = GitHubInMemory()
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert isinstance(ticket, Ticket)
    assert one.progress(ticket).state is State.QUEUED
    api.set_state(status="in_progress")
    assert one.progress(ticket).state is State.RUNNING
    api.set_state(status="completed", conclusion="success")
    progress = one.progress(ticket)
    assert (progress.state, progress.conclusion, progress.planned) == (State.FINISHED, "success", 2)
    api.artifacts["kl-readings-req-1"] = artifact(record(1), record(2))
    collected = one.collect(ticket)
    assert collected.missing is None
    assert [(r.status, r.value) for r in collected.readings] == [("ok", 0.002)] * 2


def test_what_did_not_come_is_lost_and_said():
    api = GitHubInMemory()
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert isinstance(ticket, Ticket)
    api.set_state(status="completed", conclusion="cancelled")
    collected = one.collect(ticket)
    assert collected.missing == (
        "The rerun on a runner with the label 'kl-cpu' was cancelled and left no artifact."
    )
    assert [r.status for r in collected.readings] == ["lost", "lost"]
    api.artifacts["kl-readings-req-1"] = artifact(record(2))
    collected = one.collect(ticket)
    assert collected.missing == "1 of 2 repeats left no record."
    assert sorted(r.status for r in collected.readings) == ["lost", "ok"]
    api.artifacts["kl-readings-req-1"] = artifact({**record(1), "commit": "b" * 40})
    collected = one.collect(ticket)
    assert collected.missing is not None and "not the planned one" in collected.missing
    assert [r.status for r in collected.readings] == ["lost", "lost"]


def test_a_deleted_run_is_lost_and_one_that_has_ended_is_not_cancelled():
    api = GitHubInMemory()
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert isinstance(ticket, Ticket)
    one.cancel(ticket)
    api.set_state(status="completed", conclusion="cancelled")
    one.cancel(ticket)
    assert api.cancelled == [100]
    api.runs.clear()
    assert one.progress(ticket).state is State.LOST
    one.cancel(ticket)  # what GitHub does not show may run all the same
    assert api.cancelled == [100, 100]


LOG = """\ufeff2026-05-30T18:40:50.0000000Z ##[group]Run exec
2026-05-30T18:40:51.0000000Z kl-triage: head launch 1/1 repeat 1/2 value=0.0021345 bound=0.003
2026-05-30T18:40:52.0000000Z kl-triage: head launch 1/1 repeat 2/2 error: RuntimeError: CUDA out of memory
2026-05-30T18:40:52.0000000Z kl-triage: head launch 1/1 repeat 9/2 value=9 bound=0.003
2026-05-30T18:40:52.0000000Z kl-triage: base launch 1/1 repeat 1/2 value=9 bound=0.003
2026-05-30T18:40:53.0000000Z kl-triage: head launch 1/1 repeat 2/2 val"""


@pytest.mark.parametrize(
    ("conclusion", "how"),
    [("cancelled", "was cancelled"), ("failure", "failed"), ("timed_out", "ran into its time limit")],
)
def test_without_an_artifact_the_log_still_says_what_was_measured(conclusion, how):
    api = GitHubInMemory()
    one = fleet(api)
    ticket = one.dispatch(PLAN)
    assert isinstance(ticket, Ticket)
    api.set_state(status="completed", conclusion=conclusion)
    api.logs[100] = LOG.encode()
    collected = one.collect(ticket)
    assert [(r.status, r.value, r.repeat, r.threshold) for r in collected.readings] == [
        ("ok", 0.0021345, 1, None),
        ("lost", None, 2, None),
    ]
    assert collected.missing == (
        f"The rerun on a runner with the label 'kl-cpu' {how} and left no artifact; values are those of its "
        "log, rounded and without prompts."
    )


def test_a_reason_that_speaks_of_a_value_is_no_value():
    line = b"kl-triage: head launch 1/1 repeat 1/2 check=hit error: ValueError: bad value=5\n"
    assert readings_in_log([line], PLAN) == ()


def test_a_log_made_to_hurt_gives_each_planned_check_once():
    line = b"kl-triage: head launch 1/1 repeat 1/2 check=%d value=nan\n"
    twice = [line % 1, line % 1, *(line % number for number in range(1000))]
    endless = [b"x" * 1_000_000] * 3
    found = readings_in_log(
        [*twice, *endless, b"\n", b"kl-triage: head launch 1/1 repeat 2/2 value=1e-3\n"], PLAN
    )
    assert len(found) == 64 + 1 and found[-1].value == 0.001
    assert len({(r.repeat, r.label) for r in found}) == len(found)


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_no_bytes_break_the_reading_of_a_log(pieces):
    assert all(r.status == "ok" and r.launch == "req-1-1" for r in readings_in_log(pieces, PLAN))


def test_a_launch_measured_again_counts_as_that_launch():
    again = Reading.from_record({**record(1), "launch": "req-1-1-2"})
    every = with_lost(PLAN, [Reading.from_record(record(2)), again], "gone")
    assert [(r.launch, r.repeat, r.status) for r in every] == [("req-1-1", 2, "ok"), ("req-1-1-2", 1, "ok")]
    stranger = Reading.from_record({**record(1), "launch": "req-1-7"})
    assert [r.status for r in with_lost(PLAN, [stranger], "gone")] == ["ok", "lost", "lost"]
