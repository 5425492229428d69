"""The harness on real repositories and real processes: order, values, faults, nothing left behind."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

import runners.harness
from bot.verdict import redaction
from runners.progress import repeats_seen

UP = "def test_hit(self): check({value})"


@pytest.fixture(autouse=True)
def the_clone_is_left_as_it_was(project, tmp_path):
    yield
    worktrees = project.git("worktree", "list", "--porcelain").count("worktree ")
    assert worktrees == 1
    assert project.git("status", "--porcelain") == ""
    temporary = tmp_path / "tmp"
    assert not temporary.exists() or list(temporary.iterdir()) == []


def test_two_commits_are_measured_side_by_side_in_the_order_ab_ba(project, run, helpers):
    body = """
    @classmethod
    def setUpClass(cls):
        print("SERVER UP")
        cls.value = {value}
    def test_hit(self):
        TestKL.value += 0.0001
        check(self.value)
    """
    base = project.commit(body.format(value=0.001))
    head = project.commit(body.format(value=0.005))
    harness = run(helpers.plan({"head": head, "base": base}, "head base base head", repeats=2))

    assert harness.process.returncode == 0
    assert harness.values("head") == pytest.approx([0.0051, 0.0052] * 2)
    assert harness.values("base") == pytest.approx([0.0011, 0.0012] * 2)
    assert [(r["launch"], r["repeat"], r["seq"]) for r in harness.readings("head")] == [
        ("req-1-1", 1, 1),
        ("req-1-1", 2, 2),
        ("req-1-4", 1, 3),
        ("req-1-4", 2, 4),
    ]
    assert {r["launch"] for r in harness.readings("base")} == {"req-1-2", "req-1-3"}
    assert {r["commit"] for r in harness.readings("base")} == {base}
    for name in ("launch-1-head.log", "launch-2-base.log"):
        assert harness.log(name).count("SERVER UP") == 1
        assert "SECOND TRY" not in harness.log(name)
    assert harness.stdout.splitlines()[:3] == [
        "kl-triage: head launch 1/4 repeat 1/2 check=hit value=0.0051 bound=0.003",
        "kl-triage: head launch 1/4 repeat 2/2 check=hit value=0.0052 bound=0.003",
        "kl-triage: base launch 2/4 repeat 1/2 check=hit value=0.0011 bound=0.003",
    ]
    assert repeats_seen(harness.stdout) == 8
    summary = harness.summary()
    assert (summary["complete"], summary["readings"]) == (True, {"head": {"ok": 4}, "base": {"ok": 4}})


def test_a_reading_says_where_it_comes_from(project, run, helpers):
    head = project.commit("def test_hit(self): check(0.001, 0.003)")
    harness = run(
        helpers.plan({"head": head}),
        RUNNER_NAME="h100-a-gpu-0-3",
        GITHUB_SERVER_URL="https://github.example",
        GITHUB_REPOSITORY="acme/engine",
        GITHUB_RUN_ID="42",
    )
    (reading,) = harness.readings()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", reading.pop("at"))
    assert 0 <= reading.pop("duration_s") < 5
    reading.pop("gpu", None), reading.pop("driver", None)  # as this machine has it
    assert reading == {
        "arm": "head",
        "test": "test_kl.py::TestKL.test_hit",
        "status": "ok",
        "value": 0.002,
        "per_prompt": [0.001, 0.003],
        "threshold": 0.003,
        "label": "hit",
        "commit": head,
        "launch": "req-1-1",
        "repeat": 1,
        "seq": 1,
        "host": "h100-a-gpu-0-3",
        "source": "https://github.example/acme/engine/actions/runs/42",
    }


def test_every_line_keeps_the_contract(project, run, helpers):
    contract = Path(__file__).parents[1] / "contracts" / "reading.schema.json"
    if not contract.exists():
        pytest.skip("the contract lies in tests/contracts")
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        check(float('nan'), 0.001)
        if self.calls == 2: raise OSError("server died")
    """)
    harness = run(helpers.plan({"head": head}, "head head", repeats=2))
    validator = jsonschema_rs.validator_for(json.loads(contract.read_text()))
    assert harness.statuses() == ["ok", "error"] * 2
    for reading in harness.readings():
        validator.validate(reading)


