"""`locate` and `bump` over a tree on disk, where a bound comes from another file."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import run

KIT = "class Kit:\n    kl_threshold = 0.003\n\n    def test_hit(self):\n        check(self.kl_threshold)\n"
HEAD = "import unittest\n\nfrom kits.kit import Kit\n\n\n"


@pytest.fixture
def tree(tmp_path):
    files = {
        "kits/kit.py": KIT,
        "test/test_a.py": f"{HEAD}class TestA(Kit, unittest.TestCase):\n    model = 'm'\n",
        "test/sub/test_b.py": f"{HEAD}class TestB(Kit, unittest.TestCase):\n    model = 'm'\n",
        ".venv/test_c.py": f"{HEAD}class TestC(Kit, unittest.TestCase):\n    model = 'm'\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_site_with_a_refusal_is_shown_and_exits_2(tree):
    answer = run("locate", "test/test_a.py", "--test", "TestA.test_hit", "--root", str(tree), "--json")
    found = json.loads(answer.stdout)
    assert answer.returncode == 2
    assert found["refusal"]["code"] == "kit_default"
    assert (found["site"]["path"], found["site"]["line"], found["site"]["scope"]) == (
        "kits/kit.py",
        2,
        "kit default",
    )
    assert found["site"]["governs"] == [
        "test/test_a.py::TestA.test_hit",
        "test/sub/test_b.py::TestB.test_hit",
    ]
    assert found["site"]["override"]["cls"] == "TestA"
    told = run("locate", "test/test_a.py", "--test", "TestA.test_hit", "--root", str(tree))
    assert told.returncode == 2 and "refused (kit_default)" in told.stdout


def test_the_bump_goes_into_the_failing_class(tree):
    arguments = (
        "--test",
        "TestA.test_hit",
        "--to",
        "0.005",
        "--comment",
        "why",
        "--root",
        str(tree),
        "--write",
    )
    answer = run("bump", "test/test_a.py", *arguments)
    assert answer.returncode == 0, answer.stderr
    assert "+    kl_threshold = 0.005\n" in answer.stdout
    assert "kl_threshold = 0.005" in (tree / "test/test_a.py").read_text()
    assert (tree / "kits/kit.py").read_text() == KIT
    found = run("locate", "test/test_a.py", "--test", "TestA.test_hit", "--root", str(tree), "--json")
    assert json.loads(found.stdout)["site"]["scope"] == "class"


def test_a_path_from_anywhere_means_the_file_in_the_tree(tree):
    file = str(tree / "test" / "test_a.py")
    found = run("locate", file, "--test", "TestA.test_hit", "--root", str(tree), "--json")
    assert json.loads(found.stdout)["site"]["governs"][0] == "test/test_a.py::TestA.test_hit"
    outside = run("locate", "/etc/hostname", "--test", "TestA.test_hit", "--root", str(tree), "--json")
    assert json.loads(outside.stdout)["refusal"]["code"] == "file_not_found"
