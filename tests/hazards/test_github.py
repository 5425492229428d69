"""Hazards 29 to 32: limits, clocks, lists that lag, tokens that end."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import DateTime

from bot.store import Delivery, Investigation
from bot.store.tables import Decision, Rerun
from tests.hazards.test_webhooks import send
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.faults import hide_new_branch, refuse
from tests.lab.runner import Answer

NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def test_hazard_29_limits_of_all_four_kinds_are_slept_through_and_nothing_is_done_twice(lab):
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}
    later = {"Retry-After": "1"}
    bench = lab(NOTHING, trouble="twice")
    limited = [
        refuse(bench.world, "GET", "/contents/", 403, "API rate limit exceeded", headers=spent, times=2),
        refuse(bench.world, "POST", "/check-runs$", 403, "You have exceeded a limit", headers=later, times=2),
        refuse(bench.world, "POST", "/comments$", 429, "Too many requests", headers=later, times=2),
        refuse(bench.world, "POST", "/dispatches$", 429, "Too many requests", times=1),
    ]
    number = bench.red_pull()
    assert list(map(len, limited)) == [2, 2, 2, 1]
    assert bench.kinds() == ["infra"] and len(bench.comments(number)) == 1
    over(bench)


def test_hazard_29_more_tries_of_a_step_than_retries_are_allowed_while_the_limit_lasts(lab):
    bench = lab(NOTHING)
    told = refuse(bench.world, "GET", "/contents/", 429, "Too many requests", times=20)
    bench.red_pull()
    assert len(told) == 20 and bench.kinds() == ["infra"]
    over(bench)


@pytest.mark.parametrize(
    "stamp", ["2026-12-01T10:33:50", "2026-12-01T10:33:50Z", "2026-12-01T10:33:50+01:00"]
)
def test_hazard_30_times_with_and_without_a_zone_are_read(lab, stamp):
    bench = lab(NOTHING)
    number = bench.open_pull()
    comment = bench.say(number, "hello")
    bench.world.hooks.settle(5)
    told = next(d.payload for d in bench.world.hooks.deliveries() if d.event == "issue_comment")
    told["comment"] |= {"body": "/rerun-kl help", "created_at": stamp, "updated_at": stamp}
    assert send(bench, told, event="issue_comment") == 202
    bench.wait()
    assert any(f"comment={comment}" in body for body in bench.comments(number))


def test_hazard_30_every_time_of_the_bots_tables_has_a_zone(lab):
    bench = lab(NOTHING)
    bench.red_pull()
    for table in (Delivery, Investigation, Rerun, Decision):
        columns = [column.name for column in table.__table__.columns if isinstance(column.type, DateTime)]
        for row in bench.rows(table):
            times = [getattr(row, name) for name in columns if getattr(row, name) is not None]
            assert all(at.tzinfo is not None for at in times), table


def test_hazard_31_a_new_branch_and_its_file_may_not_be_there_to_read_yet(lab):
    bench = lab(trouble="twice")
    branch = hide_new_branch(bench.world, "/git/ref/heads/kl-triage/bump", times=2)
    file = hide_new_branch(bench.world, "/contents/test/", times=2)
    bench.red_pull()
    assert len(branch) == len(file) == 2
    assert bench.kinds() == ["noise"] and len(bench.bumps()) == 1
    over(bench)


def test_hazard_32_a_token_that_ends_in_the_middle_is_renewed(lab):
    bench = lab(trouble="twice")
    ended: list[int] = []

    def revoke(_spec: object) -> None:
        with bench.world.tokens._lock:
            ended.append(len(bench.world.tokens._installations))
            bench.world.tokens._installations.clear()

    bench.runner.on_rerun = revoke
    bench.red_pull()
    assert ended[0] > 0
    assert bench.kinds() == ["noise"] and len(bench.bumps()) == 1
    over(bench)
