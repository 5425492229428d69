from __future__ import annotations

import pytest
import requests
from github import GithubException
from github.Issue import Issue
from github.PaginatedList import PaginatedList

from tests.demo_github.github_stage import CI, FILE, TEXT, commit, git


def refusal(call, *arguments, **options) -> tuple[int, str]:
    with pytest.raises(GithubException) as caught:
        call(*arguments, **options)
    data = caught.value.data
    details = [error.get("message") or error["code"] for error in data.get("errors", [])]
    return caught.value.status, "; ".join(details) or data["message"]


def test_a_pull_request_is_opened_and_read(stage):
    made = stage.open_pull()
    pull = stage.repo().get_pull(made.number)
    assert (pull.number, pull.state, pull.draft, pull.user.login) == (1, "open", False, "dev-a")
    assert pull.head.sha == git(stage.git_dir, "rev-parse", "feature")
    assert pull.base.sha == git(stage.git_dir, "rev-parse", "main")
    assert (pull.commits, pull.changed_files, pull.additions, pull.mergeable) == (1, 1, 1, True)
    assert [file.filename for file in pull.get_files()] == ["engine.py"]
    assert [item.commit.message for item in pull.get_commits()] == ["Faster engine"]
    assert git(stage.git_dir, "rev-parse", "refs/pull/1/head") == pull.head.sha
    assert git(stage.git_dir, "rev-parse", "refs/pull/1/merge^2") == pull.head.sha
    assert stage.hooks()[0] == "pull_request.opened"
    payload = stage.receiver.received[0].payload
    assert payload["pull_request"]["head"]["sha"] == pull.head.sha
    assert payload["sender"]["login"] == "dev-a"


def test_the_bots_draft(stage):
    repo = stage.repo()
    repo.create_git_ref("refs/heads/kl-triage/bump/x", repo.get_branch("main").commit.sha)
    nothing = refusal(repo.create_pull, base="main", head="kl-triage/bump/x", title="Bump", body="")
    assert nothing == (422, "No commits between main and kl-triage/bump/x")
    old = repo.get_contents(FILE)
    repo.update_file(FILE, "Bump", TEXT.replace("0.003", "0.005"), old.sha, branch="kl-triage/bump/x")
    pull = repo.create_pull(base="main", head="kl-triage/bump/x", title="Bump", body="Why.", draft=True)
    assert (pull.draft, pull.user.login, pull.mergeable_state) == (True, "kl-triage[bot]", "draft")
    (file,) = pull.get_files()
    assert file.patch.splitlines()[-2:] == ["-    kl_threshold = 0.003", "+    kl_threshold = 0.005"]
    again = refusal(repo.create_pull, base="main", head="acme:kl-triage/bump/x", title="Bump", body="")
    assert again == (422, "A pull request already exists for acme:kl-triage/bump/x.")
    assert refusal(repo.create_pull, base="main", head="no-such", title="x", body="") == (422, "invalid")
    assert refusal(repo.create_pull, base="main", head="fork:main", title="x", body="") == (422, "invalid")
    assert [found.number for found in repo.get_pulls(head="acme:kl-triage/bump/x")] == [1]
    assert [found.number for found in repo.get_pulls(head="acme:other")] == []
    assert [found.number for found in repo.get_pulls(state="closed")] == []


def test_a_pull_request_is_edited_closed_and_opened_again(stage):
    pull = stage.open_pull()
    pull.edit(title="Much faster", body="Really.")
    pull.edit(state="closed")
    assert [found.number for found in stage.repo().get_pulls(state="closed")] == [pull.number]
    assert list(stage.repo().get_pulls()) == []
    pull.edit(state="open")
    names = [name for name in stage.hooks() if name.startswith("pull_request")]
    assert names == [f"pull_request.{action}" for action in ("opened", "edited", "closed", "reopened")]
    edited = [r.payload for r in stage.receiver.received if r.name == "pull_request.edited"]
    assert edited[0]["changes"]["title"] == {"from": "Faster"}
    assert refusal(stage.repo("stranger-c").get_pull(pull.number).edit, state="closed")[0] == 403
    assert refusal(stage.repo().get_pull, 99)[0] == 404


def test_a_push_past_the_server_is_told_after_a_refresh(stage):
    pull = stage.open_pull()
    old = pull.head.sha
    new = commit(stage.git_dir, "feature", {"engine.py": "faster = True\n"}, "Faster still", old)
    answer = requests.post(f"{stage.url}/_demo/refresh", json={"user": "dev-a"}, timeout=5)
    assert answer.json() == {"moved": ["refs/heads/feature"]}
    assert stage.repo().get_pull(pull.number).head.sha == new
    assert git(stage.git_dir, "rev-parse", "refs/pull/1/head") == new
    stage.hooks()
    push, synchronize = [r for r in stage.receiver.received if r.event == "push" or "synchronize" in r.name]
    assert (push.payload["before"], push.payload["after"]) == (old, new)
    assert (synchronize.payload["before"], synchronize.payload["after"]) == (old, new)


def test_a_branch_that_arrives_on_its_base_is_merged(stage):
    pull = stage.open_pull()
    merge = git(stage.git_dir, "rev-parse", "refs/pull/1/merge")
    stage.repo("maintainer-b").get_git_ref("heads/main").edit(merge)
    pull = stage.repo().get_pull(pull.number)
    assert (pull.merged, pull.state, pull.merge_commit_sha, pull.merged_by.login) == (
        True, "closed", merge, "maintainer-b",
    )  # fmt: skip
    assert refusal(pull.edit, state="open")[0] == 422


