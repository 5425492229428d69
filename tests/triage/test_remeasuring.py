"""Which code a person may have run."""

from __future__ import annotations

import pytest

from bot.github.reads import Pull
from bot.report import replies
from bot.triage.commands.grammar import Rerun
from bot.triage.commands.remeasuring import _unbound

HEAD, OTHER = "a" * 40, "b" * 40
PLAIN, ONE_TEST, BOUND = Rerun(), Rerun(only="T.test_a"), Rerun(head=HEAD)
OWN, FORK = "Acme/Engine", "stranger-c/engine"


@pytest.mark.parametrize(
    ("rerun", "head_repo", "listed", "refusal"),
    [
        (PLAIN, OWN, False, ""),
        (Rerun(runs=9, base=OTHER, runner="x"), OWN, False, ""),
        (BOUND, OWN, False, ""),
        (Rerun(head=OTHER), OWN, False, replies.not_the_head(HEAD)),
        (PLAIN, FORK, False, replies.FORK_NEEDS_SHA),
        (PLAIN, "", False, replies.FORK_NEEDS_SHA),
        (BOUND, FORK, False, ""),
        (Rerun(head=OTHER), FORK, False, replies.not_the_head(HEAD)),
        (PLAIN, OWN, True, ""),
        (ONE_TEST, OWN, True, ""),
        (PLAIN, FORK, True, replies.ONLY_WRITERS_BIND),
        (BOUND, FORK, True, replies.ONLY_WRITERS_CHOOSE),
        (Rerun(runs=9), OWN, True, replies.ONLY_WRITERS_CHOOSE),
        (Rerun(launches=2), OWN, True, replies.ONLY_WRITERS_CHOOSE),
        (Rerun(base=OTHER), OWN, True, replies.ONLY_WRITERS_CHOOSE),
        (Rerun(runner="x"), OWN, True, replies.ONLY_WRITERS_CHOOSE),
    ],
)
def test_a_fork_needs_a_writer_who_names_its_commit(rerun, head_repo, listed, refusal):
    pull = Pull(number=4, head_sha=HEAD, head_ref="topic", head_repo=head_repo, base_ref="main")
    assert _unbound(rerun, pull, "acme/engine", listed=listed) == refusal


def test_the_bots_own_branch_is_not_measured_but_a_forks_of_that_name_is():
    branch = "kl-triage/bump/t-1/0.004"
    own = Pull(number=4, head_sha=HEAD, head_ref=branch, head_repo=OWN, base_ref="main")
    assert _unbound(PLAIN, own, "acme/engine", listed=False) == replies.OWN_BRANCH
    fork = Pull(number=4, head_sha=HEAD, head_ref=branch, head_repo=FORK, base_ref="main")
    assert _unbound(BOUND, fork, "acme/engine", listed=False) == ""
