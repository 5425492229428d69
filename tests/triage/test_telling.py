"""What is told of an investigation while it is measured, and that its check ends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from github import GithubException

from bot.store import Store, open_database
from bot.triage.services import Services
from bot.triage.tell import telling
from tests.lab.faults import refuse
from tests.store.test_store import investigation
from tests.triage.test_answering import FACTS

READING = {"arm": "trigger", "test": "t.py::T.test_a", "status": "ok", "value": 0.0034}


@pytest.fixture
def svc(stage, installations, tmp_path) -> Services:
    """An investigation kl-1 of an open pull request, measured with n=40 launches=8."""
    store = Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))
    pull = stage.open_pull()
    same = {"installation": stage.app.get_repo_installation("acme", "tinyserve").id, "pull": pull.number}
    facts = FACTS | {"asked": {"runs": 40, "launches": 8}}
    store.open_investigation(investigation("kl-1", **same, head_sha=pull.head.sha, facts=facts), [READING])
    return Services(SimpleNamespace(stop=False), store, installations)


def test_the_plan_that_is_told_is_the_one_that_runs(stage, svc):
    telling.announce(svc, "kl-1")
    (told,) = stage.server.world.state.comments.values()
    assert "8 server starts × 5 runs, base `bbbbbbb` 8 server starts × 5 runs" in told.body
    assert ": 80 runs. More rounds may follow, at most 3.8 h of machine time in all." in told.body


@pytest.mark.parametrize("end", [telling.give_up, telling.close_check])
def test_a_check_ends_although_github_failed_once(stage, svc, end):
    world = stage.server.world
    telling.announce(svc, "kl-1")
    refused = refuse(world, "PATCH", r"/check-runs/\d+$", 502, "Bad gateway", times=1)
    with pytest.raises(GithubException):
        end(svc, "kl-1")
    end(svc, "kl-1")
    (check,) = [one for one in world.state.checks.values() if one.external_id == "kl-1"]
    assert refused and (check.status, check.conclusion) == ("completed", "neutral")
