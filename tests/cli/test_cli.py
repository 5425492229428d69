"""Commands as a person types them: exit codes, one clear line, JSON where asked.

Each command runs once as a process: here, in a file of its own or in tests/e2e. Other cases run in this one.
"""

from __future__ import annotations

import json

import pytest

from tests.cli.command import process, run

FILE = "test/test_a.py"
TEXT = "class TestA:\n    kl_threshold = 0.003\n\n    def test_hit(self):\n        pass\n"
READING = {
    "arm": "trigger",
    "test": f"{FILE}::TestA.test_hit",
    "status": "ok",
    "value": 0.0034,
    "threshold": 0.003,
}


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / FILE).write_text(TEXT)
    return tmp_path


def test_decide_asks_for_runs_and_exits_2():
    answer = process("decide", "-", "--json", stdin=json.dumps(READING) + "\n")
    verdict = json.loads(answer.stdout)
    assert (answer.returncode, verdict["kind"]) == (2, "inconclusive")
    assert set(verdict["next"]["arms"]) == {"head", "base"}


def test_locate_and_bump(tree):
    test = ("--test", "TestA.test_hit", "--root", str(tree))
    site = json.loads(process("locate", FILE, *test, "--json").stdout)
    assert (site["site"]["line"], site["site"]["value"], site["refusal"]) == (2, 0.003, None)
    diff = process("bump", FILE, *test, "--to", "0.005", "--comment", "why")
    assert diff.returncode == 0
    assert "-    kl_threshold = 0.003\n+    # why\n+    kl_threshold = 0.005\n" in diff.stdout
    assert (tree / FILE).read_text() == TEXT


def test_a_refusal_exits_2_with_its_code(tree):
    answer = run("locate", FILE, "--test", "TestB.test_hit", "--root", str(tree), "--json")
    assert answer.returncode == 2
    assert json.loads(answer.stdout) == {"site": None, "refusal": json.loads(answer.stdout)["refusal"]}
    assert json.loads(answer.stdout)["refusal"]["code"] == "class_not_found"


def test_init_writes_both_files_and_overwrites_nothing(tmp_path):
    first = process("init", "--repo", str(tmp_path), "--rules", "reference", "--runner", "my-gpu", "--json")
    assert json.loads(first.stdout) == {
        "written": [".github/kl-triage.yml", ".github/workflows/kl-rerun.yml"]
    }
    (tmp_path / ".github/workflows/kl-rerun.yml").write_text("mine")
    (tmp_path / ".github/kl-triage.yml").unlink()
    again = run("init", "--repo", str(tmp_path), "--rules", "reference", "--runner", "my-gpu")
    assert again.returncode == 1 and "is there already" in again.stderr
    assert not (tmp_path / ".github/kl-triage.yml").exists()


def test_init_writes_both_or_none(tmp_path):
    command = ("init", "--repo", str(tmp_path), "--rules", "reference", "--runner", "my-gpu")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/workflows").write_text("no folder")
    done = run(*command)
    assert (
        done.returncode == 1 and "nothing was written" in done.stderr and len(done.stderr.splitlines()) == 1
    )
    assert not (tmp_path / ".github/kl-triage.yml").exists()
    (tmp_path / ".github/workflows").unlink()
    (tmp_path / ".github/kl-triage.yml").write_bytes(b"\xff\xfe")
    done = run(*command)
    assert done.returncode == 1 and "is there already and differs" in done.stderr
    assert not (tmp_path / ".github/workflows").exists()


def test_rules_check_tells_every_error_with_its_place(tmp_path):
    (tmp_path / "bad.yaml").write_text("name: bad\ncolour: red\n")
    answer = process("rules", "check", "bad.yaml", cwd=tmp_path)
    assert answer.returncode == 1 and "bad.yaml:2:1: colour: is no key of this file" in answer.stdout
    assert run("rules", "check", "sglang", "reference").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "absent.log"),
        ("scan", "."),
        ("decide", "absent.jsonl"),
        ("decide", "."),
        ("decide", "-", "--siblings", "x"),
        ("locate", "a.py"),
        ("nonsense",),
        ("demo", "--scenario", "nonsense"),
        ("rules", "check", "absent.yaml"),
        ("init", "--repo", "absent"),
    ],
)
def test_a_usage_or_input_error_is_one_line_and_exits_1(arguments, tmp_path):
    answer = run(*arguments, cwd=tmp_path)
    assert answer.returncode == 1
    told = (answer.stderr + answer.stdout).strip()
    assert told and "Traceback" not in told and len(told.splitlines()) == 1


def test_a_process_says_the_same(tmp_path):
    here, there = (each("scan", "absent.log", cwd=tmp_path) for each in (run, process))
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert there.returncode == 1 and there.stderr


def test_serve_without_a_secret_says_how_to_set_it():
    answer = run("serve", env={"KL_TRIAGE_WEBHOOK_SECRET": None})
    assert answer.returncode == 1
    assert "KL_TRIAGE_WEBHOOK_SECRET is not set" in answer.stderr and "openssl rand" in answer.stderr
