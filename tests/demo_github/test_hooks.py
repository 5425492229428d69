"""The webhook's own routes: what was sent, and sending it again."""

from __future__ import annotations

import pytest
from github import GithubException


def test_the_app_reads_where_its_webhooks_go(stage):
    _, config = stage.app.requester.requestJsonAndCheck("GET", "/app/hook/config")
    assert config["url"] == stage.receiver.url
    assert config["secret"] == "********"


def test_only_the_app_itself_sees_its_deliveries(stage):
    for who in (stage.bot, stage.people["maintainer-b"]):
        with pytest.raises(GithubException) as refused:
            who.requester.requestJsonAndCheck("GET", "/app/hook/deliveries")
        assert refused.value.status == 401


def test_a_delivery_that_failed_is_listed_and_sent_again_under_its_guid(stage):
    stage.receiver.status = 503
    stage.open_pull()
    stage.hooks()
    asked = stage.app.requester.requestJsonAndCheck
    _, failed = asked("GET", "/app/hook/deliveries", parameters={"status": "failure"})
    opened = failed[-1]
    assert (opened["event"], opened["action"], opened["status_code"]) == ("pull_request", "opened", 503)
    stage.receiver.status = 202
    asked("POST", f"/app/hook/deliveries/{opened['id']}/attempts")
    stage.hooks()
    _, arrived = asked("GET", "/app/hook/deliveries", parameters={"status": "success"})
    assert [(found["guid"], found["redelivery"]) for found in arrived] == [(opened["guid"], True)]
    _, shown = asked("GET", f"/app/hook/deliveries/{opened['id']}")
    assert shown["request"]["payload"]["action"] == "opened"


def test_an_administrator_sees_the_hook_of_the_repository(stage):
    stage.open_pull()
    stage.hooks()
    (hook,) = stage.repo("maintainer-b").get_hooks()
    assert hook.config["url"] == stage.receiver.url
    assert [found.event for found in stage.repo("maintainer-b").get_hook_deliveries(hook.id)][
        -1
    ] == "pull_request"
    with pytest.raises(GithubException) as refused:
        list(stage.repo("dev-a").get_hooks())
    assert refused.value.status in (403, 404)
