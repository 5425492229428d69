"""What bars a bump, whatever the readings say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.store import Bump, Store, open_database
from bot.store.base import utcnow
from bot.triage.measuring import _bump_refusal, verdict_of
from bot.triage.services import Services
from bot.verdict import VerdictKind
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
    refusal = _bump_refusal(svc, opened(svc, key, **facts))
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
    assert _bump_refusal(svc, found).code == "other_red_tests"


@pytest.mark.parametrize(
    ("kind", "barred"),
    [("regression", "asked_again"), ("inconclusive", "asked_again"), ("noise", None), ("infra", None)],
)
def test_asking_again_does_not_turn_another_verdict_into_noise(svc, kind, barred):
    opened(svc, "kl-1")
    svc.store.finish("kl-1", {"kind": kind})
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
