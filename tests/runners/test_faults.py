"""Faults put in on purpose: what was measured before is kept, the fault is named, nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The first repeat is measured; the second meets the fault. A server in a session of its own runs meanwhile.
BODY = """
calls = 0
@classmethod
def setUpClass(cls):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
def test_hit(self):
    TestKL.calls += 1
    if self.calls == 2: self.fault()
    check(0.002)
def fault(self):
{fault}
"""


def body(fault: str) -> str:
    return BODY.format(fault="".join(f"    {line}\n" for line in fault.strip().splitlines()))


@pytest.fixture(autouse=True)
def nothing_is_left(project, tmp_path, helpers):
    yield
    assert helpers.marked() == []
    assert project.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert project.git("status", "--porcelain") == ""
    temporary = tmp_path / "tmp"
    assert not temporary.exists() or list(temporary.iterdir()) == []


ENDED = "before this repeat was measured"


@pytest.mark.parametrize(
    ("fault", "timeout", "status", "named"),
    [
        ("os.kill(os.getpid(), 9)", 30, "error", f"the test process was ended by SIGKILL {ENDED}"),
        ("os._exit(7)", 30, "error", f"the test process ended with exit code 7 {ENDED}"),
        ("os.remove('.git'); os._exit(7)", 30, "error", f"the test process ended with exit code 7 {ENDED}"),
        ("os.abort()", 30, "error", f"the test process was ended by SIGABRT {ENDED}"),
        ("time.sleep(300)", 1.5, "timeout", "the launch ran longer than its limit of 1.5 s"),
        ("os.kill(os.getpid(), 19)", 1.5, "timeout", "the launch ran longer than its limit of 1.5 s"),
        ("raise MemoryError('CUDA out of memory')", 30, "error", "MemoryError: CUDA out of memory"),
        ("raise SystemExit(3)", 30, "error", "SystemExit: 3"),
        (
            "while True: subprocess.Popen(['sleep', '300'], start_new_session=True).poll(); time.sleep(0.01)",
            1.0,
            "timeout",
            "the launch",
        ),
    ],
)
def test_the_repeat_that_met_a_fault_names_it(project, run, helpers, fault, timeout, status, named):
    head = project.commit(body(fault))
    harness = run(helpers.plan({"head": head}, repeats=2, launch_timeout_s=timeout))
    assert harness.process.returncode == 2
    first, second = harness.readings()
    assert (first["status"], first["value"]) == ("ok", 0.002)
    assert second["status"] == status and second["error"].startswith(named)
    assert harness.summary()["complete"] is False


def test_the_next_launch_goes_on_after_a_class_that_did_not_come_up(project, run, helpers):
    head = project.commit("""
    @classmethod
    def setUpClass(cls):
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        if not os.path.exists("second"):
            open("second", "w").close()
            os._exit(9)
    def test_hit(self): check(0.002)
    """)
    harness = run(helpers.plan({"head": head}, "head head"))
    assert harness.statuses() == ["error", "ok"]
    assert "exit code 9" in harness.readings()[0]["error"]


def test_nan_and_inf_are_values_and_not_faults(project, run, helpers):
    head = project.commit("def test_hit(self): check(float('nan')); check(float('inf'), label='b')")
    harness = run(helpers.plan({"head": head}))
    assert harness.values() == ["nan", "inf"]
    assert harness.process.returncode == 0


def test_400_mebibytes_of_output_are_neither_kept_nor_in_the_way(project, start, helpers):
    """Twice what the harness may take of memory."""
    head = project.commit("""
    def test_hit(self):
        for _ in range(400): print("x" * ((1 << 20) - 1))
        check(0.002)
    """)
    harness = start(helpers.plan({"head": head}))
    peaks = [0]
    while harness.process.poll() is None:
        peaks.append(peak_kib(harness.process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            harness.process.wait(0.05)
    harness.wait()
    assert harness.values() == [0.002]
    assert (harness.out / "logs" / "launch-1-head.log").stat().st_size < 5 << 20
    assert 0 < max(peaks) < 200 << 10


def peak_kib(pid: int) -> int:
    """Most memory that a process has had so far."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    return 0


@pytest.mark.parametrize("close", ["sys.stdout.close()", "os.close(1)", "os.close(1); os.close(2)"])
def test_a_test_that_closes_its_stdout_is_measured_all_the_same(project, run, helpers, close):
    head = project.commit(f"def test_hit(self):\n    {close}\n    check(0.002)")
    harness = run(helpers.plan({"head": head}, repeats=2))
    assert harness.values()[0] == 0.002
    assert harness.statuses()[0] == "ok" and len(harness.readings()) == 2


