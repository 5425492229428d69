"""The pull request of a bump: written once, never over a person's commit, and every no is a sentence."""

from __future__ import annotations

import pytest
from flask import jsonify, request
from github import GithubException

from bot.demo.github.routes_labels import set_label
from bot.demo.github.state import User
from bot.github import issues, pulls, reads
from tests.demo_github.github_stage import FILE, git
from tests.github.test_writes import twice

BRANCH = "kl-triage/bump/x/0.005"
NEW = b"class TestKL:\n    # why\n    kl_threshold = 0.005\n"
APP = "kl-triage[bot]"


@pytest.fixture
def made(repo):
    """A commit on main with the new bound, on no branch yet."""
    return pulls.commit_on(repo, reads.branch_head(repo, "main"), FILE, NEW, "Bump")


def draft(repo):
    return pulls.ensure_draft(repo, BRANCH, "main", title="Relax", body="why")


def test_the_commit_changes_one_file_and_keeps_its_mode(stage, repo):
    main = git(stage.git_dir, "rev-parse", "main")
    blob = git(stage.git_dir, "hash-object", "-w", "--stdin", data="print()\n")
    tree = git(stage.git_dir, "mktree", data=f"100755 blob {blob}\trun.py\n120000 blob {blob}\tlink.py\n")
    base = git(stage.git_dir, "commit-tree", tree, "-p", main, "-m", "Modes")
    git(stage.git_dir, "update-ref", "refs/heads/modes", base)
    sha = pulls.commit_on(repo, base, "run.py", b"print(1)\n", "Edit")
    assert git(stage.git_dir, "diff", "--raw", "--abbrev=4", base, sha).split()[:2] == [":100755", "100755"]
    assert git(stage.git_dir, "diff", "--name-only", base, sha) == "run.py"
    assert pulls.is_commit_on(repo, sha, base) and not pulls.is_commit_on(repo, sha, main)
    assert pulls.commit_on(repo, base, "link.py", b"x", "Edit") is None
    assert pulls.commit_on(repo, base, "gone/file.py", b"x", "Edit") is None


def test_a_branch_moves_from_our_commits_only(stage, repo, made):
    assert pulls.put_branch(repo, BRANCH, made, frozenset())
    assert pulls.put_branch(repo, BRANCH, made, frozenset())
    again = pulls.commit_on(repo, reads.branch_head(repo, "feature"), FILE, NEW, "Bump anew")
    assert not pulls.put_branch(repo, BRANCH, again, {"f" * 40})
    assert reads.branch_head(repo, BRANCH) == made
    assert pulls.put_branch(repo, BRANCH, again, {made})
    assert reads.branch_head(repo, BRANCH) == again


def test_the_word_of_a_person_is_found_and_that_of_a_bot_is_not(stage, repo, made):
    pulls.put_branch(repo, BRANCH, made, frozenset())
    number = draft(repo).number

    def word() -> str | None:
        return pulls.word_of_people(repo, number, APP)

    repo.get_issue(number).create_comment("ours")
    comments = stage.server.world.state.comments_of(number)
    comments[0].user = User(9, "other-ci[bot]", "Bot")
    repo.get_issue(number).create_comment("ours")
    assert word() is None
    theirs = stage.repo("dev-a").get_issue(number).create_comment("Fine with me")
    assert word() == theirs.html_url
    review = stage.repo("maintainer-b").get_pull(number).create_review(event="APPROVE")
    assert word() == review.html_url


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_branch_whose_answer_was_lost_is_written_once(stage, repo, made, lose_the_next_answer, method):
    if method == "PATCH":
        pulls.put_branch(repo, BRANCH, reads.branch_head(repo, "feature"), frozenset())
    ours = frozenset({git(stage.git_dir, "rev-parse", "feature")})
    lose_the_next_answer(method, "/git/refs")
    assert twice(lambda: pulls.put_branch(repo, BRANCH, made, ours))
    assert reads.branch_head(repo, BRANCH) == made


@pytest.mark.parametrize("status", [409, 422])
def test_a_race_that_was_lost_is_looked_at_once_more(stage, repo, made, status):
    """Somebody else makes the branch between our look and our write."""
    lost = []

    def before():
        if request.method == "POST" and request.path.endswith("/git/refs") and not lost:
            lost.append(1)
            return jsonify(message="Reference already exists", documentation_url="x"), status
        return None

    stage.server.world.before.append(before)
    assert pulls.put_branch(repo, BRANCH, made, frozenset())
    assert reads.branch_head(repo, BRANCH) == made


