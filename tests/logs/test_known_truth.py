"""Random jobs whose truth is known: every value, every attempt, every failure, and nothing else."""

from __future__ import annotations

import pytest

from bot.logs import scan
from tests.logs.builders import forms
from tests.logs.jobs import random_job

SEEDS = range(120)


def stamped(lines: list[str]) -> bytes:
    times = (f"2026-05-29T02:{n // 60 % 60:02}:{n % 60:02}.0032952Z " for n in range(len(lines)))
    return ("\ufeff" + "".join(f"{time}{line}\n" for time, line in zip(times, lines, strict=True))).encode()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_is_read_as_it_was(seed):
    job = random_job(seed)
    result = scan([stamped(job.lines)], forms())
    read = [(r.test, r.attempt, repr(r.value), r.threshold, r.label, r.per_prompt) for r in result.readings]
    told = [(m.test, m.attempt, m.value, m.threshold, m.label, m.per_prompt) for m in job.readings]
    assert sorted(read) == sorted(told)
    failures = {
        (f.kind, f.test, None if f.value is None else repr(f.value), f.attempts, f.recovered)
        for f in result.failures
    }
    assert failures == {(f.kind, f.test, f.value, f.attempts, f.recovered) for f in job.failures}
    assert len(result.failures) == len(job.failures)
    assert list(result.censored) == job.censored
    assert result.complete
