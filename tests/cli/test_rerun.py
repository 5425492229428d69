"""`kl-triage rerun`: both commits measured on this machine, interrupted and gone on with."""

from __future__ import annotations

import json
import time

import pytest

from bot.local.measure import _writer
from tests.cli.command import run
from tests.cli.projects import SLOW, Small, records


@pytest.fixture
def small(tmp_path):
    return Small.make(tmp_path)


ONE = ("--launches", "1", "--repeats", "3", "--out", "out")


def test_both_arms_are_measured_and_told(small):
    base, head = small.git("rev-parse", "main"), small.level("topic", 0.005)
    process = small.start("rerun", "--head", "topic", "--base", "main", *ONE)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["arm", "n", "missing", "over", "0.003", "median", "max"]
    assert lines[1].startswith("head  3        0  3/3 (")
    assert lines[2].startswith("base  3        0  0/3 (")
    assert max(map(len, lines[:8])) <= 100
    assert lines[-1].strip() == (
        "cat out/readings-head.jsonl out/readings-base.jsonl | kl-triage decide - --threshold 0.003"
    )
    measured = records(small.folder / "out/readings-head.jsonl")
    assert {record["commit"] for record in measured} == {head}
    assert {r["commit"] for r in records(small.folder / "out/readings-base.jsonl")} == {base}
    assert json.loads((small.folder / "out/summary.json").read_text())["complete"]
    assert "head launch 1/2 repeat 3/3" in err, "without a terminal each repeat is a line"


def test_json_is_one_document(small):
    done = small.run("rerun", "--head", "main", *ONE, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["complete"], told["bound"]) == (0, True, 0.003)
    assert (told["arms"]["head"]["ok"], told["arms"]["head"]["missing"]) == (3, 0)
    assert told["readings"] == ["out/readings-head.jsonl"]


def test_a_repeat_without_a_value_is_exit_code_2_and_its_reason_is_told(small):
    small.level("broken", 0.0025, wait="raise RuntimeError('CUDA out of memory')")
    done = small.run("rerun", "--head", "broken", *ONE)
    assert done.returncode == 2
    assert "3 × error: RuntimeError: CUDA out of memory" in done.stdout


def test_uncommitted_changes_are_said_not_to_be_measured(small):
    (small.repo / "engine.py").write_text("LEVEL = 9\n")
    done = small.run("rerun", "--head", "HEAD", *ONE, "--json")
    assert "uncommitted changes are not measured" in done.stderr
    assert json.loads(done.stdout)["arms"]["head"]["exceedance"]["exceeded"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--head", "nowhere"), "'nowhere' names no commit of"),
        (("--head", "--all"), "'--all' names no commit of"),
        (
            ("--head", "main", "--test", "tests/test_none.py::T.test"),
            "There is no file 'tests/test_none.py' in",
        ),
        (("--head", "main", "--test", "tests/test_kl.py::9"), "This test cannot be measured"),
        (("--head", "main", "--rules", "nothing"), "'nothing' is no rule pack"),
        (("--head", "main", "--python", "python-of-nobody"), "python-of-nobody: no such interpreter"),
        (("--head", "main", "--resume"), "holds nothing to go on with"),
    ],
)
def test_what_cannot_be_measured_is_one_line(small, arguments, sentence):
    done = small.run("rerun", *ONE, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_without_rules_the_repository_must_have_its_own(small):
    done = small.run("rerun", "--head", "main", *ONE)
    assert done.returncode == 0
    small.git("checkout", "--quiet", "main")
    (small.repo / ".github").mkdir()
    (small.repo / ".github/kl-triage.yml").write_text('extends: reference\ncompare: "kit:compare"\n')
    small.commit("rules")
    command = ["rerun", "--repo", str(small.repo), "--test", "tests/test_kl.py::TestKL.test_hit"]
    told = run(*command, "--head", "main~1", "--out", str(small.folder / "other"))
    assert told.returncode == 1 and "name a rule pack with --rules" in told.stderr


def test_a_folder_in_use_is_not_mixed_up(small):
    assert small.run("rerun", "--head", "main", *ONE).returncode == 0
    again = small.run("rerun", "--head", "main", *ONE)
    assert again.returncode == 1 and "holds a rerun already; go on with --resume" in again.stderr
    other = small.run(
        "rerun", "--head", "main", "--resume", "--launches", "2", "--repeats", "3", "--out", "out"
    )
    assert other.returncode == 1 and "holds another plan" in other.stderr


def test_a_killed_command_takes_its_harness_with_it(small):
    small.level("slow", 0.0025, wait="time.sleep(0.2)")
    process = small.start("rerun", "--head", "slow", "--launches", "2", "--repeats", "100", "--out", "out")
    first = small.folder / "out/readings-head.jsonl"
    wait_for(lambda: first.is_file() and first.read_text())
    assert _writer(small.folder / "out") is not None
    process.kill()
    process.communicate()
    wait_for(lambda: _writer(small.folder / "out") is None)
    assert json.loads((small.folder / "out/summary.json").read_text())["cancelled"]


def test_who_measures_into_the_folder_is_named(small):
    small.level("slow", 0.0025, wait="time.sleep(0.2)")
    arguments = ("--head", "slow", "--launches", "1", "--repeats", "100", "--out", "out")
    process = small.start("rerun", *arguments)
    first = small.folder / "out/readings-head.jsonl"
    wait_for(lambda: first.is_file() and first.read_text())
    pid = _writer(small.folder / "out")
    second = small.run("rerun", *arguments, "--resume")
    small.interrupt_after(process, first)
    assert second.returncode == 1 and f"(its harness is process {pid})" in second.stderr


def wait_for(seen):
    deadline = time.monotonic() + 30
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(small):
    small.level("slow", 0.0025, wait=SLOW)
    arguments = ("--head", "slow", "--launches", "2", "--repeats", "6", "--out", "out")
    first = small.folder / "out/readings-head.jsonl"
    process = small.start("rerun", *arguments)
    out, _ = small.interrupt_after(process, first)
    assert process.returncode == 2
    assert "What was measured is kept in out. To go on:" in out
    assert out.rstrip().endswith("--out out --resume")
    kept = [record for record in records(first) if record["status"] == "ok"]
    assert 0 < len(kept) < 12
    small.hurry()
    done = small.run("rerun", *arguments, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    measured = [record for record in records(first) if record["status"] == "ok"]
    assert measured[: len(kept)] == kept, "what was there stays"
    assert json.loads(done.stdout)["arms"]["head"]["missing"] == 0
    assert len({record["launch"] for record in measured}) >= 2
