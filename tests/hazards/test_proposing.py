"""Hazards 23 to 28: the pull request that moves a bound, and loops around it."""

from __future__ import annotations

import pytest

from bot.demo.github import runs
from bot.demo.github.config import APP_PERMISSIONS
from bot.report.pull_request import branch
from bot.source import Site
from tests.demo_github.github_stage import git
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.faults import refuse
from tests.lab.project import TEST_FILE, files, seed
from tests.lab.runner import Answer

NOTHING = Answer(uploads=False)


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def test_hazard_23_a_bump_is_the_apps_own_and_says_when_no_check_has_started(lab, monkeypatch):
    """Without a check on its commit it would wait for ever."""
    monkeypatch.setattr(runs, "start_for_pull", lambda *_: None)
    bench = lab(trouble="twice", poll_s=0.05)
    bench.red_pull()
    (pull,) = bench.bumps()
    assert pull.user == bench.world.bot
    assert bench.world.git.commit(pull.head_sha).author.name == bench.world.bot.login
    assert "no_checks" in bench.codes()
    assert "check" in pull.body.lower() and "start" in pull.body.lower()
    over(bench)


def test_hazard_24_a_branch_of_that_name_with_other_work_on_it_is_left_alone(lab):
    bench = lab(trouble="twice")
    names: list[str] = []

    def somebody_was_faster(_spec: object) -> None:
        site = Site.from_stored(bench.investigations()[0].facts["site"])
        names.append(branch(site, 0.004))
        git(bench.git_dir, "update-ref", f"refs/heads/{names[0]}", bench.sha("other"))

    bench.runner.on_rerun = somebody_was_faster
    number = bench.red_pull()
    assert bench.bumps() == [] and "branch_edited" in bench.codes()
    assert names[0] in bench.sticky(number)[0]
    assert bench.sha(names[0]) == bench.sha("other")
    over(bench)


def test_hazard_24_a_bump_that_was_closed_is_not_opened_again(lab):
    bench = lab(trouble="twice")
    number = bench.red_pull()
    bench.people.close(bench.bumps()[0].number, who="maintainer-b")
    bench.wait()
    bench.say(number, "/rerun-kl")
    bench.wait()
    assert bench.kinds()[0] == "noise"
    assert [pull.state for pull in bench.bumps()] == ["closed"]
    over(bench)


def test_hazard_25_a_second_pull_request_on_the_site_opens_no_second_bump(lab):
    bench = lab(trouble="twice")
    first = bench.red_pull("feature")
    second = bench.red_pull("other")
    bench.say(second, "/rerun-kl")
    bench.wait()
    (pull,) = bench.bumps()
    assert f"#{pull.number}" in bench.sticky(first)[0]
    assert len(bench.sticky(second)) == 1
    over(bench)


def test_hazard_26_a_lost_race_for_the_file_is_read_again_and_changes_one_number(lab):
    bench = lab(trouble="twice")
    lost = {"status": 409, "message": "Conflict", "times": 1, "holding": "kl-triage/bump"}
    refused = refuse(bench.world, "POST", "/git/refs$", **lost)
    bench.red_pull()
    (pull,) = bench.bumps()
    changed = git(bench.git_dir, "diff", "--unified=0", f"main...{pull.head_ref}").splitlines()
    assert len(refused) == 1
    assert [line for line in changed if line.startswith("-  ")] == ["-    kl_threshold = 0.003"]
    assert [line for line in changed if line.startswith("+  ")][-1] == "+    kl_threshold = 0.004"
    assert [line for line in changed if line.startswith("+++")] == [f"+++ b/{TEST_FILE}"]
    over(bench)


def test_hazard_27_a_missing_permission_is_named_and_main_is_never_written(lab):
    granted = {**APP_PERMISSIONS, "contents": "read"}
    bench = lab(trouble="twice", app={"approved": granted})
    main = bench.sha("main")
    number = bench.red_pull()
    assert bench.kinds() == ["noise"] and bench.bumps() == []
    assert "contents: write" in bench.sticky(number)[0]
    assert bench.sha("main") == main
    over(bench)


def test_hazard_28_red_on_the_bots_own_bump_starts_nothing(lab):
    bench = lab(trouble="twice")
    bench.red_pull()
    (pull,) = bench.bumps()
    before = bench.requests()
    bench.red(pull.number)
    bench.wait()
    bench.say(pull.number, "/rerun-kl")
    bench.wait()
    assert bench.requests() == before and len(bench.bumps()) == 1
    assert "own_branch" in bench.codes()
    over(bench)


@pytest.mark.parametrize(("who", "stopped"), [("maintainer-b", True), ("triager-d", False)])
def test_hazard_28_a_writers_label_stops_the_bot(lab, who, stopped):
    people = {"dev-a": "write", "maintainer-b": "admin", "triager-d": "triage"}
    bench = lab(NOTHING, people=people, trouble="twice")
    bench.people.ask("POST", "issues", who, title="Stop", labels=["kl-triage-stop"])
    number = bench.red_pull()
    assert (bench.requests() == []) is stopped
    assert (bench.comments(number) == []) is stopped
    assert bench.bumps() == []


def test_hazard_28_the_budget_of_a_day_ends_reruns(lab, tmp_path):
    tree = files(more="budget_minutes_per_day: 0.5\n")
    bench = lab(NOTHING, repository=seed(tmp_path, tree), trouble="twice")
    first = bench.red_pull("feature")
    bench.say(first, "/rerun-kl")
    bench.wait()
    assert len(bench.requests()) == 1
    assert "day_budget" in bench.codes()
    over(bench)
