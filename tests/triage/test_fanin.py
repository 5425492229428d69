"""Who is measured, who waits, who is answered: values in, decision out."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.triage.red.fanin import MAX_WAITING, Fate, Known, Opened, Past, Sight, decide, fits, speaking
from bot.verdict import VerdictKind

NOW = datetime(2026, 6, 9, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
SIGHT = Sight(
    pull=5,
    head_sha="5" * 40,
    test="t.py::T.test_a",
    label=None,
    values=(0.0032, 0.0034),
    bound=0.003,
    runner="h100",
    labels=frozenset({"self-hosted", "h100"}),
    base_ref="main",
)
NOISE = Past("kl-1", 4, "4" * 40, VerdictKind.NOISE, NOW - timedelta(days=1))
KNOWN = Known(NOISE, "t.py::T.test_a", None, 0.003, "h100", "main", 0.004)
OPEN = Opened("kl-2", 4, "4" * 40)
OWN = replace(KNOWN, past=Past("kl-5", 5, SIGHT.head_sha, VerdictKind.NOISE, NOW))
OTHERS = replace(OWN, past=replace(OWN.past, pull=4))
WORSE = replace(OWN, past=replace(OWN.past, kind=VerdictKind.REGRESSION))
MINE = replace(OPEN, pull=5, head_sha="5" * 40)


@pytest.mark.parametrize(
    ("sight", "opened", "known", "judged", "waiting", "fate", "which"),
    [
        ({}, None, None, None, 0, Fate.MEASURE, None),
        ({}, OPEN, None, None, 0, Fate.WAIT, "kl-2"),
        ({}, OPEN, KNOWN, None, MAX_WAITING - 1, Fate.WAIT, "kl-2"),
        ({}, OPEN, None, None, MAX_WAITING, Fate.LEAVE, "crowded"),
        ({}, MINE, None, None, 0, Fate.JOIN, "kl-2"),
        ({"commanded": True}, MINE, None, None, 0, Fate.JOIN, "kl-2"),
        ({}, replace(MINE, settled=True), None, None, 0, Fate.WAIT, "kl-2"),
        ({}, replace(OPEN, pull=5), None, None, 0, Fate.WAIT, "kl-2"),
        ({}, None, KNOWN, None, 0, Fate.ANSWER, "kl-1"),
        ({"values": (0.0041,)}, None, KNOWN, None, 0, Fate.MEASURE, None),
        ({}, None, KNOWN, OWN, 0, Fate.LEAVE, "already_investigated"),
        ({}, None, KNOWN, OTHERS, 0, Fate.ANSWER, "kl-1"),
        ({}, None, None, OTHERS, 0, Fate.LEAVE, "already_investigated"),
        ({"values": (0.0041,)}, None, None, WORSE, 0, Fate.LEAVE, "already_investigated"),
        ({"base_ref": "release"}, None, None, WORSE, 0, Fate.MEASURE, None),
        ({"fork": True}, None, KNOWN, None, 0, Fate.ANSWER, "kl-1"),
        ({"fork": True}, OPEN, None, None, 0, Fate.WAIT, "kl-2"),
        ({"fork": True}, None, None, None, 0, Fate.LEAVE, "fork"),
        ({"fork": True, "commanded": True}, None, None, None, 0, Fate.MEASURE, None),
        ({"commanded": True}, None, KNOWN, OWN, 0, Fate.MEASURE, None),
        ({"commanded": True}, OPEN, KNOWN, None, 0, Fate.WAIT, "kl-2"),
        ({"commanded": True}, replace(OPEN, pull=5), None, None, 0, Fate.LEAVE, "already_investigated"),
        ({"moved": True}, None, KNOWN, None, 0, Fate.ANSWER, "kl-1"),
        ({"moved": True}, None, None, None, 0, Fate.LEAVE, "head_moved"),
        ({"moved": True, "commanded": True}, None, None, None, 0, Fate.LEAVE, "head_moved"),
    ],
)
def test_what_becomes_of_a_red_pull_request(sight, opened, known, judged, waiting, fate, which):
    found = decide(replace(SIGHT, **sight), opened, known, judged, waiting)
    told = found.why.code if found.why else found.investigation
    assert (found.fate, told) == (fate, which)


@pytest.mark.parametrize(
    ("sight", "judged", "fate"),
    [
        ({}, OWN, Fate.LEAVE),
        ({"values": (0.0041,)}, OWN, Fate.MEASURE),
        ({"values": (0.0032, math.nan)}, OWN, Fate.MEASURE),
        ({"test": "t.py::T.test_b"}, OTHERS, Fate.MEASURE),
        ({"labels": frozenset({"mi300"})}, OWN, Fate.MEASURE),
        ({"values": (0.0041,), "fork": True}, OWN, Fate.LEAVE),
        ({"values": (0.0041,), "moved": True}, OWN, Fate.LEAVE),
    ],
)
def test_noise_does_not_outlive_a_later_job_of_its_commit_that_shows_more(sight, judged, fate):
    found = decide(replace(SIGHT, **sight), None, replace(KNOWN, ceiling=9.0), judged, 0)
    assert (found.fate, found.outrun) == (fate, "kl-5" if sight else None)


def test_a_verdict_fits_what_is_the_same_check_under_the_same_bound_on_the_same_machines():
    assert fits(SIGHT, KNOWN)
    assert fits(replace(SIGHT, values=(0.004,)), KNOWN)


@pytest.mark.parametrize(
    "changed",
    [
        {"test": "t.py::T.test_b"},
        {"label": "prefill"},
        {"runner": "b200"},
        {"labels": frozenset()},
        {"labels": frozenset({"self-hosted", "b200"})},
        {"base_ref": "release"},
        {"bound": 0.002},
        {"bound": None},
        {"values": ()},
        {"values": (0.0032, 0.00401)},
        {"values": (math.nan,)},
        {"values": (-math.inf,)},
        {"values": (0.0032, math.inf)},
        {"also_red": True},
        {"unfit": True},
    ],
)
def test_a_verdict_fits_nothing_else(changed):
    assert not fits(replace(SIGHT, **changed), KNOWN)


def test_a_verdict_without_values_of_its_own_answers_nobody():
    assert not fits(SIGHT, replace(KNOWN, ceiling=None))
    assert not fits(replace(SIGHT, bound=None), replace(KNOWN, bound=None))


def past(kind: VerdictKind | None, days: float = 1, pull: int = 4, chosen: bool = False) -> Past:
    return Past(f"kl-{kind}", pull, "4" * 40, kind, NOW - timedelta(days=days), chosen)


K = VerdictKind


@pytest.mark.parametrize(
    ("ended", "answers"),
    [
        ([], None),
        ([past(K.NOISE)], K.NOISE),
        ([past(K.OLD_REGRESSION)], K.OLD_REGRESSION),
        ([past(K.NOISE, days=7)], K.NOISE),
        ([past(K.NOISE, days=7.1)], None),
        # What is one pull request's own fault, or no answer, says nothing of the others.
        ([past(K.REGRESSION), past(K.NOISE, 2)], K.NOISE),
        ([past(None), past(K.REFUSED), past(K.INFRA), past(K.INCONCLUSIVE), past(K.NOISE, 2)], K.NOISE),
        # A newer fault that may be on the base too.
        ([past(K.INTERMITTENT), past(K.NOISE, 2)], None),
        ([past(K.HARDWARE), past(K.NOISE, 2)], None),
        ([past(K.DETERMINISTIC), past(K.NOISE, 2)], None),
        ([past(K.OLD_REGRESSION), past(K.NOISE, 2)], K.OLD_REGRESSION),
        # This very pull request was shown to be worse.
        ([past(K.NOISE), past(K.REGRESSION, 2, pull=5)], None),
        ([past(K.NOISE), past(K.INTERMITTENT, 2, pull=5)], None),
        ([past(K.NOISE), past(K.REGRESSION, 8, pull=5)], K.NOISE),
        # Measured beside a base, or on a machine, that a person chose.
        ([past(K.OLD_REGRESSION, chosen=True), past(K.NOISE, 2)], None),
    ],
)
def test_the_newest_verdict_that_says_something_of_others_may_answer(ended, answers):
    found = speaking(ended, 5, NOW, WEEK)
    assert (found.kind if found else None) == answers
