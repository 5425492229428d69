"""The past of a file and of our own bumps, read from a real repository behind the stand-in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.github import history
from tests.demo_github.github_stage import FILE, TEXT, commit, git

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
PREFIX = "kl-triage/bump/testkl-0123abcd/"


@pytest.fixture
def grow(stage, monkeypatch):
    """One more commit on main whose tree is `files`, made on that day."""

    def grown(files: dict[str, str], message: str, day: str) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00Z")
        return commit(stage.git_dir, "main", files, message, git(stage.git_dir, "rev-parse", "main"))

    return grown


def bump(stage, name: str, state: str = "open"):
    """A pull request of ours from a branch of this name."""
    repo = stage.repo()
    repo.create_git_ref(f"refs/heads/{name}", repo.get_branch("main").commit.sha)
    old = repo.get_contents(FILE, ref=name)
    # The name in the message: equal commits of one second would be one commit, and merged together.
    repo.update_file(FILE, f"Relax on {name}", TEXT.replace("0.003", "0.004"), old.sha, branch=name)
    pull = repo.create_pull(base="main", head=name, title="Relax", body="")
    if state == "closed":
        pull.edit(state="closed")
    return pull


def test_the_commits_of_a_file_newest_first(repo, grow):
    second = grow({FILE: TEXT.replace("0.003", "0.004")}, "Relax\n\nBecause.", "2026-03-01")
    found = history.file_history(repo, FILE, second)
    assert [(c.subject, c.path) for c in found.commits] == [("Relax", FILE), ("First", FILE)]
    assert found.complete
    assert found.commits[0].at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert found.commits[0].url.endswith(f"/acme/tinyserve/commit/{second}")
    assert history.version(repo, found.commits[1]) == TEXT.encode()


def test_a_file_is_followed_through_renames(repo, grow):
    moved = TEXT + "# a line\n" * 20
    grow({"test/test_old.py": moved}, "Add", "2026-02-01")
    grow({"test/test_middle.py": moved}, "Rename", "2026-02-02")
    head = grow({"test/test_new.py": moved}, "Rename again", "2026-02-03")
    found = history.file_history(repo, "test/test_new.py", head)
    assert [(c.subject, c.path) for c in found.commits][:3] == [
        ("Rename again", "test/test_new.py"),
        ("Rename", "test/test_middle.py"),
        ("Add", "test/test_old.py"),
    ]
    assert all(history.version(repo, c) for c in found.commits[:3])


def test_too_many_commits_are_said_to_be_incomplete(repo, grow, monkeypatch):
    head = grow({FILE: TEXT + "#\n"}, "Second", "2026-03-01")
    monkeypatch.setattr(history, "MAX_LISTED", 1)
    found = history.file_history(repo, FILE, head)
    assert ([c.subject for c in found.commits], found.complete) == (["Second"], False)


def test_a_file_that_is_not_there_has_no_commits(repo):
    assert history.file_history(repo, "absent.py", "main") == history.FileHistory((), True)


def test_recent_commits_are_those_since_a_day(repo, grow):
    grow({FILE: TEXT + "#\n"}, "Old", "2026-01-01")
    head = grow({FILE: TEXT + "##\n"}, "New", "2026-03-01")
    since = datetime(2026, 2, 1, tzinfo=UTC)
    subjects = [c.subject for c in history.recent_commits(repo, FILE, head, since, 10)]
    assert "New" in subjects and "Old" not in subjects
    assert len(history.recent_commits(repo, FILE, head, LONG_AGO, 1)) == 1


def test_our_bumps_are_found_by_their_branch_with_what_became_of_them(stage, repo):
    bump(stage, f"{PREFIX}0.004")
    closed = bump(stage, f"{PREFIX}0.005", "closed")
    bump(stage, "kl-triage/bump/another-99999999/0.004", "closed")
    merged = bump(stage, f"{PREFIX}0.006")
    stage.repo("maintainer-b").get_git_ref("heads/main").edit(merged.head.sha)
    found = history.bump_pulls(repo, "kl-triage[bot]", PREFIX, LONG_AGO)
    assert [(b.number, b.state) for b in found] == [(4, "merged"), (2, "closed"), (1, "open")]
    assert found[1].url == closed.html_url
    assert found[1].head_ref == f"{PREFIX}0.005"


def test_a_strangers_pull_request_from_such_a_branch_is_not_ours(stage, repo):
    dev = stage.repo("dev-a")
    dev.create_git_ref(f"refs/heads/{PREFIX}0.004", dev.get_branch("feature").commit.sha)
    dev.create_pull(base="main", head=f"{PREFIX}0.004", title="x", body="").edit(state="closed")
    assert history.bump_pulls(repo, "kl-triage[bot]", PREFIX, LONG_AGO) == ()


def test_bumps_closed_before_that_day_do_not_count(stage, repo):
    bump(stage, f"{PREFIX}0.004", "closed")
    assert history.bump_pulls(repo, "kl-triage[bot]", PREFIX, datetime(2100, 1, 1, tzinfo=UTC)) == ()


def test_too_many_bumps_are_none(stage, repo, monkeypatch):
    bump(stage, f"{PREFIX}0.004")
    monkeypatch.setattr(history, "MAX_BUMP_PULLS", 0)
    assert history.bump_pulls(repo, "kl-triage[bot]", PREFIX, LONG_AGO) is None
