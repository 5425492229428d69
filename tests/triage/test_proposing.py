"""The bump pull request: opened once and whole, one for each site, within what a repository allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.github import pulls
from bot.report import BUMP, find_marker
from bot.report.bump_notes import NO_CHECKS, with_note
from bot.triage.measure import own_bumps
from bot.triage.services import services
from tests.demo_github.github_stage import git
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.project import TEST_FILE, files, seed
from tests.lab.runner import Answer
from tests.lab.values import Values

REPO = "acme/tinyserve"
KEY = f"{TEST_FILE}::TestHybridCacheKL.kl_threshold"
OWNERS = "* @stranger-c\n/test/registered/ @maintainer-b @acme/kl @kl-triage[bot] @dev-a\n"


@pytest.fixture
def world(tmp_path):
    """`world(more, **files)`: a repository with these settings and files beside those of the lab."""

    def made(more: str = "", without: str = "", **more_files: str):
        (tmp_path / "seed").mkdir()
        tree = files(more=more) | {path.replace("__", "/"): text for path, text in more_files.items()}
        return seed(tmp_path / "seed", {path: text for path, text in tree.items() if path != without})

    return made


def refusals(bench) -> list[str]:
    return [found.facts.get("proposal_refusal", "") for found in bench.investigations()]


def test_a_bump_is_a_labelled_draft_of_one_number_that_asks_the_code_owners(lab, world):  # noqa: F811
    bench = lab(Answer(), repository=world(CODEOWNERS=OWNERS), trouble="lost_answers")
    bench.red_pull()
    (bump,) = bench.bumps()
    assert bump.draft and [label.name for label in bump.labels] == ["kl-triage"]
    assert find_marker(bump.body, BUMP) == KEY
    assert [person.login for person in bump.reviewers] == ["maintainer-b", "dev-a"]
    assert any("did not let the bot ask kl to review" in d.sentence for d in bench.store.decisions())
    diff = git(bench.git_dir, "diff", "--unified=0", "main", bump.head_sha).splitlines()
    changed = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed[0] == "-    kl_threshold = 0.003" and len(changed) == 3
    assert bench.sha(f"{bump.head_sha}^") == bench.sha("main")
    row = bench.store.bump_of_pull(REPO, bump.number)
    assert (row.commit, row.body_digest) == (bump.head_sha, own_bumps.digest(bump.title, bump.body))
    assert "**Note:**" not in bump.body  # its checks have started

    plans = len(bench.runner.plans())
    bench.red(bump.number)
    bench.wait()
    assert len(bench.runner.plans()) == plans and len(bench.bumps()) == 1
    assert "own_branch" in bench.codes()
    assert_once(bench)


def test_another_value_goes_to_the_open_bump_until_people_work_on_it(lab, world):  # noqa: F811
    bench = lab(Answer(), repository=world("known_days: 0\n"), trouble="twice")
    bench.red_pull()
    (bump,) = bench.bumps()
    first, title = bump.head_sha, bump.title

    bench.runner.answers = [Answer(Values(head=1.12, base=1.12))]
    bench.red_pull("other")
    assert bench.kinds() == ["noise", "noise"]
    assert [pull.number for pull in bench.bumps()] == [bump.number]
    assert bump.head_sha != first and bump.title != title
    assert bench.sha(f"{bump.head_sha}^") == bench.sha("main")
    rows = bench.store.bumps(REPO, KEY)
    assert [row.pull for row in rows] == [bump.number] * 2 and rows[1].new > rows[0].new
    assert f"{rows[1].new:g}" in bump.title and rows[1].commit == bump.head_sha

    theirs = bump.head_sha
    review = bench.people.ask("POST", f"pulls/{bump.number}/reviews", "maintainer-b", event="APPROVE")
    bench.runner.answers = [Answer()]
    bench.push("third", {"tinyserve/third.py": "x = 1\n"})
    bench.red_pull("third")
    assert bump.head_sha == theirs and len(bench.bumps()) == 1
    assert bench.kinds()[2] == "refused" and bench.investigations()[2].verdict["reason"] == "bump_is_open"

    svc, row = services(), bench.store.bump_of_pull(REPO, bump.number)
    repo = svc.repository(bench.investigations()[0])
    pull = pulls.state_of(repo, bump.number)
    for changed, why in (
        ({}, f"somebody has said something about it ({review['html_url']})"),
        ({"auto_merge": True}, "it is set to merge by itself"),
        ({"draft": False}, "it is a draft no longer"),
        ({"title": "ci: mine"}, "its title or its text was rewritten"),
        ({"body": "Mine."}, "its title or its text was rewritten"),
        ({"head_sha": "a" * 40}, "its branch holds commits that are not the bot's"),
    ):
        assert own_bumps.touched(svc, repo, row, replace(pull, **changed)) == why


def test_no_more_bumps_are_open_than_a_repository_allows(lab, world):  # noqa: F811
    bench = lab(Answer(), repository=world("open_bumps: 0\n"))
    bench.red_pull()
    assert bench.kinds() == ["noise"] and bench.bumps() == []
    assert refusals(bench)[0].startswith("0 of the bot's pull requests are open and open_bumps allows 0")


def test_a_missing_permission_is_named(lab):  # noqa: F811
    granted = dict.fromkeys(["actions", "checks", "contents", "issues"], "write")
    bench = lab(Answer(), app={"approved": granted | {"metadata": "read", "pull_requests": "read"}})
    bench.red_pull()
    (why,) = refusals(bench)
    assert why.startswith("GitHub refused to open a draft pull request from kl-triage/bump/")
    assert "needs the permission pull_requests: write, which an owner" in why
    assert bench.bumps() == []
    assert_ended(bench)


def test_a_bump_that_nothing_tests_says_so(lab, world):  # noqa: F811
    workflow = ".github/workflows/pr-test.yml"
    bench = lab(Answer(), repository=world(without=workflow))
    bench.push("feature", {workflow: files()[workflow]})
    bench.red_pull()
    (bump,) = bench.bumps()
    assert bump.body.count("**Note:** No check run has appeared on this branch") == 1
    assert find_marker(bump.body, BUMP) == KEY
    assert "no_checks" in bench.codes()
    assert bench.store.bump_of_pull(REPO, bump.number).body_digest == own_bumps.digest(bump.title, bump.body)


def test_the_same_note_twice_is_one():
    once = with_note("<!-- marker -->\n\n**NOISE:** …", NO_CHECKS)
    assert once.startswith("<!-- marker -->\n\n> **Note:** No check run")
    assert with_note(once, NO_CHECKS) == once
