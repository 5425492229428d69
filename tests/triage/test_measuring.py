"""What bars a bump, whatever the readings say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.store import Bump, Store, open_database
from bot.store.base import utcnow
from bot.triage.barring import bump_refusal
from bot.triage.measuring import plan, verdict_of
from bot.triage.services import Services
from bot.verdict import VerdictKind
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


@pytest.fixture
def svc(tmp_path) -> Services:
    return Services(None, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), None)


def opened(svc: Services, key: str = "kl-1", **facts: object):
    svc.store.open_investigation(investigation(key, facts={**FACTS, **facts}), [])
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
    svc.store.also_red("acme/tinyserve", "t.py::T.kl_threshold", "a" * 40, "t.py::T.test_b")
    svc.store.also_red("acme/tinyserve", "t.py::T.kl_threshold", "a" * 40, "t.py::T.test_a")
    found = svc.store.investigation("kl-1")
    assert found.facts["also_red"] == ["t.py::T.test_b"]
    assert bump_refusal(svc, found).code == "other_red_tests"


@pytest.mark.parametrize(
    ("kind", "barred"),
    [("regression", "asked_again"), ("inconclusive", "asked_again"), ("noise", None), ("infra", None)],
)
def test_asking_again_does_not_turn_another_verdict_into_noise(svc, kind, barred):
    opened(svc, "kl-1")
    svc.store.finish("kl-1", {"kind": kind})
    assert code(svc, "kl-2") == barred


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
