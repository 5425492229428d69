"""Hazards 15 to 17: what is a command and who may give one, asked of one bot and pull request."""

from __future__ import annotations

import pytest

from tests.lab.asserts import assert_ended, assert_once
from tests.lab.faults import refuse
from tests.lab.runner import Answer

NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def commands(bench) -> int:
    """How many workflows of commands there were."""
    return sum(found.name == "command" for found in bench.bot.workflows())


@pytest.mark.parametrize(
    "body",
    [
        "> /rerun-kl",
        "```\n/rerun-kl\n```",
        "~~~\n/rerun-kl",
        "    /rerun-kl",
        "`/rerun-kl`",
        "<!--\n/rerun-kl\n-->",
        "text /rerun-kl",
        "/rerun-kl-foo",
        "/usr/bin/rerun-kl",
        "a/rerun-kl",
    ],
)
def test_hazard_15_what_only_looks_like_a_command_queues_nothing(shared, body):
    bench, number = shared
    before = commands(bench)
    bench.say(number, body)
    assert bench.world.hooks.settle(5)
    assert commands(bench) == before


@pytest.mark.parametrize("body", ["hello\r\n/rerun-kl help  \r\n", "/rerun-kl\u00a0help\u00a0"])
def test_hazard_15_line_ends_and_blanks_of_any_kind_are_tolerated(shared, body):
    bench, number = shared
    before = commands(bench)
    bench.say(number, body)
    bench.wait()
    assert commands(bench) == before + 1


def test_hazard_16_an_edit_runs_only_what_it_adds(shared):
    bench, number = shared
    comment = bench.say(number, "/rerun-kl help")
    bench.wait()
    before = commands(bench)
    bench.people.edit(comment, "Please:\n\n/rerun-kl help")
    bench.wait()
    assert commands(bench) == before
    bench.people.edit(comment, "Please:\n\n/rerun-kl help\n/rerun-kl status")
    bench.wait()
    assert commands(bench) == before + 1
    bench.people.ask("DELETE", f"issues/comments/{comment}", "dev-a")
    bench.wait()
    assert commands(bench) == before + 1
    over(bench)


@pytest.mark.parametrize("status", [403, 404])
def test_hazard_17_a_permission_that_cannot_be_read_is_none(shared, status):
    bench, number = shared
    hooks = len(bench.world.before)
    refuse(bench.world, "GET", r"/collaborators/.*/permission$", status)
    said = bench.say(number, "/rerun-kl stop")
    bench.wait()
    del bench.world.before[hooks:]
    assert [reaction.content for reaction in bench.world.state.comments[said].reactions] == ["-1"]
    assert any("write permission here" in body for body in bench.comments(number))


@pytest.fixture(scope="module")
def shared(module_lab):
    """One lab and pull request for all that starts no investigation."""
    bench = module_lab(NOTHING)
    return bench, bench.open_pull()
