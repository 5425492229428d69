"""`kl-triage scan`: one log as ever, several and zips as one document, nothing printed where one fails."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from tests.cli.command import process, run
from tests.cli.zips import zipped

DATA = Path(__file__).parents[1] / "logs" / "data"
RED = DATA / "01_kl_failure_retry_fails.log"
RECOVERED = DATA / "02_kl_over_then_passes_on_retry.log"
CONTRACT = Path(__file__).parents[1] / "contracts" / "scan.schema.json"
NOTHING = "No KL value and no failed test in this log."


def document(*arguments: str) -> dict:
    answer = run("scan", *arguments, "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    found = json.loads(answer.stdout)
    jsonschema_rs.validator_for(json.loads(CONTRACT.read_text())).validate(found)
    return found


def values(found: dict) -> list[float]:
    return [reading["value"] for reading in found["readings"]]


def run_zip(path: Path, *entries: tuple[str, bytes]) -> str:
    path.write_bytes(zipped(*entries))
    return str(path)


def test_one_plain_log_is_as_it_was():
    found = document(str(RED))
    assert "logs" not in found and all("source" not in reading for reading in found["readings"])
    assert len(found["readings"]) == 6 and len(found["failures"]) == 1
    assert json.loads(process("scan", "-", "--json", stdin=RED.read_text()).stdout) == found


def test_several_logs_are_one_document():
    found = document(str(RED), str(RECOVERED))
    assert [(log["log"], log["readings"], log["failures"]) for log in found["logs"]] == [
        (str(RED), 6, 1),
        (str(RECOVERED), 7, 1),
    ]
    assert found["complete"] is True
    assert {reading["source"] for reading in found["readings"]} == {str(RED), str(RECOVERED)}
    assert values(found) == values(document(str(RED))) + values(document(str(RECOVERED)))
    assert [failure["source"] for failure in found["failures"]] == [str(RED), str(RECOVERED)]


def test_a_zip_measures_each_attempt_once(tmp_path):
    lines = RED.read_bytes().splitlines(keepends=True)
    steps = [b"".join(lines[:20]), b"".join(lines[20:])]
    folder = (("job/1_Set up job.txt", steps[0]), ("job/2_Run tests.txt", steps[1]))
    both = document(run_zip(tmp_path / "both.zip", ("0_job.txt", RED.read_bytes()), *folder))
    alone = document(run_zip(tmp_path / "steps.zip", *folder))
    assert values(both) == values(alone) == values(document(str(RED)))
    assert both["logs"][0]["log"] == f"{tmp_path / 'both.zip'}!0_job.txt"
    assert alone["logs"][0]["log"] == f"{tmp_path / 'steps.zip'}!job/"
    assert both["complete"] is alone["complete"] is True


def test_one_cut_log_makes_the_whole_incomplete(tmp_path):
    cut = ("1_cut.txt", RED.read_bytes()[:9000])
    found = document(run_zip(tmp_path / "run.zip", ("0_job.txt", RECOVERED.read_bytes()), cut))
    assert found["complete"] is False
    assert [log["complete"] for log in found["logs"]] == [True, False]


@pytest.mark.parametrize("arguments", [(str(RED), "absent.log"), ("absent.log", str(RED)), (str(RED), ".")])
def test_nothing_is_printed_where_one_log_cannot_be_read(arguments):
    for option in ((), ("--json",)):
        answer = run("scan", *arguments, *option)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert len(answer.stderr.splitlines()) == 1 and "Traceback" not in answer.stderr
        assert ("absent.log" if "absent.log" in arguments else ".: is a folder") in answer.stderr


def test_a_refused_zip_is_one_line(tmp_path):
    answer = run("scan", run_zip(tmp_path / "run.zip", ("../x.txt", b"")))
    assert (answer.returncode, answer.stdout) == (1, "")
    place = tmp_path / "run.zip"
    assert (
        answer.stderr
        == f"kl-triage: {place}: its entry '../x.txt' has a path that could lead out of the archive.\n"
    )


TWICE = (1, "", "kl-triage: a log is given twice; its values would count twice\n")


@pytest.mark.parametrize("spelling", ["a.log", "./a.log", "sub/../a.log", "soft.log", "hard.log"])
def test_a_log_given_twice_in_any_spelling_does_not_count_twice(tmp_path, spelling):
    log = tmp_path / "a.log"
    log.write_bytes(RED.read_bytes())
    (tmp_path / "sub").mkdir()
    (tmp_path / "soft.log").symlink_to(log)
    (tmp_path / "hard.log").hardlink_to(log)
    answer = run("scan", "a.log", spelling, cwd=tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == TWICE


def test_a_log_given_by_name_and_as_standard_input_does_not_count_twice():
    command = [sys.executable, "-m", "bot.cli", "scan", str(RED), "-"]
    with RED.open("rb") as stdin:
        answer = subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stdout, answer.stderr) == TWICE


def test_two_files_that_say_the_same_are_two_logs(tmp_path):
    (tmp_path / "copy.log").write_bytes(RED.read_bytes())
    assert len(document(str(RED), str(tmp_path / "copy.log"))["readings"]) == 12


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"", ""),
        (b"hello\nworld\n", ""),
        (gzip.compress(b"avg_kl_div=0.1\n", mtime=0), "it is gzip; unpack it first"),
        (b"\x7fELF\0\0\0\0", "it holds zero bytes, so it is no text"),
        ("avg_kl_div=0.1".encode("utf-16"), "it looks like UTF-16; save it as UTF-8 and scan it again"),
        (b"\xff" * 5000, ""),
    ],
)
def test_what_is_no_log_says_nothing_and_never_passes(tmp_path, data, hint):
    path = tmp_path / "x.log"
    path.write_bytes(data)
    answer = run("scan", str(path))
    assert (answer.returncode, answer.stdout.splitlines()[-1]) == (0, NOTHING)
    assert answer.stderr == (f"kl-triage: {path}: {hint}\n" if hint else "")
    found = json.loads(run("scan", str(path), "--json").stdout)
    assert (found["readings"], found["failures"], found["complete"]) == ([], [], False)


def test_a_repository_file_names_the_rules(tmp_path):
    config = tmp_path / "kl-triage.yml"
    config.write_text(
        "extends: sglang\nforms:\n  - name: own\n    fails_when: above\n"
        "    pattern: 'drift (?P<value>\\S+) above limit (?P<threshold>\\S+)'\n"
    )
    log = tmp_path / "x.log"
    log.write_text("AssertionError: drift 0.25 above limit 0.125\n")
    (failure,) = document(str(log), "--rules", str(config))["failures"]
    assert (failure["rule"], failure["value"], failure["threshold"]) == ("own", 0.25, 0.125)
    assert document(str(log))["failures"] == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("extends: nothing\n", "kl-triage: k.yml:1:10: 'nothing' is no rule pack"),
        ("extends: sglang\nodd: 1\n", "kl-triage: k.yml:2:1: odd: is no key of this file"),
        ("[]\n", "kl-triage: k.yml:1:1: must be a mapping of keys to values"),
        (None, "kl-triage: k.yml:1:1: cannot be read: No such file or directory"),
    ],
)
def test_bad_rules_are_a_clear_line(tmp_path, text, line):
    if text is not None:
        (tmp_path / "k.yml").write_text(text)
    answer = run("scan", str(RED), "--rules", "k.yml", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(line) and "Traceback" not in answer.stderr


def test_a_zip_from_a_pipe():
    command = [sys.executable, "-m", "bot.cli", "scan", "-", "--json"]
    archive = zipped(("0_job.txt", RED.read_bytes()))
    answer = subprocess.run(command, input=archive, capture_output=True, check=True, timeout=60)
    assert values(json.loads(answer.stdout)) == values(document(str(RED)))