def test_a_conflict_has_no_trial_merge_and_starts_no_workflow(stage):
    first = git(stage.git_dir, "rev-parse", "main~1")
    files = {"README.md": "# other\n", ".github/workflows/ci.yml": CI}
    commit(stage.git_dir, "conflict", files, "Conflict", first)
    pull = stage.repo("dev-a").create_pull(base="main", head="conflict", title="Conflict", body="")
    assert (pull.mergeable, pull.mergeable_state) == (False, "dirty")
    assert stage.hand.specs == []


def test_the_pull_requests_of_a_commit(stage):
    pull = stage.open_pull()
    repo = stage.repo()
    assert [found.number for found in repo.get_commit(pull.head.sha).get_pulls()] == [pull.number]
    assert list(repo.get_commit("main").get_pulls()) == []


def test_comments_are_made_edited_listed_and_deleted(stage):
    issue = stage.repo().get_issue(stage.open_pull().number)
    assert issue.pull_request is not None
    comment = issue.create_comment("First `<b>` ü")
    comment.edit("Second")
    stage.people["dev-a"].get_repo("acme/tinyserve").get_issue(1).create_comment("/rerun-kl")
    bodies = [(found.user.login, found.body) for found in issue.get_comments()]
    assert bodies == [("kl-triage[bot]", "Second"), ("dev-a", "/rerun-kl")]
    assert stage.repo().get_issue(1).comments == 2
    assert stage.repo().get_pull(1).get_issue_comment(comment.id).body == "Second"
    assert refusal(issue.create_comment, "x" * 65_537) == (
        422,
        "body is too long (maximum is 65536 characters)",
    )
    assert refusal(issue.create_comment, "  ")[0] == 422
    strangers = stage.repo("stranger-c").get_pull(1).get_issue_comment(comment.id)
    assert refusal(strangers.edit, "Mine now")[0] == 403
    comment.delete()
    assert refusal(stage.repo().get_pull(1).get_issue_comment, comment.id)[0] == 404
    names = [name for name in stage.hooks() if name.startswith("issue_comment")]
    assert names == [f"issue_comment.{action}" for action in ("created", "edited", "created", "deleted")]
    edited = next(r.payload for r in stage.receiver.received if r.name == "issue_comment.edited")
    assert edited["changes"] == {"body": {"from": "First `<b>` ü"}}


def test_a_writer_does_not_show_as_one_in_author_association(stage):
    stage.open_pull()
    comment = stage.repo("dev-a").get_issue(1).create_comment("hello")
    assert comment.raw_data["author_association"] == "CONTRIBUTOR"


def test_reactions_are_counted_once_for_each_account(stage):
    stage.open_pull()
    comment = stage.repo("dev-a").get_issue(1).create_comment("/rerun-kl")
    mine = stage.repo().get_pull(1).get_issue_comment(comment.id)
    first = mine.create_reaction("eyes")
    assert mine.create_reaction("eyes").id == first.id
    mine.create_reaction("rocket")
    assert [(r.user.login, r.content) for r in mine.get_reactions()] == [
        ("kl-triage[bot]", "eyes"),
        ("kl-triage[bot]", "rocket"),
    ]
    assert stage.repo().get_pull(1).get_issue_comment(comment.id).reactions["eyes"] == 1
    assert refusal(mine.create_reaction, "shrug")[0] == 422


def test_labels_are_made_on_first_use(stage):
    pull = stage.open_pull()
    stage.repo().get_pull(pull.number).add_to_labels("kl-noise", "ci")
    assert [label.name for label in stage.repo().get_pull(pull.number).get_labels()] == ["kl-noise", "ci"]
    assert refusal(stage.repo("stranger-c").get_issue(1).add_to_labels, "spam")[0] == 403


def test_only_the_app_writes_check_runs(stage):
    pull = stage.open_pull()
    repo = stage.repo()
    check = repo.create_check_run("kl-triage", pull.head.sha, status="in_progress", external_id="x")
    assert (check.status, check.conclusion, check.app.slug) == ("in_progress", None, "kl-triage")
    check.edit(conclusion="failure", output={"title": "Regression", "summary": "2.0 times base"})
    found = repo.get_check_run(check.id)
    assert (found.status, found.conclusion, found.output.title) == ("completed", "failure", "Regression")
    listed = list(repo.get_commit(pull.head.sha).get_check_runs(check_name="kl-triage"))
    assert [item.id for item in listed] == [check.id]
    assert [p.number for p in listed[0].pull_requests] == [pull.number]
    assert refusal(stage.repo("maintainer-b").create_check_run, "x", pull.head.sha) == (
        403,
        "You must authenticate via a GitHub App.",
    )
    assert refusal(repo.create_check_run, "x", "0" * 40)[0] == 422
    assert refusal(check.edit, status="completed", conclusion="great")[0] == 422
    assert refusal(check.edit, output={"title": "t", "summary": "x" * 65_536})[0] == 422
    assert [name for name in stage.hooks() if name.startswith("check_run")][-1] == "check_run.completed"


def test_pull_requests_are_listed_as_issues_of_their_author(stage):
    stage.open_pull().edit(state="closed")

    def listed(**query: str) -> list[int]:
        return [issue.number for issue in PaginatedList(Issue, stage.repo().requester, url, query)]

    url = f"{stage.repo().url}/issues"
    assert listed(state="all", creator="dev-a") == [1]
    assert listed(state="all", creator="kl-triage[bot]") == listed(creator="dev-a") == []
