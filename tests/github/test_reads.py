"""Reads give plain values; what is not there is None or empty."""

import pytest
import requests
from flask import jsonify, request

from bot.github import reads
from bot.github.blobs import job_log
from tests.demo_github.github_stage import git

FILE = "test/test_kl.py"


def test_files_branches_and_facts(repo):
    assert reads.facts(repo).default_branch == "main"
    assert reads.file_at(repo, FILE, "main") == b"class TestKL:\n    kl_threshold = 0.003\n"
    assert reads.file_at(repo, "päth/naïve.txt", "main") == "déjà vu\n".encode()
    assert reads.file_at(repo, "absent.py", "main") is None
    assert reads.file_at(repo, "test", "main") is None
    assert reads.branch_head(repo, "absent") is None


def test_a_file_over_a_megabyte_is_read_whole(stage, repo):
    big = b"x" * 1_500_000
    stage.repo().create_file("big.txt", "Big", big, branch="main")
    assert reads.file_at(repo, "big.txt", "main") == big


def test_the_pull_request_of_a_commit_its_base_and_its_files(stage, repo):
    head = stage.open_pull().head.sha
    (found,) = reads.open_pulls(repo, head, 1)
    assert (found.number, found.head_sha, found.head_repo, found.base_ref) == (
        1,
        head,
        "acme/tinyserve",
        "main",
    )
    assert reads.pull(repo, 1) == found
    assert reads.changed_paths(repo, 1) == ("engine.py",)
    first = stage.repo().get_commits("main")[1].sha
    assert reads.merge_base(repo, "main", head) == first


def test_a_commit_without_an_open_pull_request_has_none(stage, repo):
    assert reads.open_pulls(repo, reads.branch_head(repo, "feature"), 1) == ()
    pull = stage.open_pull()
    pull.edit(state="closed")
    assert reads.open_pulls(repo, pull.head.sha, 1) == ()
    assert reads.pull(repo, 1) is None


def control(stage, name: str, **fields: object) -> dict:
    answer = requests.post(f"{stage.url}/_demo/{name}", json=fields, timeout=5)
    assert answer.ok, answer.text
    return answer.json()


def test_a_forks_pull_request_is_found_by_the_branch_of_its_run(stage, repo):
    """GitHub lists none for its commit."""
    head = reads.branch_head(repo, "feature")
    number = control(stage, "fork-pull", user="stranger-c", branch="main", sha=head)["number"]
    run = control(stage, "recorded-job", workflow="ci.yml", head_sha=head, log="", pull=number)["run_id"]
    (found,) = reads.open_pulls(repo, head, run)
    assert (found.number, found.head_repo, found.head_ref) == (number, "stranger-c/tinyserve", "main")
    assert reads.open_pulls(repo, head, run + 999) == ()
    main = reads.branch_head(repo, "main")
    assert reads.open_pulls(repo, main, run) == (), "its head is another commit"


def test_two_pull_requests_with_one_head_are_both_found(stage, repo):
    first = stage.open_pull()
    stage.repo().create_git_ref("refs/heads/release", stage.repo().get_commits("main")[1].sha)
    second = stage.repo("dev-a").create_pull(base="release", head="feature", title="Faster", body="")
    numbers = [pull.number for pull in reads.open_pulls(repo, first.head.sha, 1)]
    assert numbers == [first.number, second.number]


@pytest.mark.parametrize(
    ("login", "may"),
    [("dev-a", True), ("maintainer-b", True), ("stranger-c", False), ("nobody-at-all", False)],
)
def test_only_write_or_admin_may(repo, login, may):
    assert reads.may_write(repo, login) is may


def test_an_unreadable_permission_is_a_no(stage, repo):
    forbidden = {"message": "Forbidden", "documentation_url": "https://docs.github.com/rest"}
    stage.server.world.before.append(lambda: (jsonify(forbidden), 403))
    assert reads.may_write(repo, "maintainer-b") is False
    stage.server.world.before.clear()


def test_a_log_is_fetched_without_our_token_and_a_gone_one_is_none(stage, repo):
    stage.open_pull()
    spec = stage.hand.specs[0]
    with job_log(repo, spec.job_id) as nothing:
        assert nothing is None
    stage.hand.events.on_log(spec.job_id, b"\xef\xbb\xbfavg_kl_div=0.0034\n")
    with job_log(repo, spec.job_id) as log:
        assert b"".join(log) == b"\xef\xbb\xbfavg_kl_div=0.0034\n"
    with job_log(repo, 999_999) as nothing:
        assert nothing is None


def test_of_many_paths_only_those_that_are_there_are_asked_for(stage, repo):
    asked = []
    stage.server.world.before.append(lambda: asked.append(request.path.partition("tinyserve/")[2]))
    sha = reads.branch_head(repo, "main")
    read = reads.reader(repo, sha)
    found = {path: read(path) for path in ("README.md", "a.py", "b/__init__.py", FILE, "README.md")}
    assert {path for path, data in found.items() if data} == {"README.md", FILE}
    assert asked[-3:] == ["contents/README.md", f"git/trees/{sha}", f"contents/{FILE}"]


def test_commits_without_one_in_common_have_no_base(stage, repo):
    alone = git(stage.git_dir, "commit-tree", "main^{tree}", "-m", "Alone")
    git(stage.git_dir, "update-ref", "refs/heads/alone", alone)
    assert reads.merge_base(repo, "main", alone) is None


def test_a_base_is_a_commit_that_the_branch_contains(stage, repo):
    main, first = (commit.sha for commit in stage.repo().get_commits("main"))
    feature = reads.branch_head(repo, "feature")
    assert [reads.is_ancestor(repo, "main", sha) for sha in (main, first)] == [True, True]
    assert [reads.is_ancestor(repo, "main", sha) for sha in (feature, "0" * 40)] == [False, False]
