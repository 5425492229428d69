"""Around the launches: prepare commands, limits, resuming, ports, and what is told of the machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runners.harness.fingerprint import Fingerprint, compute_processes, fingerprint, notes
from runners.harness.jsonlines import JsonLines, read_lines
from runners.harness.leftovers import Leftovers

UP = "def test_hit(self): check(0.002)"


def test_prepare_runs_once_an_arm_in_its_tree_and_without_a_shell(project, run, helpers):
    head = project.commit("def test_hit(self): check(float(open('value; true').read()))")
    base = project.commit("def test_hit(self): check(2 * float(open('value; true').read()))")
    write = "import sys; open(sys.argv[1] + '/value; true', 'a').write('0.001'); print('MADE', sys.argv[1:])"
    plan = helpers.plan(
        {"head": head, "base": base},
        "head base base head",
        prepare=(("{python}", "-c", write, "{tree}", "$HOME"), ("true",)),
    )
    harness = run(plan)
    assert (harness.values("head"), harness.values("base")) == ([0.001] * 2, [0.002] * 2), harness.stderr
    assert harness.log("prepare-head-1.log").count("MADE") == 1
    assert "'$HOME'" in harness.log("prepare-base-1.log")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (
            ("{python}", "-c", "print('one\\ntwo'); raise SystemExit('no wheel')"),
            "ended with exit code 1: one | two | no wheel",
        ),
        (("no-such-program",), "no-such-program: No such file or directory"),
        (("sleep", "300"), "took longer than its limit of 0.5 s"),
    ],
)
def test_where_one_arm_cannot_be_prepared_nothing_is_started(project, run, helpers, command, error):
    head = project.commit("def test_hit(self): print('STARTED'); check(0.001)")
    plan = helpers.plan({"head": head, "base": head}, "head base", prepare=(command,), prepare_timeout_s=0.5)
    harness = run(plan)
    assert harness.process.returncode == 2
    for arm in ("head", "base"):
        (reading,) = harness.readings(arm)
        assert reading["error"].startswith("preparing base") and error in reading["error"]
    assert not (harness.out / "logs" / "launch-1-head.log").exists()
    assert helpers.marked() == []


def test_the_limit_of_the_whole_plan(project, run, helpers):
    head = project.commit("""
    calls = 0
    def test_hit(self):
        TestKL.calls += 1
        if self.calls == 2: time.sleep(60)
        check(0.002)
    """)
    harness = run(helpers.plan({"head": head}, "head head", repeats=2, max_seconds=2))
    assert harness.statuses() == ["ok", "timeout", "timeout", "timeout"]
    assert harness.readings()[1]["error"] == "the rerun reached its limit of 2 s"


CANCELLED = """
def test_hit(self):
    check(0.002)
    if not os.path.exists("{go}") and os.path.exists("second"): time.sleep(60)
    open("second", "w").close()
