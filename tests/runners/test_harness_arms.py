"""Each arm measures its own commit, and what one launch started does not answer for the next."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runners.harness.environment import scrubbed
from runners.harness.imports import without
from runners.harness.leftovers import Leftovers, still_taken

REFUSED = "from another working tree of this clone, not from its commit: name python_path or prepare"
BODY = "from kit import compare\nimport unittest\nclass TestKL(unittest.TestCase):\n"
BODY += "    def test_hit(self): compare([0.002], {'m': {'kl_div': 0.003}}, 'm', 'hit')\n"


@pytest.fixture
def lib(project):
    """The commit's compare function in a folder that only a PYTHONPATH or an install finds."""
    (project.path / "lib").mkdir()
    project.git("mv", "kit.py", "lib/kit.py")
    (project.path / "tests").mkdir()
    return project.commit_file(BODY, "tests/test_kl.py")


def in_tests(helpers, commit: str, **changes: object):
    changes = {"python_path": (), "test": "tests/test_kl.py::TestKL.test_hit", **changes}
    return helpers.plan({"head": commit}, **changes)


@pytest.fixture
def editable(project, tmp_path) -> str:
    """An interpreter in which the clone is installed as `pip install -e` does it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "clone.pth").write_text(f"{project.path}/lib\n")
    return str(tmp_path / "venv" / "bin" / "python")


def test_a_pythonpath_into_the_clone_does_not_reach_the_arms(project, run, helpers, lib):
    harness = run(in_tests(helpers, lib), PYTHONPATH=f"{project.path}/lib")
    assert harness.readings()[0]["error"] == "ModuleNotFoundError: No module named 'kit'"


def test_an_editable_install_of_the_clone_is_refused(run, helpers, lib, editable):
    harness = run(in_tests(helpers, lib), f"--python={editable}")
    assert harness.process.returncode == 2
    assert harness.readings()[0]["error"] == f"head imports 'lib' {REFUSED} in the rule pack"


def test_an_editable_install_behind_the_arms_own_folder_is_none(run, helpers, lib, editable):
    harness = run(in_tests(helpers, lib, python_path=("lib",)), f"--python={editable}")
    assert harness.values() == [0.002], harness.readings()


def test_a_script_is_refused_for_an_editable_install_too(project, run, helpers, editable):
    (project.path / "lib").mkdir()
    (project.path / "lib" / "kit.py").write_text("VALUE = 0.001\n")
    head = project.commit_file("import kit\nprint(f'avg_kl_div={kit.VALUE}')\n", "script.py")
    plan = helpers.plan({"head": head}, test="script.py", kind="script", compare=None, python_path=())
    assert REFUSED in run(plan, f"--python={editable}").readings()[0]["error"]


def test_a_test_that_reaches_into_the_clone_by_itself_is_refused(project, run, helpers, lib):
    head = project.commit_file(
        f"import sys\nsys.path.insert(0, '{project.path}/lib')\n" + BODY, "tests/test_kl.py"
    )
    (reading,) = run(in_tests(helpers, head)).readings()
    assert (reading["status"], reading["error"]) == ("error", f"imports kit {REFUSED} in the rule pack")


def test_a_prepare_command_that_installs_one_arm_over_the_other_is_refused(run, helpers, lib, editable):
    write = "import sysconfig; open(sysconfig.get_path('purelib') + '/clone.pth', 'w').write('{tree}/lib')"
    plan = helpers.plan(
        {"head": lib, "base": lib},
        "head base",
        python_path=(),
        prepare=(("{python}", "-c", write),),
        test="tests/test_kl.py::TestKL.test_hit",
    )
    harness = run(plan, f"--python={editable}")
    assert [len(harness.values(arm)) for arm in ("head", "base")] == [1, 1]
    assert REFUSED in harness.readings("head")[0]["error"]


def test_a_server_without_environment_and_group_does_not_outlive_its_launch(project, run, helpers, tmp_path):
    """As one that writes its title over its environment: it listens, and the next launch would ask it."""
    head = project.commit(f"""
    @classmethod
    def setUpClass(cls):
        server = "import os, time; print(os.getpid(), file=open('{tmp_path}/pids', 'a')); time.sleep(300)"
        subprocess.Popen(["env", "-i", "setsid", "-f", sys.executable, "-c", server])
        time.sleep(0.5)
    def test_hit(self): check(0.002)
    """)
    harness = run(helpers.plan({"head": head}, "head head"))
    assert harness.values() == [0.002, 0.002]
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_port_that_stays_taken_is_remembered():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = Leftovers("nobody")
        seen.look([os.getpid()])
        assert seen.wait(gpu=False, within_s=0.1)
        assert port in seen.taken and still_taken([port]) == [port]
    assert still_taken([port]) == []


def test_a_second_rerun_on_the_machine_is_told_to_wait(project, start, run, helpers, tmp_path):
    head = project.commit("def test_hit(self): check(0.002); time.sleep(60)")
    first = start(helpers.plan({"head": head}), KL_TRIAGE_PARALLEL="0")
    helpers.until(lambda: (first.out / "logs" / "launch-1-head.log").exists())
    second = run(helpers.plan({"head": head}), KL_TRIAGE_PARALLEL="0")
    assert second.process.returncode == 1
    assert second.stderr.startswith("kl-triage: another rerun is measuring on this machine; wait for it")
    assert not second.out.exists()
    first.terminate()


def test_the_environment_of_the_harness_itself_holds_no_secret(project, run, helpers):
    head = project.commit("""
    def test_hit(self):
        parent = int(open("/proc/self/stat").read().rpartition(")")[2].split()[1])
        print("PARENT", b"hunter2" in open(f"/proc/{parent}/environ", "rb").read(), flush=True)
        check(0.002)
    """)
    harness = run(helpers.plan({"head": head}), DEPLOY_TOKEN="hunter2", AWS_PROFILE="hunter2")
    assert "PARENT False" in harness.log("launch-1-head.log")


def test_a_secret_in_an_error_is_neither_recorded_nor_printed(project, run, helpers):
    head = project.commit("""
    def test_hit(self): raise OSError("x" * 280 + " https://bot:hunter2@pypi.corp/simple")
    """)
    harness = run(helpers.plan({"head": head}))
    (reading,) = harness.readings()
    assert reading["error"].endswith("x https://[r")  # cut after it was redacted
    for text in (reading["error"], harness.stdout, str(harness.summary()), str(harness.launches())):
        assert "hunter" not in text


def test_what_is_kept_of_an_environment():
    kept = {"PATH": "/bin", "RUNNER_NAME": "r", "GITHUB_RUN_ID": "1", "MAX_TOKENS": "5", "CUDA_HOME": "/c"}
    held = {"GITHUB_ENV": "f", "HF_TOKEN": "h", "api_key": "k", "DB_PASSWORD": "p", "KL_TRIAGE_APP_ID": "1"}
    assert scrubbed({**kept, **held}) == kept


def test_an_address_in_the_environment_loses_its_password_and_stays():
    given = {
        "PIP_EXTRA_INDEX_URL": "https://bot:hunter2@pypi.corp/simple https://t0ken@b.corp/s",
        "https_proxy": "http://u:p@ss@proxy.corp:3128",
        "GIT_URL": "git+https://host/repo@v1",
    }
    assert scrubbed(given) == {
        "PIP_EXTRA_INDEX_URL": "https://pypi.corp/simple https://b.corp/s",
        "https_proxy": "http://proxy.corp:3128",
        "GIT_URL": "git+https://host/repo@v1",
    }


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("/clone/lib", False),
        ("/clone", False),
        ("/clone/.venv/lib/python3.11/site-packages", True),
        ("/clone-of-another/lib", True),
        ("/trees/head/lib", True),
        ("lib", True),
    ],
)
def test_which_entries_of_a_pythonpath_are_kept(entry, kept):
    others = (Path("/clone"), Path("/trees/base"))
    assert without(entry, others, Path("/trees/head")) == ([entry] if kept else [])


def test_a_worktree_is_cleared_away_although_its_harness_died_while_git_made_it(
    project, run, helpers, tmp_path
):
    """Git's own folder of it has no mark yet: the one beside the worktree tells whose it was."""
    head = project.commit("def test_hit(self): check(0.002)")
    folder = tmp_path / "kl-triage-dead"
    folder.mkdir()
    owner = {"host": socket.gethostname(), "pid": 2**22 + 1, "started": "1"}
    (folder / "kl-triage.json").write_text(json.dumps(owner))
    project.git("worktree", "add", "--quiet", "--detach", str(folder / "head"), head)
    assert run(helpers.plan({"head": head})).values() == [0.002]
    assert not folder.exists()
    assert project.git("worktree", "list", "--porcelain").count("worktree ") == 1
