"""All Python files of a commit by one archive; half a tree is none."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from bot.github import tree
from bot.github.tree import python_files


def test_every_python_file_of_the_commit_and_nothing_else(stage, repo):
    sha = stage.repo().get_branch("main").commit.sha
    files = python_files(repo, sha)
    assert files["test/test_kl.py"] == b"class TestKL:\n    kl_threshold = 0.003\n"
    assert {path for path in files if not path.endswith(".py")} == set()
    stage.repo().create_file("pkg/new.py", "New", "x = 1\n", branch="main")
    assert "pkg/new.py" not in python_files(repo, sha)
    assert python_files(repo, stage.repo().get_branch("main").commit.sha)["pkg/new.py"] == b"x = 1\n"


def test_a_commit_that_is_not_there_gives_no_tree(repo):
    assert python_files(repo, "0" * 40) is None


@pytest.mark.parametrize(("cap", "value"), [("MAX_FILES", 0), ("MAX_BYTES", 10), ("MAX_UNPACKED", 10)])
def test_over_a_cap_there_is_no_tree_rather_than_half_a_one(stage, repo, monkeypatch, cap, value):
    monkeypatch.setattr(tree, cap, value)
    assert python_files(repo, stage.repo().get_branch("main").commit.sha) is None


@pytest.mark.parametrize("data", [b"", b"no archive", gzip.compress(b"no tar" * 200, mtime=0)])
def test_what_is_no_archive_gives_no_tree(data):
    assert tree._unpacked(tree._Pieces(iter([data]))) is None


def test_an_archive_cut_anywhere_gives_no_tree():
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name in ("a.py", "b.py"):
            member = tarfile.TarInfo(f"acme-x-1234567/{name}")
            member.size = 700
            archive.addfile(member, io.BytesIO(name.encode() * 175))
    data = whole.getvalue()
    assert sorted(tree._unpacked(tree._Pieces(iter([data[:9], data[9:]])))) == ["a.py", "b.py"]
    for end in range(len(data)):
        assert tree._unpacked(tree._Pieces(iter([data[:end]]))) is None, end