"""


def test_a_resumed_run_measures_what_is_missing(project, start, run, helpers, tmp_path):
    go = tmp_path / "go"
    head = project.commit(CANCELLED.format(go=go))
    plan = helpers.plan({"head": head}, "head head head", repeats=1)
    first = start(plan)
    helpers.until(lambda: (first.out / "readings-head.jsonl").exists() and len(first.readings()) == 1)
    helpers.until(lambda: (first.out / "logs" / "launch-2-head.log").exists())
    assert first.terminate() == 2
    assert first.statuses() == ["ok", "cancelled", "cancelled"]

    go.touch()
    resumed = run(plan, "--resume", out=first.out)
    assert resumed.process.returncode == 0, resumed.stderr
    assert [(r["launch"], r["status"], r["seq"]) for r in resumed.readings()] == [
        ("req-1-1", "ok", 1),
        ("req-1-2-2", "ok", 2),
        ("req-1-3-2", "ok", 3),
    ]
    summary = resumed.summary()
    assert (summary["complete"], summary["superseded"]) == (True, 2)
    assert [launch["launch"] for launch in summary["launches"]] == [
        *("req-1-1", "req-1-2", "req-1-3", "req-1-2-2", "req-1-3-2"),
    ]
    before = (first.out / "readings-head.jsonl").read_bytes()
    again = run(plan, "--resume", out=first.out)
    assert again.process.returncode == 0
    assert (first.out / "readings-head.jsonl").read_bytes() == before


def test_a_failure_that_was_measured_is_not_measured_again(project, run, helpers):
    head = project.commit("def test_hit(self): check(0.002); self.fail('cached tokens')")
    plan = helpers.plan({"head": head}, repeats=2)
    first = run(plan)
    resumed = run(plan, "--resume", out=first.out)
    assert resumed.process.returncode == 2
    assert resumed.statuses() == ["error", "error"]
    assert {r["launch"] for r in resumed.readings()} == {"req-1-1"}


def test_another_plan_is_not_resumed(project, run, helpers):
    head = project.commit(UP)
    first = run(helpers.plan({"head": head}))
    other = run(helpers.plan({"head": head}, repeats=2), "--resume", out=first.out)
    assert other.process.returncode == 1
    assert "holds readings of another plan; give an empty folder" in other.stderr
    (first.out / "plan.json").write_text("{")
    broken = run(helpers.plan({"head": head}), "--resume", out=first.out)
    assert "its plan.json is no plan" in broken.stderr
    fresh = run(helpers.plan({"head": head}), "--resume")
    assert fresh.process.returncode == 0


def test_two_reruns_never_write_into_one_folder(project, start, run, helpers):
    head = project.commit("def test_hit(self): check(0.002); time.sleep(60)")
    plan = helpers.plan({"head": head})
    first = start(plan)
    helpers.until(lambda: (first.out / "logs" / "launch-1-head.log").exists())
    second = run(plan, "--resume", out=first.out)
    assert second.process.returncode == 1
    assert "another rerun is writing there; wait for it or cancel it" in second.stderr
    first.terminate()


def test_two_reruns_of_one_clone_leave_each_others_trees_alone(project, start, run, helpers, tmp_path):
    go = tmp_path / "go"
    slow = project.commit(
        f"def test_hit(self):\n    while not os.path.exists('{go}'): time.sleep(0.05)\n    check(0.001)"
    )
    quick = project.commit(UP)
    first = start(helpers.plan({"head": slow}, "head head"))
    helpers.until(lambda: (first.out / "logs" / "launch-1-head.log").exists())
    assert run(helpers.plan({"head": quick})).values() == [0.002]
    go.touch()
    assert first.wait() == 0
    assert first.values() == [0.001, 0.001]


def test_there_is_never_half_a_line(tmp_path):
    path = tmp_path / "a.jsonl"
    file = JsonLines(path)
    file.write({"a": 1})
    file.close()
    with path.open("a") as cut:
        cut.write('{"b": 2}\nno json\n[1]\n{"c"')
    assert read_lines(path) == [{"a": 1}, {"b": 2}]
    assert read_lines(tmp_path / "absent") == []


def test_a_port_that_is_not_given_back_is_a_note(tmp_path):
    """Our own process plays the launch and the server that outlives it."""
    code = "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1])"
    with subprocess.Popen(
        [sys.executable, "-uc", f"{code}; sys.stdin.read()"],
        env={**os.environ, "KL_TRIAGE_LAUNCH": "ports.1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        port = int(server.stdout.readline())
        leftovers = Leftovers("ports.1")
        leftovers.look()
        assert leftovers.wait(gpu=False, within_s=0.2) == [
            f"port {port} was still taken 0.2 s after the launch was ended"
        ]
        server.stdin.close()
        server.wait()
    assert leftovers.wait(gpu=False, within_s=5) == []
    with socket.create_server(("127.0.0.1", 0)):
        assert Leftovers("ports.2").wait(gpu=False, within_s=0) == []


def test_gpu_memory_that_is_not_given_back_is_a_note(tmp_path, monkeypatch):
    """nvidia-smi shows the process of the launch as long as the file names it."""
    apps = tmp_path / "apps"
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\ncat {apps}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "KL_TRIAGE_LAUNCH": "gpu.1"}) as server:
        leftovers = Leftovers("gpu.1")
        leftovers.look()
        server.kill()
    apps.write_text(f"1\n{server.pid}\n")
    assert leftovers.wait(gpu=True, within_s=0.2) == [
        f"GPU memory of process {server.pid} was still held 0.2 s after the launch was ended"
    ]
    assert leftovers.wait(gpu=False, within_s=0.2) == []
    apps.write_text("1\n")
    assert leftovers.wait(gpu=True, within_s=5) == []


SMI = """#!/bin/sh
case "$*" in
  *--query-compute-apps*) printf '4711\\n[Not Found]\\n';;
  *--query-gpu=name,driver_version,clocks*) {full};;
  *--query-gpu=name,driver_version\\ *) printf 'NVIDIA H100 80GB HBM3, 535.104.05\\n';;
  *) printf '| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\\n';;
