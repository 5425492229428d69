"""`locate` and `bump` on bounds in shell and YAML, as a rule pack names their form."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_cli import run

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
