"""What bars a bump, whatever the readings say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.store import Bump, Store, open_database
from bot.store.base import utcnow
from bot.triage.measure import halting
from bot.triage.measure.barring import bump_refusal, context
from bot.triage.measure.measuring import plan, settle, verdict_of
from bot.triage.services import Services
from bot.verdict import Refusal, VerdictKind
from runners.plan import RerunPlan
from tests.store.test_store import investigation

CONFIG = 'extends: "reference"\nmode: "propose"\n'
FACTS = {
    "config": CONFIG,
    "site": None,
    "bump_refusal": None,
    "threshold": 0.003,
    "also_red": [],
    "check_name": "kl-triage",
    "server_url": "https://example.invalid",
}
TRIGGER = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034}


@pytest.fixture
def svc(tmp_path) -> Services:
    return Services(None, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), None)


def opened(svc: Services, key: str = "kl-1", head_sha: str = "a" * 40, pull: int = 4, **facts: object):
    row = investigation(key, head_sha=head_sha, pull=pull, facts={**FACTS, **facts})
    svc.store.open_investigation(row, [])
    return svc.store.investigation(key)


def code(svc: Services, key: str = "kl-1", **facts: object) -> str | None:
    refusal = bump_refusal(svc, opened(svc, key, **facts))
    return None if refusal is None else refusal.code


def test_nothing_bars_a_plain_investigation(svc):
    assert code(svc) is None


def test_an_unfit_run_bars_it(svc):
    assert code(svc, bump_refusal={"code": "unfit_run", "sentence": "It changes the test."}) == "unfit_run"


def test_another_red_test_under_the_same_bound_bars_it(svc):
    assert code(svc, also_red=["t.py::T.test_b"]) == "other_red_tests"


def test_a_second_job_with_another_red_test_of_the_site_bars_it(svc):
    opened(svc)
    for _ in range(2):
        assert svc.store.join("kl-1", [], ["t.py::T.test_b"])
    found = svc.store.investigation("kl-1")
    assert found.facts["also_red"] == ["t.py::T.test_b"]
    assert bump_refusal(svc, found).code == "other_red_tests"


def test_what_a_second_job_shows_is_judged_too_and_once(svc):
    opened(svc)
    again = TRIGGER | {"source": "job 8", "value": "nan"}
    elsewhere = {"code": "other_machine", "sentence": "It ran elsewhere."}
    carried_over = again | {"source": "job 9"}
    for shown in (again, again, carried_over):
        assert svc.store.join("kl-1", [shown], [], elsewhere)
    verdict, readings = verdict_of(svc, svc.store.investigation("kl-1"))
    assert (verdict.kind, len(readings)) == (VerdictKind.NON_FINITE, 1)
    assert bump_refusal(svc, svc.store.investigation("kl-1")).code == "other_machine"


def test_a_settled_verdict_stays_what_it_is(svc):
    opened(svc)
    assert settle(svc, "kl-1") == ""
    assert not svc.store.join("kl-1", [TRIGGER | {"source": "job 8", "value": "nan"}], ["t.py::T.test_b"])
    halting.halt(svc, "kl-1", Refusal("stopped", "Somebody said stop."))
    svc.store.remember("kl-1", bump_refusal={"code": "unfit_run", "sentence": "It changes the test."})
    found = svc.store.investigation("kl-1")
    assert context(svc, found, []).bump_refusal is None
    assert halting.halted(found.facts) is None and svc.store.records("kl-1") == []


def test_a_withdrawn_verdict_is_none_and_bars_what_follows(svc):
    opened(svc)
    svc.store.finish("kl-1", {"kind": "noise", "trace": [{"name": "noise", "saw": ""}]})
    svc.store.outrun(
        "kl-1", {"code": "outrun", "sentence": "More was seen.", "job_url": "https://x.invalid/8"}
    )
    found = svc.store.investigation("kl-1")
    assert (found.verdict["kind"], verdict_of(svc, found)[0].reason) == ("refused", "outrun")
    assert code(svc, "kl-2") == "asked_again"


@pytest.mark.parametrize(
    ("kind", "pull", "days", "barred"),
    [
        ("regression", 4, 1, "faulty_before"),
        ("intermittent", 4, 1, "faulty_before"),
        ("noise", 4, 1, None),
        ("inconclusive", 4, 1, None),
        ("regression", 5, 1, None),
        ("regression", 4, 8, None),
    ],
)
def test_a_fault_of_another_commit_of_the_pull_request_bars_it(svc, kind, pull, days, barred):
    found = opened(svc, head_sha="c" * 40, pull=pull)
    svc.store.finish("kl-1", {"kind": kind})
    later = investigation("kl-2", facts=FACTS, created_at=found.created_at + timedelta(days=days))
    svc.store.open_investigation(later, [])
    refusal = bump_refusal(svc, svc.store.investigation("kl-2"))
    assert (refusal.code if refusal else None) == barred


@pytest.mark.parametrize(
    ("kind", "barred"),
    [("regression", "asked_again"), ("inconclusive", "asked_again"), ("noise", None), ("infra", None)],
)
def test_asking_again_does_not_turn_another_verdict_into_noise(svc, kind, barred):
    opened(svc, "kl-1")
    svc.store.finish("kl-1", {"kind": kind})
    assert code(svc, "kl-2") == barred


@pytest.mark.parametrize(("rung", "barred"), [("noise", None), ("refused", "asked_again")])
def test_noise_that_moved_no_bound_may_be_asked_again(svc, rung, barred):
    opened(svc, "kl-1")
    trace = [{"name": rung, "saw": "."}]
    svc.store.finish("kl-1", {"kind": "refused", "reason": "unfit_run", "trace": trace})
    assert code(svc, "kl-2") == barred


def test_a_rerun_that_moves_no_bound_says_what_came_before(svc):
    first = opened(svc, "kl-1")
    svc.store.finish(first.id, {"kind": "inconclusive"})
    assert bump_refusal(svc, opened(svc, "kl-2")).sentence == ("This commit was judged NO VERDICT before.")
    svc.store.remember("kl-2", halt={"code": "stopped", "sentence": "dev-a stopped it."})
    runs = {"head": {"ok": 5, "missing": 0}, "base": {"ok": 3, "missing": 0}}
    svc.store.finish("kl-2", {"kind": "refused", "reason": "stopped", "numbers": {"runs": runs}})
    assert bump_refusal(svc, opened(svc, "kl-3")).sentence == (
        "A measurement of this commit was stopped after 8 runs before."
    )


@pytest.mark.parametrize(("head_runs", "barred"), [(0, None), (3, "asked_again")])
def test_a_measurement_that_was_stopped_counts_as_asked_once_a_run_was_seen(svc, head_runs, barred):
    opened(svc, "kl-1")
    svc.store.remember("kl-1", halt={"code": "stopped", "sentence": "Somebody stopped it."})
    runs = {"head": {"ok": head_runs, "missing": 0}} if head_runs else {}
    svc.store.finish("kl-1", {"kind": "refused", "reason": "stopped", "numbers": {"runs": runs}})
    assert code(svc, "kl-2") == barred


@pytest.mark.parametrize(("days", "barred"), [(10, "cooling"), (100, None)])
def test_a_bump_within_the_cooling_time_bars_the_next(svc, days, barred):
    at = utcnow() - timedelta(days=days)
    svc.store.record_bump(
        Bump(
            repo="acme/tinyserve",
            site_key="t.py::T.kl_threshold",
            investigation="kl-0",
            old=0.003,
            new=0.004,
            pull=2,
            evidence="",
            proposed_at=at,
            expires_at=at + timedelta(days=90),
        )
    )
    assert code(svc) == barred


def test_readings_that_do_not_fit_together_are_a_refusal_not_a_crash(svc):
    opened(svc)
    reading = {"arm": "head", "test": "t.py::T.test_a", "status": "ok", "value": 0.002, "launch": "1"}
    svc.store.add_readings("kl-1", "r0", [reading, reading | {"test": "t.py::T.test_b"}])
    verdict, _ = verdict_of(svc, svc.store.investigation("kl-1"))
    assert (verdict.kind, verdict.reason) == (VerdictKind.REFUSED, "readings_do_not_fit")
    assert verdict.next is None


def test_a_halt_stands_over_whatever_the_readings_say(svc):
    opened(svc, halt={"code": "stopped", "sentence": "Somebody said stop."})
    reading = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034}
    svc.store.add_readings("kl-1", "trigger", [reading])
    verdict, _ = verdict_of(svc, svc.store.investigation("kl-1"))
    assert (verdict.kind, verdict.reason, verdict.next) == (VerdictKind.REFUSED, "stopped", None)


@pytest.mark.parametrize(
    ("asked", "repeats"),
    [({}, None), ({"runs": 12, "launches": 3, "base": None, "runner": None}, [4] * 6)],
)
def test_the_first_round_is_planned_as_asked_and_the_next_as_the_judge_wants(svc, asked, repeats):
    opened(svc, asked=asked)
    reading = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034}
    svc.store.add_readings("kl-1", "trigger", [reading])
    first, second = (
        RerunPlan.from_json(svc.store.rerun(plan(svc, "kl-1", number)).plan["json"]) for number in (0, 1)
    )
    wanted = [launch.repeats for launch in second.launches]
    assert [launch.repeats for launch in first.launches] == (repeats or wanted)
    assert svc.store.rerun("kl-1-r0").plan["minutes"] > 0
