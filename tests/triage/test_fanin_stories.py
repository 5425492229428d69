"""Several pull requests red at one site: one is measured, the others hear of it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

from dbos import DBOS, SetWorkflowID
from flask import request

from bot.triage import story
from bot.triage.red import settling
from bot.verdict import Refusal
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.project import RED_LOG

STOPPED = Refusal("stopped", "Somebody stopped it.")


def while_measured(bench, act) -> None:
    """`act` happens once, while the first rerun is out."""
    done: list[bool] = []

    def once(_spec: object) -> None:
        if not done:
            done.append(True)
            act()

    bench.runner.on_rerun = once


def _sent_to_checks() -> list[dict]:
    return [request.get_json()] if "/check-runs" in request.path and request.method != "GET" else []


def fork_pull(bench) -> int:
    """A stranger's, of the commit of `other`."""
    sha = bench.sha("other")
    return bench.people.control("fork-pull", user="stranger-c", branch="main", sha=sha)["number"]


def test_who_waits_is_answered_with_the_noise_of_the_first_and_who_closed_is_not(lab):  # noqa: F811
    bench, heard, sent = lab(trouble="lost_answers"), {}, []
    bench.push("third", {"tinyserve/third.py": "third = 3\n"})
    second, closed = bench.open_pull("other"), bench.open_pull("third")

    def act() -> None:
        for number in (second, closed):
            bench.red(number)
            (heard[number],) = bench.until(lambda number=number: bench.sticky(number))
        bench.people.close(closed)

    while_measured(bench, act)
    bench.world.before.append(lambda: sent.extend(_sent_to_checks()))
    first = bench.red_pull()
    buttons = {(one["status"], *(button["identifier"] for button in one["actions"])) for one in sent}
    assert buttons == {("in_progress",), ("completed", "rerun-kl")}
    assert "BEING MEASURED" in heard[second] and f"[#{first}](" in heard[second]
    assert bench.kinds() == ["noise"]
    (line,) = bench.sticky(second)
    assert "NOISE, measured for another" in line and f"[#{first}](" in line
    assert "Your commit was not measured" in line and "✅" not in line
    (comment,) = [c for c in bench.world.state.comments_of(first) if c.body.startswith("<!-- kl-triage:v1")]
    assert f"/acme/tinyserve/pull/{first}#issuecomment-{comment.id}" in line
    assert bench.checks(bench.sha("other")) == []
    (one,) = bench.investigations()
    hit = bench.store.hit("acme/tinyserve", one.site_key, second)
    assert (hit.state, hit.investigation) == ("answered", one.id)
    assert bench.sticky(closed) == [heard[closed]]
    assert bench.store.hit("acme/tinyserve", one.site_key, closed) is None
    assert "pull_closed" in bench.codes()
    assert_once(bench)
    assert_ended(bench)


def test_who_waits_is_measured_when_the_first_is_stopped(lab):  # noqa: F811
    bench, heard = lab(trouble="twice"), []
    second = bench.open_pull("other")

    def act() -> None:
        bench.red(second)
        heard.append(bench.until(lambda: bench.sticky(second))[0])
        bench.store.remember_once(bench.investigations()[0].id, halt=asdict(STOPPED))

    while_measured(bench, act)
    first = bench.red_pull()
    assert bench.kinds() == ["refused", "noise"]
    assert [one.pull for one in bench.investigations()] == [first, second]
    (comment,) = bench.sticky(second)
    assert "BEING MEASURED" in heard[0] and "measured for another" not in comment
    assert_once(bench)
    assert_ended(bench)


def test_a_known_verdict_answers_at_once_a_fork_too_and_a_command_measures_all_the_same(
    lab,  # noqa: F811
    monkeypatch,
):
    bench = lab()
    first = bench.red_pull()
    dispatched = len(bench.requests())
    fork = fork_pull(bench)
    bench.red(fork)
    bench.wait()
    (line,) = bench.sticky(fork)
    assert "NOISE, measured for another" in line
    assert f"`/rerun-kl {bench.sha('other')}`" in line

    # A newer commit of the measured pull request is answered in its own comment.
    newer = bench.push("feature", {"tinyserve/metrics.py": "cached_tokens = 1\n"})
    bench.red(first)
    bench.wait()
    (comment,) = bench.sticky(first)
    assert f"Commit {newer[:7]} went red too (0.00" in comment
    assert "**Older commit:**" in comment and "✅" not in comment.splitlines()[2]
    assert len(bench.requests()) == dispatched

    # Somebody who was left waiting by a crash is found by who sweeps.
    monkeypatch.setattr(settling, "SETTLED_WITHIN", timedelta(0))
    hit = bench.store.hit("acme/tinyserve", bench.investigations()[0].site_key, fork)
    hit.state = "waiting"
    bench.store.record_hit(hit)
    with SetWorkflowID("settled-again"):
        DBOS.start_workflow(story.settle, hit.investigation)
    bench.wait()
    assert bench.store.hit(hit.repo, hit.site_key, fork).state == "answered"
    assert bench.sticky(fork) == [line]

    bench.say(fork, f"/rerun-kl {bench.sha('other')}")
    bench.wait()
    assert len(bench.requests()) > dispatched
    (comment,) = bench.sticky(fork)
    assert "measured for another" not in comment

    # A later job of its commit shows far more: the code of a fork is not run for that, but it is not green.
    dispatched = len(bench.requests())
    bench.red(fork, log=RED_LOG.replace("avg_kl_div=0.003", "avg_kl_div=0.903"))
    bench.wait()
    (comment,) = bench.sticky(fork)
    assert "REFUSED" in comment and "showed what these runs do not cover" in comment
    assert [check.conclusion for check in bench.checks(bench.sha("other"))] == ["neutral"]
    assert len(bench.requests()) == dispatched
    assert_once(bench)
    assert_ended(bench)


def test_a_fork_is_not_run_by_itself_and_a_commit_of_two_pull_requests_is_nobodys(lab):  # noqa: F811
    bench = lab()
    fork = bench.people.control("fork-pull", user="stranger-c", branch="main", sha=bench.sha("other"))[
        "number"
    ]
    bench.red(fork)
    bench.wait()
    assert bench.comments(fork) == [] and bench.codes() == ["fork"]
    bench.push("release", {"README.md": "# A release\n"})
    one, two = bench.open_pull("feature"), bench.open_pull("feature", base="release")
    bench.red(one)
    bench.wait()
    assert bench.comments(one) == bench.comments(two) == []
    assert bench.codes() == ["fork", "several_pull_requests"]
    assert bench.investigations() == []