def test_nan_is_a_value(project, run, helpers):
    head = project.commit("def test_hit(self): check(float('nan'), 0.001)")
    harness = run(helpers.plan({"head": head}))
    assert harness.process.returncode == 0
    (reading,) = harness.readings()
    assert (reading["status"], reading["value"], reading["per_prompt"]) == ("ok", "nan", ["nan", 0.001])


def test_two_checks_of_one_method_and_a_dead_launch_is_missing_for_both(project, run, helpers):
    project.commit("""
    def test_hit(self):
        check(0.001, label="prefill"); check(0.009, label="decode")
        if os.path.exists("second"): os._exit(3)
        open("second", "w").close()
    """)
    head = project.git("rev-parse", "HEAD")
    harness = run(helpers.plan({"head": head}, "head head"))
    assert harness.process.returncode == 2
    assert [(r["label"], r["status"], r["seq"]) for r in harness.readings()] == [
        ("prefill", "ok", 1),
        ("decode", "ok", 2),
        ("prefill", "error", 3),
        ("decode", "error", 4),
    ]
    assert harness.readings()[2]["error"] == (
        "the test process ended with exit code 3 before this repeat was measured"
    )


def test_a_class_that_does_not_come_up_is_missing_and_the_next_launch_goes_on(project, run, helpers):
    base = project.commit(UP.format(value=0.001))
    head = project.commit("""
    @classmethod
    def setUpClass(cls): raise RuntimeError("CUDA out of memory\\n::error::nonsense")
    def test_hit(self): check(0.001)
    """)
    harness = run(helpers.plan({"head": head, "base": base}, "head base", repeats=2))
    assert harness.process.returncode == 2
    assert harness.statuses("head") == ["error", "error"]
    assert harness.readings("head")[0]["error"] == "RuntimeError: CUDA out of memory ::error::nonsense"
    assert harness.values("base") == [0.001, 0.001]
    assert "::error::" not in harness.stdout


