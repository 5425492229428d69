"""`locate` and `bump` on bounds in shell and YAML, as a rule pack names their form."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import run

TWO = "python check.py --max_kl_div=2e-3\npython check.py --max_kl_div=0.5\n"


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "tests" / "check.sh"
    file.parent.mkdir()
    file.write_text("#!/bin/bash\npython check.py --max_kl_div=2e-3 --other=2e-3\n")
    return file


def in_tree(script, *arguments: str):
    command, *rest = arguments
    return run(command, "tests/check.sh", "--root", str(script.parent.parent), "--rules", "maxtext", *rest)


def test_the_bound_of_a_script_is_found_and_moved(script):
    found = json.loads(in_tree(script, "locate", "--json").stdout)["site"]
    assert (found["line"], found["column"], found["spelling"], found["scope"]) == (2, 30, "2e-3", "line")
    moved = in_tree(script, "bump", "--to", "0.003", "--comment", "6 of 100 runs over it", "--write")
    assert moved.returncode == 0
    assert script.read_text() == (
        "#!/bin/bash\n# 6 of 100 runs over it\npython check.py --max_kl_div=3e-3 --other=2e-3\n"
    )


def test_the_line_tells_one_bound_from_another(script):
    script.write_text(TWO)
    both = in_tree(script, "locate", "--json")
    assert (both.returncode, json.loads(both.stdout)["refusal"]["code"]) == (2, "ambiguous")
    assert json.loads(in_tree(script, "locate", "--line", "2", "--json").stdout)["site"]["value"] == 0.5


def test_where_no_comment_can_stand_it_is_said(script):
    script.write_text("python check.py \\\n  --max_kl_div=2e-3\n")
    moved = in_tree(script, "bump", "--to", "0.003", "--comment", "why")
    assert "+  --max_kl_div=3e-3\n" in moved.stdout
    assert "why" not in moved.stdout
    assert moved.stderr == "No comment line can stand above this bound; the diff has none.\n"


def test_the_pack_s_gate_counts(script):
    script.write_text("python check.py --max_kl_div=1e-9\n")
    for command in (["locate"], ["bump", "--to", "1e-3", "--comment", "why"]):
        told = in_tree(script, *command, "--json")
        assert (told.returncode, json.loads(told.stdout)["refusal"]["code"]) == (2, "exact_gate")


def test_the_file_may_be_named_from_the_current_folder(script):
    named = run("locate", str(script), "--root", str(script.parents[1]), "--rules", "maxtext", "--json")
    assert json.loads(named.stdout)["site"]["path"] == "tests/check.sh"


def test_a_name_that_is_not_utf_8_is_one_clear_line(tmp_path):
    (tmp_path / "test_\udcff.py").write_text("class TestA: pass\n")
    (tmp_path / "test_a.py").write_text(
        "class TestA:\n    kl_threshold = 0.003\n    def test_a(self): pass\n"
    )
    for file in ("test_\udcff.py", "test_a.py"):
        told = run("locate", file, "--test", "TestA.test_a", "--root", str(tmp_path))
        assert told.returncode == 1
        assert "UTF-8" in told.stderr and len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["test_a.py"],
            "kl-triage: a bound in a Python file is found by its test: give --test Class.method.\n",
        ),
        (
            ["a.sh", "--test", "A.b", "--line", "2"],
            "kl-triage: --test is for Python files, --line for shell and YAML files: give one of them.\n",
        ),
    ],
)
def test_what_does_not_fit_together_is_said(arguments, sentence):
    found = run("locate", *arguments)
    assert (found.returncode, found.stderr) == (1, sentence)
