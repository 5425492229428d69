"""Hazards 14 to 19: what people write, and what the bot writes."""

from __future__ import annotations

from bot.demo.github import events
from bot.demo.github.state import Comment, now
from tests.lab.asserts import assert_ended, assert_harmless, assert_once
from tests.lab.faults import lose_answers
from tests.lab.project import RED_LOG
from tests.lab.runner import Answer
from tests.lab.values import Values

NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def commands(bench) -> int:
    """How many workflows of commands there were."""
    return sum(found.name == "command" for found in bench.bot.workflows())


def test_hazard_14_the_bot_obeys_no_bot_and_least_of_all_itself(lab):
    bench = lab(NOTHING)
    number = bench.open_pull()
    with bench.world.lock:
        for who in (bench.world.bot, bench.world.state.user("robot-e", "Bot")):
            at = now()
            found = Comment(bench.world.state.next_id("comment"), number, who, "/rerun-kl", at, at)
            events.issue_comment(bench.world, "created", found, who)
    bench.wait()
    assert commands(bench) == 0 and bench.comments(number) == []


def test_hazard_14_a_title_with_a_command_is_not_said_as_one(lab):
    """The bot's own texts, answers to commands among them, hold no live command."""
    bench = lab(NOTHING, trouble="twice")
    number = bench.open_pull()
    bench.people.ask("PATCH", f"pulls/{number}", "dev-a", title="/rerun-kl", body="/rerun-kl @dev-a")
    bench.red(number)
    bench.say(number, "/rerun-kl help\n/rerun-kl /rerun-kl\n/rerun-kl n=@maintainer-b\n/rerun-kl status")
    bench.wait()
    assert len(bench.comments(number)) == 2
    assert_harmless(bench)
    over(bench)


def test_hazard_17_the_permission_counts_and_not_the_association(lab):
    """A writer shows as CONTRIBUTOR in the payload; a reader may have any association."""
    bench = lab(NOTHING, trouble="twice")
    number = bench.open_pull()
    bench.red(number, log="nothing\n")
    bench.wait()
    _make_red(bench)
    bench.say(number, "/rerun-kl", who="stranger-c")
    bench.wait()
    assert bench.investigations() == []
    assert len(bench.comments(number)) == 1
    said = bench.say(number, "/rerun-kl")
    associations = {
        d.payload["comment"]["author_association"]
        for d in bench.world.hooks.deliveries()
        if d.event == "issue_comment" and d.payload["comment"]["id"] == said
    }
    assert associations == {"CONTRIBUTOR"}
    bench.wait()
    assert len(bench.investigations()) == 1
    over(bench)


def test_hazard_18_a_comment_with_endless_names_stays_under_githubs_limit(lab):
    hosts = ("cpu-local-0", *(f"node-{n}-{'x' * 480}" for n in range(60)))
    bench = lab(Answer(Values(head=1.6, hosts=hosts)), trouble="twice")
    number = bench.red_pull()
    (text,) = bench.sticky(number)
    assert len(text) <= 60_000
    assert bench.investigations()[0].verdict["sentence"][:40] in text[:3_000]
    over(bench)


def test_hazard_19_a_comment_whose_answer_was_lost_is_there_once(lab):
    bench = lab(NOTHING, trouble="twice")
    lost = lose_answers(bench.world, "/comments")
    number = bench.red_pull()
    bench.say(number, "/rerun-kl help")
    bench.wait()
    assert len(lost) >= 3 and len(bench.comments(number)) == 2
    over(bench)


def _make_red(bench) -> None:
    """The red job's log holds a KL value after all."""
    (job,) = [job for job in bench.world.state.jobs.values() if job.conclusion == "failure"]
    job.log[:] = RED_LOG.encode()
