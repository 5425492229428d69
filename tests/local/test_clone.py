"""A clone read by commit, and a commit made beside the working tree."""

from __future__ import annotations

import pytest

from bot.local import clone as module
from bot.local.clone import Clone, LocalError
from tests.cli.projects import Small


@pytest.fixture
def small(tmp_path):
    return Small.make(tmp_path)


@pytest.fixture
def clone(small):
    with Clone(small.repo) as opened:
        yield opened


def test_files_are_those_of_the_commit(small, clone):
    first = small.git("rev-parse", "HEAD")
    second = small.level("topic", 0.004)
    (small.repo / "engine.py").write_text("LEVEL = 9\n")
    assert b"LEVEL = 0.0025" in (clone.read(first, "engine.py") or b"")
    assert b"LEVEL = 0.004" in (clone.read(second, "engine.py") or b"")
    assert clone.read(first, "nothing.py") is None
    assert clone.read(first, "tests") is None, "a folder is no file"
    assert clone.read(first, "a\nb") is None
    assert b"unittest" in (clone.read(first, "tests/test_kl.py") or b""), "answers stay in step"
    assert clone.changed(first, second) == ("engine.py",)
    assert set(clone.paths(first)) == {"engine.py", "kit.py", "tests/test_kl.py"}
    assert clone.is_changed()


def test_a_file_too_large_is_none_and_the_next_is_read(small, clone, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOB", 100)
    head = small.git("rev-parse", "HEAD")
    assert clone.read(head, "kit.py") is None
    assert b"LEVEL" in (clone.read(head, "engine.py") or b"")


def test_the_base_is_where_the_branch_left_the_default_one(small, clone):
    left = small.git("rev-parse", "main")
    topic = small.level("topic", 0.004)
    small.git("checkout", "--quiet", "main")
    small.level("main", 0.0026)
    assert clone.default_branch() == "main"
    assert clone.merge_base(topic) == left
    with pytest.raises(LocalError, match="is on main itself"):
        clone.merge_base(left)


def test_a_repository_without_a_default_branch_or_none_at_all(small, clone, tmp_path):
    small.git("branch", "--move", "main", "trunk")
    with pytest.raises(LocalError, match="no branch main or master; name the other commit by --base"):
        clone.default_branch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(LocalError, match="not a git repository"):
        Clone(tmp_path / "empty")


def test_the_versions_of_a_file_oldest_first(small, clone):
    small.level("main", 0.004)
    (small.repo / "other.py").write_text("")
    head = small.commit("other")
    found = [data for _, data in clone.versions(head, "engine.py")]
    assert [b"0.0025" in (data or b"") for data in found] == [True, False]


def test_a_commit_beside_the_working_tree(small, clone):
    head = small.git("rev-parse", "HEAD")
    (small.repo / "kit.py").chmod(0o755)
    head = small.commit("executable")
    (small.repo / "engine.py").write_text("LEVEL = 9\n")
    made = clone.commit_file("kl-triage/x", head, "kit.py", b"\xff\r\nnew", "subject\n\nbody\n")
    assert clone.tip("kl-triage/x") == made
    assert clone.read(made, "kit.py") == b"\xff\r\nnew"
    assert clone.changed(head, made) == ("kit.py",)
    assert small.git("ls-tree", made, "kit.py").startswith("100755 ")
    assert small.git("log", "-1", "--format=%P %s", made) == f"{head} subject"
    assert small.git("status", "--porcelain") == "M engine.py", "index and tree are as they were"
    with pytest.raises(LocalError, match="kl-triage/x"):
        clone.commit_file("kl-triage/x", head, "kit.py", b"other", "again")
