"""The lab's own stories: each trouble, and the same ending."""

from __future__ import annotations

import pytest

from tests.lab.asserts import assert_ended, assert_once
from tests.lab.conftest import KILLS
from tests.lab.project import RED_LOG
from tests.lab.runner import Answer
from tests.lab.values import Values

STEPS = {
    "opening.open_investigations", "telling.announce", "measuring.plan", "measuring.dispatch",
    "measuring.progress", "measuring.collect", "telling.publish_evidence", "proposing.open_pull_request",
    "telling.conclude", "measuring.finish",
}  # fmt: skip


@pytest.mark.parametrize("trouble", [None, "twice", "lost_answers"])
def test_noise_ends_in_one_draft(lab, trouble):
    bench = lab(trouble=trouble)
    number = bench.red_pull()
    assert bench.kinds() == ["noise"], bench.investigations()[0].verdict["sentence"]
    assert_once(bench)
    assert_ended(bench)
    assert len(bench.sticky(number)) == 1
    assert [check.conclusion for check in bench.checks()] == ["success"]
    assert [(pull.draft, pull.state) for pull in bench.bumps()] == [(True, "open")]
    assert KILLS or bool(bench.lost) == (trouble == "lost_answers")  # a killed bot has no other trouble


def test_a_worse_head_ends_in_a_failing_check(lab):
    bench = lab(Answer(Values(head=1.6)))
    bench.red_pull()
    assert bench.kinds() == ["regression"]
    assert [check.conclusion for check in bench.checks()] == ["failure"]
    assert bench.bumps() == []
    assert_once(bench)
    assert_ended(bench)


def test_a_bot_killed_after_each_step_of_the_noise_story_does_everything_once(lab):
    bench = lab(trouble="killed")
    number = bench.red_pull()
    assert set(bench.bot.killed()) >= STEPS
    assert bench.kinds() == ["noise"]
    assert len(bench.sticky(number)) == len(bench.checks()) == len(bench.bumps()) == 1
    assert_once(bench)
    assert_ended(bench)


def test_a_bot_killed_after_each_step_of_a_command_does_everything_once(lab):
    bench = lab(Answer(Values(head=1.6)), trouble="killed")
    number = bench.open_pull()
    bench.red(number, log="no KL value in it\n")
    bench.wait()
    job = next(job for job in bench.world.state.jobs.values() if job.conclusion == "failure")
    job.log[:] = RED_LOG.encode()
    bench.say(number, "/rerun-kl")
    bench.wait()
    assert bench.kinds() == ["regression"]
    assert len(bench.comments(number)) == 2
    assert_once(bench)
    assert_ended(bench)