esac
"""
ROW = "printf 'NVIDIA H100 80GB HBM3, 550.54.15, 1980, 2619, 700.00, 31, {ecc}\\n'"


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """Puts a nvidia-smi on PATH that answers the full query by this line of shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("RUNNER_NAME", "h100-a-gpu-0-1")

    def put(full: str) -> None:
        file = folder / "nvidia-smi"
        file.write_text(SMI.format(full=full))
        file.chmod(0o755)

    return put


def test_what_nvidia_smi_tells(smi):
    smi(f"{ROW.format(ecc=0)}; {ROW.format(ecc='[N/A]')}")
    found = fingerprint()
    assert (found.gpu, found.driver, found.cuda) == ("NVIDIA H100 80GB HBM3", "550.54.15", "12.4")
    assert (found.place, found.runner) == ("h100-a-gpu-0-1", "h100-a-gpu-0-1")
    known = {
        "name": "NVIDIA H100 80GB HBM3",
        "driver": "550.54.15",
        "sm_clock_mhz": 1980,
        "memory_clock_mhz": 2619,
        "power_limit_w": 700,
        "temperature_c": 31,
    }
    assert found.gpus == ({**known, "ecc_uncorrected": 0}, known)
    assert found.as_record()["gpus"][1] == {name: v for name, v in known.items() if name != "driver"}
    assert compute_processes() == {4711}


def test_a_nvidia_smi_that_lacks_a_field_tells_the_basic_ones(smi):
    smi("echo 'Field \"clocks.mem\" is not a valid field to query.'; exit 2")
    assert fingerprint().gpus == ({"name": "NVIDIA H100 80GB HBM3", "driver": "535.104.05"},)


def test_a_nvidia_smi_that_fails_or_talks_nonsense_is_no_gpu(smi, tmp_path):
    smi("echo")
    assert fingerprint().gpus == ()
    (tmp_path / "bin" / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'; exit 9\n")
    assert (fingerprint().gpus, fingerprint().gpu, fingerprint().cuda) == ((), None, None)
    assert compute_processes() == frozenset()


def test_ecc_errors_and_lost_gpus_are_notes():
    quiet = Fingerprint("a", gpus=({"ecc_uncorrected": 1.0}, {"name": "x"}))
    worse = Fingerprint("a", gpus=({"ecc_uncorrected": 3.0}, {"name": "x"}))
    assert notes(quiet, quiet) == []
    assert notes(quiet, worse) == ["GPU 0: 2 uncorrected ECC errors during the launch"]
    assert notes(quiet, Fingerprint("a")) == ["nvidia-smi shows 0 GPUs, 2 before the launch"]


def test_each_launch_tells_its_machine_and_packages(project, run, helpers, smi, tmp_path, monkeypatch):
    counter = tmp_path / "ecc"
    smi(f"echo x >> {counter}; {ROW.format(ecc='%s')} $(wc -l < {counter})")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{Path(sys.executable).parent}")
    harness = run(helpers.plan({"head": project.commit(UP)}))
    (launch,) = harness.summary()["launches"]
    assert launch["runner"] == "h100-a-gpu-0-1"
    assert [gpu["ecc_uncorrected"] for gpu in launch["gpus"] + launch["gpus_after"]] == [1, 2]
    assert launch["notes"] == ["GPU 0: 1 uncorrected ECC errors during the launch"]
    assert "numpy" in launch["packages"] and launch["cuda"] == "12.4"
    assert harness.readings()[0]["gpu"] == "NVIDIA H100 80GB HBM3"
    assert json.loads((harness.out / "launches.jsonl").read_text()) == launch


def test_a_tear_down_that_fails_is_a_note_of_its_launch(project, start, helpers):
    head = project.commit("""
    @classmethod
    def tearDownClass(cls): raise OSError("the server stays")
    def test_hit(self): check(0.002)
    """)
    harness = start(helpers.plan({"head": head}))
    harness.wait()
    assert harness.values() == [0.002]
    (launch,) = harness.summary()["launches"]
    assert launch["ended"] == "done"
    assert launch["notes"] == ["the tear-down failed: OSError: the server stays"]