def test_lies_in_the_probes_file_are_not_read_but_told(project, run, helpers):
    head = project.commit("""
    def test_hit(self):
        words = open("/proc/self/cmdline").read().split("\\0")
        path = next(word[6:] for word in words if word.startswith("--out="))
        lines = open(path).read()
        with open(path, "a") as file:
            for repeat in range(1, 5):
                file.write('{"event": "repeat", "repeat": %d, "checks": [{"value": 1e-9}]}\\n' % repeat)
            file.write("0" * 64 + ' {"event": "measured"}\\n')
            file.write("[" * 100_000 + "\\n")
            file.write(lines)
        check(0.005)
    """)
    harness = run(helpers.plan({"head": head}, repeats=2))
    assert harness.values() == [0.005, 0.005]
    (launch,) = harness.launches()
    (note,) = launch["notes"]
    assert note.startswith("the test wrote ") and "lines into the probe's file" in note


def test_a_sigterm_to_the_harness_keeps_what_it_has(project, start, helpers):
    head = project.commit(body("time.sleep(300)"))
    harness = start(helpers.plan({"head": head}, "head head", repeats=2))
    helpers.until(lambda: (harness.out / "readings-head.jsonl").exists() and len(harness.readings()) == 1)
    assert harness.terminate() == 2
    assert harness.statuses() == ["ok", "cancelled", "cancelled", "cancelled"]
    assert harness.summary()["cancelled"] is True


def test_a_killed_harness_leaves_no_process_and_the_next_run_goes_on(project, start, run, helpers, tmp_path):
    go = tmp_path / "go"
    head = project.commit(f"""
    def test_hit(self):
        if os.path.exists("{go}"):
            return check(0.002)
        if os.path.exists("second"):
            time.sleep(300)
        open("second", "w").close()
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        check(0.001)
    """)
    plan = helpers.plan({"head": head}, repeats=2)
    killed = start(plan)
    helpers.until(lambda: (killed.out / "readings-head.jsonl").exists() and len(killed.readings()) == 1)
    helpers.until(lambda: len(helpers.marked()) >= 2)
    killed.process.kill()
    killed.wait()
    helpers.until(lambda: helpers.marked() == [])
    assert project.git("worktree", "list", "--porcelain").count("worktree ") == 2
    other = tmp_path / "other-worktree"
    project.git("worktree", "add", "--quiet", "--detach", str(other), head)
    shutil.rmtree(other)  # on a disk that is not mounted at the moment, say
    go.touch()

    resumed = run(plan, "--resume", out=killed.out)
    assert resumed.process.returncode == 0, resumed.stderr
    assert [(r["launch"], r["repeat"], r["value"], r["seq"]) for r in resumed.readings()] == [
        ("req-1-1", 1, 0.001, 1),
        ("req-1-1-2", 1, 0.002, 2),
        ("req-1-1-2", 2, 0.002, 3),
    ]
    assert str(other) in project.git("worktree", "list", "--porcelain")
    project.git("worktree", "prune", "--expire=now")


FULL = """
def test_hit(self):
    check(*[0.002] * 200)
    TestKL.calls = getattr(TestKL, "calls", 0) + 1
    if TestKL.calls == 2:
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        print(("x" * 1023 + "\\n") * 2000, flush=True)
        time.sleep(0.5)
"""


def test_a_full_disk_is_named_and_keeps_what_was_measured(project, helpers, tmp_path):
    """A tmpfs of 160 KiB in a mount namespace of its own; what it held is copied out at the end."""
    plan_file, out, kept = tmp_path / "plan.json", tmp_path / "out", tmp_path / "kept"
    plan_file.write_text(helpers.plan({"head": project.commit(FULL)}, repeats=200).to_json())
    out.mkdir()
    (tmp_path / "tmp").mkdir()
    command = f"{sys.executable} -m runners.harness --plan={plan_file} --repo={project.path} --out={out}"
    mount = f"mount -t tmpfs -o size=160k tmpfs {out} || exit 77"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount}; {command}; code=$?; cp -r {out} {kept}; exit $code"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if not kept.exists():
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 2
    named = "No space left on device"
    assert done.stderr.startswith("kl-triage: stopped, what was measured is kept: ") and named in done.stderr
    lines = (kept / "readings-head.jsonl").read_text().splitlines()
    assert [json.loads(line)["repeat"] for line in lines] == list(range(1, len(lines) + 1))
    assert 2 <= len(lines) < 200
    summary = json.loads((kept / "summary.json").read_text())
    assert summary["complete"] is False and named in summary["stopped"]