def test_a_draft_whose_answer_was_lost_is_opened_once_and_a_closed_one_is_not_reopened(
    stage, repo, made, lose_the_next_answer
):
    pulls.put_branch(repo, BRANCH, made, frozenset())
    lose_the_next_answer("POST", "/pulls")
    opened = twice(lambda: draft(repo))
    found = list(stage.repo().get_pulls(state="all"))
    assert [(pull.number, pull.draft) for pull in found] == [(opened.number, True)]
    assert (opened.state, opened.author, opened.head_sha) == ("open", APP, made)
    for _ in range(2):
        pulls.add_label(repo, opened.number, "kl-triage")
    assert [label.name for label in stage.repo().get_pull(opened.number).labels] == ["kl-triage"]
    for _ in range(2):
        pulls.close(repo, opened.number)
    assert draft(repo).state == pulls.of_branch(repo, BRANCH).state == "closed"
    assert stage.repo().get_pulls(state="open").totalCount == 0


def test_a_branch_that_github_does_not_see_yet_is_waited_for(stage, repo, made, monkeypatch):
    monkeypatch.setattr(pulls, "LAG_PAUSES_S", (0.0, 0.0))
    pulls.put_branch(repo, BRANCH, made, frozenset())
    error = {"resource": "PullRequest", "field": "head", "code": "invalid"}
    unseen = [1, 2]

    def before():
        if request.method == "POST" and request.path.endswith("/pulls") and unseen:
            unseen.pop()
            return jsonify(message="Validation Failed", documentation_url="x", errors=[error]), 422
        return None

    stage.server.world.before.append(before)
    assert draft(repo).state == "open"
    assert unseen == []


def test_no_branch_but_the_bots_own_is_ever_written(repo, made):
    with pytest.raises(ValueError, match="main is not a branch of the bot's"):
        pulls.put_branch(repo, "main", made, {reads.branch_head(repo, "main")})


def test_one_owner_without_access_does_not_keep_the_others_from_being_asked(stage, repo, made):
    stage.server.world.config = stage.server.world.config.model_copy(update={"teams": ("kl",)})
    pulls.put_branch(repo, BRANCH, made, frozenset())
    number = draft(repo).number
    for _ in range(2):
        refused = pulls.ask_for_review(repo, number, ["stranger-c", "dev-a"], ["nobody", "kl"])
        assert refused == ("stranger-c", "nobody")
    asked = stage.repo().get_pull(number)
    assert [user.login for user in asked.requested_reviewers] == ["dev-a"]
    assert [team.slug for team in asked.requested_teams] == ["kl"]
    assert stage.hooks().count("pull_request.review_requested") == 1


def test_our_own_check_alone_is_no_sign_that_checks_started(stage, repo):
    sha = git(stage.git_dir, "rev-parse", "feature")
    repo.create_check_run("kl-triage", sha, status="in_progress")
    assert not pulls.checks_seen(repo, sha, APP)
    stage.open_pull()  # its workflow runs
    assert pulls.checks_seen(repo, sha, APP)


def refusal(status: int, message: str) -> GithubException:
    return GithubException(status, {"message": message}, {})


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            refusal(403, "Resource not accessible by integration"),
            "GitHub refused to write the branch x (HTTP 403): the GitHub App needs the permission contents: "
            "write, which an owner of the organization has to approve after it was added.",
        ),
        (refusal(403, "Protected branch update failed"), "a rule of the repository protects the branch."),
        (refusal(422, "Repository rule violations found"), "a rule of the repository protects the branch."),
        (refusal(422, "Validation Failed"), "GitHub refused to write the branch x (HTTP 422)."),
    ],
)
def test_a_no_names_the_permission_or_the_rule(error, told):
    with pytest.raises(pulls.WriteRefused) as refused, pulls.needing("contents: write", "write the branch x"):
        raise error
    assert str(refused.value).endswith(told)


@pytest.mark.parametrize(
    "error", [refusal(502, "Bad gateway"), refusal(403, "API rate limit exceeded"), refusal(429, "Slow down")]
)
def test_an_outage_or_a_rate_limit_is_no_no(error):
    with pytest.raises(GithubException), pulls.needing("contents: write", "write"):
        raise error


def labelled(repo):
    return [found.by_writer for found in issues.labelled(repo, "kl-triage-stop")]


def test_who_set_a_label_counts_by_what_they_may_do(stage, repo):
    world = stage.server.world
    by_writer = stage.repo("maintainer-b").create_issue("Stop", labels=["kl-triage-stop"])
    assert labelled(repo) == [True]
    by_writer.edit(state="closed")
    assert labelled(repo) == []
    form = stage.repo("stranger-c").create_issue("Bug")
    assert [label.name for label in form.labels] == []
    set_label(world, world.state.issues[form.number], "kl-triage-stop", world.state.user("stranger-c"))
    assert labelled(repo) == [False]
    stage.repo("dev-a").get_issue(form.number).remove_from_labels("kl-triage-stop")
    stage.repo("dev-a").get_issue(form.number).add_to_labels("KL-triage-stop")
    assert labelled(repo) == [True]  # the newest event counts


def test_a_label_of_an_account_that_is_gone_is_not_known(stage, repo):
    world = stage.server.world
    issue = stage.repo("dev-a").create_issue("Stop", labels=["kl-triage-stop"])
    world.state.label_events[-1].actor = User(9, "gone")
    assert issue.number and labelled(repo) == [None]