def test_a_failure_that_is_not_the_bound_is_missing_data(project, run, helpers):
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        check(0.002)
        self.assertNotEqual(self.calls, 2, "cached tokens")
    """)
    harness = run(helpers.plan({"head": head}, repeats=3))
    assert harness.statuses() == ["ok", "error", "ok"]
    assert harness.readings()[1]["error"].endswith("cached tokens (after printing 0.002)")
    assert "value" not in harness.readings()[1]


def test_a_repeat_that_hangs_is_a_timeout_and_no_process_is_left(project, run, helpers):
    head = project.commit("""
    def test_hit(self):
        check(0.002)
        if os.path.exists("second"):
            sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
            subprocess.Popen([*sleeper, "kl-left-in-group"])
            subprocess.Popen([*sleeper, "kl-left-outside"], start_new_session=True)
            time.sleep(60)
        open("second", "w").close()
    """)
    plan = helpers.plan({"head": head}, repeats=3, launch_timeout_s=1.5)
    harness = run(plan)
    assert harness.process.returncode == 2
    assert harness.statuses() == ["ok", "timeout", "timeout"]
    assert harness.readings()[1]["error"] == "the launch ran longer than its limit of 1.5 s"
    assert "kl-left-" not in helpers.command_lines()


def test_a_server_that_a_finished_launch_left_running_is_ended(project, run, helpers):
    head = project.commit("""
    @classmethod
    def setUpClass(cls):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "kl-left-server"])
    def test_hit(self): check(0.002)
    """)
    harness = run(helpers.plan({"head": head}, "head head"))
    assert harness.statuses() == ["ok", "ok"]
    assert "kl-left-server" not in helpers.command_lines()


def test_a_killed_test_process_keeps_what_it_measured(project, run, helpers):
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        if self.calls == 2: os.kill(os.getpid(), 9)
        check(0.002)
    """)
    harness = run(helpers.plan({"head": head}, "head head", repeats=2))
    assert harness.statuses() == ["ok", "error", "ok", "error"]
    assert harness.readings()[1]["error"] == (
        "the test process was ended by SIGKILL before this repeat was measured"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_cancel_keeps_readings_and_names_the_rest(project, start, helpers, number):
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        if self.calls == 2: time.sleep(60)
        check(0.002)
    """)
    harness = start(helpers.plan({"head": head}, "head head", repeats=2))
    helpers.until(lambda: (harness.out / "readings-head.jsonl").exists() and len(harness.readings()) == 1)
    assert str(harness.out.parent / "tmp") in helpers.command_lines()
    harness.process.send_signal(number)
    assert harness.wait() == 2
    assert harness.statuses() == ["ok", "cancelled", "cancelled", "cancelled"]
    assert str(harness.out.parent / "tmp") not in helpers.command_lines()
    summary = harness.summary()
    assert (summary["cancelled"], summary["complete"]) == (True, False)


def test_ten_megabytes_of_output_are_read_through_and_kept_within_bounds(project, run, helpers):
    head = project.commit("""
    def test_hit(self):
        for _ in range(10_000): print("x" * 1023)
        check(0.002)
        print("THE END")
    """)
    harness = run(helpers.plan({"head": head}))
    assert harness.values() == [0.002]
    log = harness.out / "logs" / "launch-1-head.log"
    assert log.stat().st_size < 5 << 20
    assert "bytes left out" in log.read_text() and "THE END" in log.read_text()


def test_a_commit_nobody_has_starts_nothing(project, run, helpers):
    head = project.commit(UP.format(value=0.001))
    harness = run(helpers.plan({"head": head, "base": "1" * 40}, "head base"))
    assert harness.process.returncode == 2
    assert harness.statuses("head") == harness.statuses("base") == ["error"]
    assert harness.readings("base")[0]["error"].startswith("base 111111111111 is not in this clone")


def test_a_commit_that_only_the_origin_has_is_fetched(project, run, helpers, tmp_path):
    head = project.commit(UP.format(value=0.001))
    origin = project.path
    project.path = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(origin), str(project.path)], check=True)
    (origin / "test_kl.py").write_text((origin / "test_kl.py").read_text().replace("0.001", "0.002"))
    for command in (["checkout", "-q", "-b", "pull"], ["commit", "-aqm", "v2"], ["checkout", "-q", "main"]):
        identity = ["-c", "user.name=dev-a", "-c", "user.email=dev-a@example.invalid"]
        subprocess.run(["git", "-C", str(origin), *identity, *command], check=True)
    pull = subprocess.check_output(["git", "-C", str(origin), "rev-parse", "pull"], text=True).strip()
    refs = project.git("for-each-ref")
    harness = run(helpers.plan({"head": pull, "base": head}, "head base"))
    assert (harness.values("head"), harness.values("base")) == ([0.002], [0.001])
    assert project.git("for-each-ref") == refs


def test_the_measured_code_does_not_see_the_credentials_of_the_bot_or_the_job(project, run, helpers):
    secrets = {"KL_TRIAGE_WEBHOOK_SECRET": "s", "GITHUB_TOKEN": "t", "ACTIONS_RUNTIME_TOKEN": "u"}
    head = project.commit("""
    def test_hit(self):
        print("SEEN", sorted(n for n in os.environ if "TOKEN" in n or "SECRET" in n), os.getcwd())
        check(0.002)
    """)
    harness = run(helpers.plan({"head": head}), HF_TOKEN="h", **secrets)
    assert "SEEN [] " in harness.log("launch-1-head.log")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"commits": {"head": "abc1234"}}, "commits.head: must be a full 40-digit SHA"),
        ({"commits": ["head"]}, "commits: at least one arm"),
        ({"test": "../test_kl.py::TestKL.test_hit"}, "test: must be path::Class.method"),
        ({"test": "/etc/test_kl.py::TestKL.test_hit"}, "test: must be path::Class.method"),
        ({"test": "a\nb.py::TestKL.test_hit"}, "test: must be path::Class.method"),
        ({"test": "test_kl.py::TestKL.test_hit; rm"}, "test: must end in ::Class.method, ::function"),
        ({"python_path": "/"}, "python_path: must be a list"),
        ({"python_path": ["a:/etc"]}, "python_path: folders inside the tree only"),
        ({"compare": "os:system('x')"}, "compare: must be module:function"),
        ({"launches": [{"arm": "head", "repeats": 10_000}]}, "launches: repeats must be 1 to 200"),
        ({"launches": [{"arm": ["head"], "repeats": 1}]}, "the plan does not have the fields"),
        ({"launch_timeout_s": float("nan")}, "launch_timeout_s: more than 0"),
        ({"sudo": True}, "the plan does not have the fields"),
        ({"version": 2}, "version: must be 1"),
    ],
)
def test_a_plan_that_must_not_run_is_one_line_and_exit_1(tmp_path, capsys, helpers, change, problem):
    document = {**json.loads(helpers.plan({"head": "a" * 40}).to_json()), **change}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    arguments = [f"--plan={tmp_path}/plan.json", f"--repo={tmp_path}", f"--out={tmp_path}/out"]
    assert runners.harness.main(arguments) == 1
    assert capsys.readouterr().err.startswith(f"kl-triage: {problem}")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--plan=nowhere.json"], "--plan nowhere.json: No such file or directory"),
        (["--repo=nowhere"], "no such folder"),
        (["--repo=."], "not a git repository"),
        (["--python=python-of-nobody"], "--python python-of-nobody: no such interpreter on this machine"),
    ],
)
def test_what_is_missing_is_one_line_and_exit_1(
    project, tmp_path, capsys, helpers, monkeypatch, arguments, problem
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(
        helpers.plan({"head": project.commit(UP.format(value=0.001))}).to_json()
    )
    given = ["--plan=plan.json", "--repo=repo", "--out=out", *arguments]
    assert runners.harness.main(given) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and problem in error


def test_readings_are_never_mixed_with_those_of_an_earlier_run(project, tmp_path, capsys, helpers):
    (tmp_path / "plan.json").write_text(
        helpers.plan({"head": project.commit(UP.format(value=0.001))}).to_json()
    )
    given = [f"--plan={tmp_path}/plan.json", f"--repo={project.path}", f"--out={tmp_path}/out"]
    assert runners.harness.main(given) == 0
    assert runners.harness.main(given) == 1
    assert "already holds readings" in capsys.readouterr().err


def test_usage_errors_are_exit_1(capsys):
    with pytest.raises(SystemExit) as ended:
        runners.harness.main(["--plan"])
    assert ended.value.code == 1


def test_the_harness_needs_only_the_standard_library_and_the_readings():
    folder = Path(runners.harness.__file__).parent
    above = [folder.parent / "plan.py", folder.parent / "progress.py", Path(redaction.__file__)]
    for file in [*folder.glob("*.py"), *above]:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                verdict = ("bot.verdict.reading", "bot.verdict.redaction")
                ours = name in ("bot", *verdict) or name.startswith("runners.")
                assert ours or name.partition(".")[0] in sys.stdlib_module_names, f"{file.name}: {name}"


def test_a_plan_survives_its_json(helpers):
    plan = helpers.plan({"head": "a" * 40, "base": "b" * 40}, "head base base head", repeats=3)
    assert type(plan).from_json(plan.to_json()) == plan
    assert plan.planned == 12
