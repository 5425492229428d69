"""A bot with a token instead of an App: the same stories, with commit statuses in place of check runs."""

from __future__ import annotations

import pytest

from bot.github import TokenCredentials
from tests.lab.asserts import assert_once, doubled
from tests.lab.runner import Answer
from tests.lab.values import Values

BOT = "kl-machine"
PEOPLE = {"dev-a": "write", "maintainer-b": "admin", "stranger-c": "read", BOT: "write"}


@pytest.fixture
def with_token(lab):
    def make(*answers: Answer, trouble: str | None = None):
        bench = lab(*answers, trouble=trouble, people=PEOPLE)
        bench.stop_bot()
        token = bench.world.config.users[BOT].token
        bench._more = {**bench._more, "credentials": TokenCredentials(token, bench.server.url)}
        bench.start_bot()
        return bench

    return make


def statuses(bench) -> list[tuple[str, str]]:
    """(context, state), oldest first."""
    return [(status.context, status.state) for status in bench.world.state.statuses]


@pytest.mark.parametrize("trouble", [None, "lost_answers"])
def test_noise_ends_in_a_draft_of_the_tokens_owner(with_token, trouble):
    bench = with_token(trouble=trouble)
    number = bench.red_pull()
    assert bench.kinds() == ["noise"]
    assert_once(bench)
    assert statuses(bench)[0][1] == "pending" and statuses(bench)[-1][1] == "success"
    assert len({context for context, _ in statuses(bench)}) == 1 and bench.checks() == []
    state = bench.world.state
    (mine,) = [c for c in state.comments.values() if c.issue == number and c.user.login == BOT]
    assert state.statuses[-1].target_url.endswith(f"#issuecomment-{mine.id}")
    assert [pull.user.login for pull in state.pulls.values() if pull.draft] == [BOT]
    # What says the same is not said again, also where the answer to it was lost.
    told = [(one.state, one.description, one.target_url) for one in state.statuses]
    assert doubled(told) == []


def test_a_worse_head_is_a_failing_status(with_token):
    bench = with_token(Answer(Values(head=1.6)))
    bench.red_pull()
    assert bench.kinds() == ["regression"] and statuses(bench)[-1][1] == "failure"
    assert assert_once(bench) is None
