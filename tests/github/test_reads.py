"""Reads give plain values; what is not there is None or empty."""

import pytest
from flask import jsonify

from bot.github import reads
from bot.github.blobs import job_log

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
    found = reads.open_pull(repo, head)
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
    assert reads.open_pull(repo, reads.branch_head(repo, "feature")) is None
    pull = stage.open_pull()
    pull.edit(state="closed")
    assert reads.open_pull(repo, pull.head.sha) is None
    assert reads.pull(repo, 1) is None


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
