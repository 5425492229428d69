"""What the ledger of a site says, and that whatever it does not know bars the bump."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from flask import jsonify, request
from github import GithubException

from bot.report import pull_request
from bot.source import locate
from bot.store import Bump, Store, open_database
from bot.store.base import utcnow
from bot.triage.bump.proposing import open_pull_request
from bot.triage.measure import ledger
from bot.triage.measure.barring import bump_refusal, context
from bot.triage.measure.measuring import verdict_of, wants_runs
from bot.triage.services import Services
from bot.triage.tell.casefile import case_file
from bot.verdict import VerdictKind
from rules import load_named
from tests.demo_github.github_stage import commit, git
from tests.store.test_store import investigation
from tests.verdict.build import healthy

FILE = "test/test_kl.py"
TEST = f"{FILE}::TestKL.test_hit"
KEY = f"{FILE}::TestKL.kl_threshold"
PACK = load_named("reference")
RATE_LIMIT = {"message": "API rate limit exceeded", "documentation_url": "https://docs.github.com/rest"}


def text(bound: str) -> str:
    return f"class TestKL:\n    kl_threshold = {bound}\n\n    def test_hit(self):\n        pass\n"


def site(bound: str = "0.003"):
    return locate(FILE, "TestKL.test_hit", {FILE: text(bound).encode()}.get)


def day(days_ago: int) -> str:
    return f"{utcnow() - timedelta(days=days_ago):%Y-%m-%d}"


@pytest.fixture
def grow(stage, monkeypatch):
    """A commit on main, made so many days ago."""

    def grown(bound: str, days_ago: int, message: str = "Move it") -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day(days_ago)}T12:00:00Z")
        parent = git(stage.git_dir, "rev-parse", "main")
        return commit(stage.git_dir, "main", {FILE: text(bound)}, message, parent)

    return grown


@pytest.fixture
def svc(tmp_path, stage, installations) -> Services:
    return Services(None, Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite")), installations)


@pytest.fixture
def read(svc, stage):
    """Opens an investigation of the site and reads its ledger; gives the investigation."""

    def reads(**changed):
        facts = {
            "config": 'extends: "reference"\nmode: "propose"\n',
            "site": asdict(site()),
            "bump_refusal": None,
            "threshold": 0.003,
            "also_red": [],
            "check_name": "kl-triage",
            "default_branch": "main",
            "base_ref": "main",
            "server_url": stage.url,
        }
        number = stage.app.get_repo_installation("acme", "tinyserve").id
        fields = {"test": TEST, "site_key": KEY, "installation": number, "facts": facts}
        opened = investigation(**{**fields, **changed})
        svc.store.open_investigation(opened, [])
        ledger.remember(svc, svc.store.investigation("kl-1"), PACK)
        return svc.store.investigation("kl-1")

    return reads


def bump(stage, new: str, state: str):
    """A pull request of ours for the site."""
    repo, branch = stage.repo(), pull_request.branch(site(), float(new))
    repo.create_git_ref(f"refs/heads/{branch}", repo.get_branch("main").commit.sha)
    old = repo.get_contents(FILE, ref=branch)
    repo.update_file(FILE, "Relax", text(new), old.sha, branch=branch)
    pull = repo.create_pull(base="main", head=branch, title="Relax", body="")
    if state == "closed":
        stage.repo("maintainer-b").get_pull(pull.number).edit(state="closed")
    if state == "merged":
        stage.repo("maintainer-b").get_git_ref("heads/main").edit(pull.head.sha)
    return pull


def test_the_first_bound_and_each_move_are_kept_in_the_facts(svc, stage, read, grow):
    grow("0.001", 300)
    first = grow("0.002", 200, "Relax it for @someone")
    grow("0.003", 150)
    found = read()
    stored = found.facts["ledger"]
    # The seed of the stand-in had 0.003 on the day it was made.
    assert stored["first"] == 0.003
    assert [(m["old"], m["new"], m["date"]) for m in stored["moves"]] == [
        (0.003, 0.001, day(300)),
        (0.001, 0.002, day(200)),
        (0.002, 0.003, day(150)),
    ]
    assert stored["moves"][1]["commit"] == first
    assert stored["moves"][1]["url"] == f"{stage.url}/acme/tinyserve/commit/{first}"
    assert "someone" not in str(stored) and "dev-a" not in str(stored)
    assert (stored["complete"], stored["refusal"]) == (True, None)
    assert bump_refusal(svc, found) is None
    assert context(svc, found, []).first_bound == 0.003
    case = case_file(svc, found)
    assert [move.new for move in case.ledger.moves] == [0.001, 0.002, 0.003]
    assert case.expires == f"{found.created_at + timedelta(days=90):%Y-%m-%d}"


def test_it_is_read_once(svc, stage, read, grow):
    before = read().facts["ledger"]
    grow("0.005", 1)
    ledger.remember(svc, svc.store.investigation("kl-1"), PACK)
    assert svc.store.investigation("kl-1").facts["ledger"] == before


def test_a_move_by_anybody_within_the_cooling_time_bars_the_next(svc, stage, read, grow):
    grow("0.002", 200)
    moved = grow("0.003", 20)
    refusal = bump_refusal(svc, read())
    assert refusal.code == "cooling"
    assert refusal.sentence == (
        f"The bound was moved 0.002 → 0.003 on {day(20)} in {moved[:7]} "
        f"({stage.url}/acme/tinyserve/commit/{moved}), so it is not moved again before {day(-70)}."
    )


def test_a_move_before_the_cooling_time_does_not_bar(svc, read, grow):
    grow("0.002", 200)
    grow("0.003", 91)
    assert bump_refusal(svc, read()) is None


def test_a_move_counts_from_the_day_its_pull_request_was_merged(svc, stage, grow, read, monkeypatch):
    """Made long ago on a branch, merged today."""
    parent = grow("0.002", 200)
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day(150)}T12:00:00Z")
    moved = commit(stage.git_dir, "topic", {FILE: text("0.003")}, "Relax", parent)
    stage.repo().create_pull(base="main", head="topic", title="Relax", body="")
    stage.repo("maintainer-b").get_git_ref("heads/main").edit(moved)
    refusal = bump_refusal(svc, read())
    assert refusal.code == "cooling" and f"on {day(0)} in {moved[:7]}" in refusal.sentence


def test_where_the_merge_of_the_last_move_cannot_be_read_none_is_made(svc, stage, grow, read):
    grow("0.002", 200)
    grow("0.003", 150)

    def refuse():
        return (jsonify({"message": "No"}), 404) if request.path.endswith("/pulls") else None

    stage.server.world.before.append(refuse)
    refusal = bump_refusal(svc, read())
    stage.server.world.before.clear()
    assert refusal.code == ledger.UNREADABLE


def test_without_the_first_bound_none_is_moved(svc, read, grow, monkeypatch):
    grow("0.003", 200)
    monkeypatch.setattr(ledger.past, "MAX_LISTED", 1)
    found = read()
    assert bump_refusal(svc, found).code == ledger.UNREADABLE
    assert found.facts["ledger"]["first"] is None


def test_a_commit_of_the_far_future_counts_as_one_of_today(svc, read, grow):
    grow("0.002", 200)
    grow("0.003", -400)
    assert f"on {day(0)} in" in bump_refusal(svc, read()).sentence


def test_the_lower_first_bound_of_history_and_table_is_the_cap_s(svc, read, grow):
    grow("0.003", 200)
    svc.store.record_bump(
        Bump(
            repo="acme/tinyserve",
            site_key=KEY,
            investigation="kl-0",
            old=0.0015,
            new=0.003,
            pull=99,
            evidence="",
            proposed_at=utcnow() - timedelta(days=300),
            expires_at=utcnow() - timedelta(days=210),
        )
    )
    assert context(svc, read(), []).first_bound == 0.0015


@pytest.mark.parametrize(("state", "code"), [("closed", "declined"), ("open", "bump_is_open")])
def test_a_bump_that_is_open_or_was_declined_bars_the_next_without_the_table(
    svc, stage, read, grow, state, code
):
    grow("0.003", 200)
    pull = bump(stage, "0.004", state)
    refusal = bump_refusal(svc, read())
    assert refusal.code == code
    assert f"#{pull.number} " in refusal.sentence and pull.html_url in refusal.sentence
    assert day(0) in refusal.sentence
    assert svc.store.outcomes("acme/tinyserve")[pull.number].state == state


def test_a_merged_bump_is_a_move_within_the_cooling_time(svc, stage, read, grow):
    grow("0.003", 200)
    pull = bump(stage, "0.004", "merged")
    found = read()
    assert bump_refusal(svc, found).code == "cooling"
    outcome = svc.store.outcomes("acme/tinyserve")[pull.number]
    assert (outcome.state, outcome.at.date()) == ("merged", datetime.now(UTC).date())


def test_a_declined_bump_of_another_site_does_not_bar(svc, stage, read, grow):
    grow("0.003", 200)
    repo = stage.repo()
    repo.create_git_ref(
        "refs/heads/kl-triage/bump/testkl-00000000/0.004", repo.get_branch("feature").commit.sha
    )
    pull = repo.create_pull(base="main", head="kl-triage/bump/testkl-00000000/0.004", title="x", body="")
    pull.edit(state="closed")
    assert bump_refusal(svc, read()) is None


@pytest.mark.parametrize(
    ("path", "status", "why"),
    [
        ("/commits", 404, "HTTP 404"),
        ("/contents/", 403, "HTTP 403"),
        ("/issues", 404, "HTTP 404"),
    ],
)
def test_what_github_refuses_bars_the_bump(svc, stage, read, grow, path, status, why):
    grow("0.003", 200)

    def refuse():
        asked = request.path.endswith(path) or (path.endswith("/") and path in request.path)
        return (jsonify({**RATE_LIMIT, "message": "No"}), status) if asked else None

    stage.server.world.before.append(refuse)
    refusal = bump_refusal(svc, read())
    stage.server.world.before.clear()
    assert refusal.code == ledger.UNREADABLE
    told = f"GitHub did not give the earlier moves of this bound ({why})"
    assert refusal.sentence == f"{told}, so it is not moved; /rerun-kl asks again."


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_spent_rate_limit_or_an_outage_decides_nothing(svc, stage, read, grow, monkeypatch, status):
    """The step waits, or is tried again."""
    grow("0.003", 200)
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    refuse = lambda: (jsonify(RATE_LIMIT), status) if request.path.endswith("/commits") else None  # noqa: E731
    stage.server.world.before.append(refuse)
    with pytest.raises(GithubException):
        read()
    stage.server.world.before.clear()
    assert "ledger" not in svc.store.investigation("kl-1").facts


def test_after_an_hour_of_outage_the_bound_is_not_moved(svc, read, grow):
    grow("0.003", 200)
    found = read()
    ledger.bar(svc, "kl-1")
    assert svc.store.investigation("kl-1").facts["ledger"] == found.facts["ledger"]  # it was read before
    facts = {name: fact for name, fact in found.facts.items() if name != "ledger"}
    svc.store.finish("kl-1", None)
    svc.store.open_investigation(investigation("kl-2", site_key=KEY, head_sha="c" * 40, facts=facts), [])
    ledger.bar(svc, "kl-2")
    assert bump_refusal(svc, svc.store.investigation("kl-2")).code == ledger.UNREADABLE


def test_a_verdict_without_history_may_be_asked_for_again(svc, read, grow):
    grow("0.003", 200)
    read()
    svc.store.finish("kl-1", {"kind": "refused", "reason": ledger.UNREADABLE})
    found = svc.store.investigation("kl-1")
    svc.store.open_investigation(
        investigation(
            "kl-2", test=TEST, site_key=KEY, job_url="https://example.invalid/8", facts=found.facts
        ),
        [],
    )
    assert bump_refusal(svc, svc.store.investigation("kl-2")) is None


def test_a_test_that_the_default_branch_has_not_is_not_bumped(svc, read):
    refusal = bump_refusal(svc, read(test=f"{FILE}::TestNew.test_hit"))
    assert refusal.code == "not_on_default_branch"


def test_another_literal_on_the_default_branch_is_not_bumped(svc, read, grow):
    grow("0.003", 200)
    assert bump_refusal(svc, read(site_key="other.py::TestKL.kl_threshold")).code == "site_moved"


def test_recently_touched_files_are_named(svc, read, grow):
    grow("0.003", 200)
    moved = grow("0.003  # why", 20)
    touched = read().facts["ledger"]["touched"]
    assert [(t["path"], t["commit"], t["date"]) for t in touched] == [(FILE, moved, day(20))]


def test_of_too_many_versions_the_oldest_and_the_newest_are_read(svc, read, grow, monkeypatch):
    monkeypatch.setattr(ledger, "MAX_VERSIONS", 3)
    for place, bound in enumerate(("0.001", "0.002", "0.0025", "0.003")):
        grow(bound, 200 - place)
    stored = read().facts["ledger"]
    assert (stored["first"], stored["complete"], stored["versions"]) == (0.003, False, 5)
    assert [(m["old"], m["new"], m["certain"]) for m in stored["moves"]] == [
        (0.003, 0.0025, False),
        (0.0025, 0.003, True),
    ]


def measured(svc, **facts):
    """The investigation with readings in which head and base measure alike: noise, but for the ledger."""
    found = svc.store.investigation("kl-1")
    svc.store.add_readings("kl-1", "r0", [record | {"test": TEST} for record in healthy()])
    svc.store.remember("kl-1", ledger=found.facts["ledger"] | facts)
    return verdict_of(svc, svc.store.investigation("kl-1"))[0]


def test_a_bound_that_was_never_moved_may_be(svc, read, grow):
    grow("0.003", 200)
    read()
    verdict = measured(svc)
    assert (verdict.kind, verdict.proposal.old) == (VerdictKind.NOISE, 0.003)


def test_moves_by_people_count_for_the_cumulative_cap(svc, read, grow):
    grow("0.003", 200)
    read()
    verdict = measured(svc, first=0.001)
    assert (verdict.kind, verdict.reason, verdict.proposal) == (
        VerdictKind.INCONCLUSIVE,
        "no_bound_holds",
        None,
    )


def test_when_the_measuring_is_over_the_ledger_is_read_and_the_judge_asked_again(svc, stage, read, grow):
    grow("0.003", 200)
    pull = bump(stage, "0.004", "closed")
    found = read()
    facts = {name: fact for name, fact in found.facts.items() if name != "ledger"}
    svc.store.finish("kl-1", None)
    opened = investigation(
        "kl-2", test=TEST, site_key=KEY, installation=found.installation, head_sha="c" * 40, facts=facts
    )
    svc.store.open_investigation(opened, [record | {"test": TEST} for record in healthy()])
    assert wants_runs(svc, "kl-2") is False
    verdict, _ = verdict_of(svc, svc.store.investigation("kl-2"))
    assert (verdict.kind, verdict.reason, verdict.proposal) == (VerdictKind.REFUSED, "declined", None)
    assert f"#{pull.number} " in verdict.sentence


def test_without_a_ledger_no_pull_request_is_opened(svc, stage, read, grow):
    """As for an investigation that an older version of the bot began."""
    grow("0.003", 200)
    read()
    svc.store.remember("kl-1", ledger=None)
    svc.store.add_readings("kl-1", "r0", [record | {"test": TEST} for record in healthy()])
    open_pull_request(svc, "kl-1")
    assert [decision.code for decision in svc.store.decisions()] == ["no_ledger"]
    assert list(stage.repo().get_pulls(state="all")) == []
