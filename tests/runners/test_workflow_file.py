"""kl-rerun.yml as GitHub and a workflow linter read it, and what `init` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bot import __version__
from bot.verdict.answer import Refusal
from rules import repository_pack
from runners.init import initial_files
from runners.workflow import kl_rerun_yml

BIN = Path(sys.executable).parent


def check(*command: str) -> str:
    done = subprocess.run([str(BIN / command[0]), *command[1:]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Under .github/workflows: linters look at the path."""
    path = tmp_path / ".github" / "workflows" / "kl-rerun.yml"
    path.parent.mkdir(parents=True)
    path.write_text(kl_rerun_yml(["4-gpu-h100", "kl-cpu"]))
    return path


def test_it_fits_the_schema_of_workflows(written):
    check("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(written))


def test_zizmor_has_no_finding(written):
    assert "No findings to report" in check("zizmor", "--offline", "--no-progress", str(written))


def test_only_a_dispatch_starts_it_its_token_reads_and_labels_come_from_the_list(written):
    document = yaml.safe_load(written.read_text())
    trigger = document[True]  # YAML 1.1 reads `on` so
    assert list(trigger) == ["workflow_dispatch"]
    assert trigger["workflow_dispatch"]["inputs"]["runner"]["options"] == ["4-gpu-h100", "kl-cpu"]
    assert document["permissions"] == {"contents": "read"}
    assert "concurrency" not in document and "concurrency" not in document["jobs"]["rerun"]
    assert "inputs.request_id" in document["run-name"]


def test_no_input_is_pasted_into_a_script_and_every_action_is_pinned_by_commit(written):
    steps = yaml.safe_load(written.read_text())["jobs"]["rerun"]["steps"]
    assert [step for step in steps if "${{" in step.get("run", "")] == []
    used = [step["uses"] for step in steps if "uses" in step]
    assert len(used) == 2 and all(len(name.partition("@")[2]) == 40 for name in used)
    assert steps[-1]["if"] == "always()"


@pytest.mark.parametrize("labels", [[], [""], ["a b"], ["x]\non: push"], ["${{ inputs.plan }}"], ['"']])
def test_labels_that_are_no_labels_are_refused(labels):
    with pytest.raises(ValueError, match="runner labels"):
        kl_rerun_yml(labels)
    answer = initial_files("sglang", labels)
    assert isinstance(answer, Refusal) and answer.code == "bad_runner"


def test_a_label_that_looks_like_a_number_stays_text():
    inputs = yaml.safe_load(kl_rerun_yml(["8080", "on"]))[True]["workflow_dispatch"]["inputs"]
    assert inputs["runner"]["options"] == ["8080", "on"]


@pytest.mark.parametrize("mode", ["off", "observe", "comment", "propose"])
def test_init_writes_two_files_and_the_mode_is_text(mode):
    files = initial_files("reference", ["kl-cpu"], mode)
    assert not isinstance(files, Refusal)
    assert sorted(files) == [".github/kl-triage.yml", ".github/workflows/kl-rerun.yml"]
    settings = yaml.safe_load(files[".github/kl-triage.yml"])
    assert settings == {"extends": "reference", "mode": mode, "runners": ["kl-cpu"], "runner": "kl-cpu"}


def test_init_observes_unless_told_otherwise():
    files = initial_files("reference", ["kl-cpu"])
    assert not isinstance(files, Refusal)
    assert yaml.safe_load(files[".github/kl-triage.yml"])["mode"] == "observe"


@pytest.mark.parametrize(
    ("pack", "mode", "code"), [("../x", "observe", "bad_pack"), ("sglang", "on", "bad_mode")]
)
def test_init_refuses_what_is_no_pack_or_mode(pack, mode, code):
    answer = initial_files(pack, ["kl-cpu"], mode)
    assert isinstance(answer, Refusal) and answer.code == code


PINNED = [
    "kl-triage==0.1.0",
    "kl-triage==1.2.3rc1",
    f"git+https://git.example.invalid/acme/kl-triage.git@{'a' * 40}",
    "/opt/wheels/kl_triage-0.1.0-py3-none-any.whl",
    "wheels/kl_triage-0.1.0-py3-none-any.whl",
    "/opt/kl-triage/bin/python3.11",
    "/bin/sh",
]
UNPINNED = [
    "",
    "kl-triage",
    "kl-triage>=0.1",
    "kl-triage==0.1.0; import os",
    "kl-triage==0.1.0\n--index-url=https://x",
    "git+https://git.example.invalid/acme/kl-triage.git@main",
    f"git+http://git.example.invalid/acme/kl-triage@{'a' * 40}",
    "-r/etc/passwd.whl",
    "kl-triage==0.1.",
    "kl-triage==0.1.0-none.whl",
    "kl-triage==1!0",
    f"git+https://-oProxy/acme/kl-triage@{'a' * 40}",
    f"git+https://git.example.invalid/../kl-triage@{'a' * 40}",
    f"git+https://git.example.invalid/acme/kl-triage@{'a' * 39}",
    "kl-triage @ wheels/kl_triage.whl",
    "wheels/kl triage.whl",
    "/opt/kl triage/bin/python3.11",
    "/usr/bin/env /opt/bin/python3",
    "/etc/passwd",
    "/nowhere/python",
    "/opt/bin/python3\n",
    "python3",
    "/opt/$(id)/python",
    "/opt/${{ inputs.plan }}/python",
]


@pytest.mark.parametrize("package", PINNED)
def test_the_package_is_one_setting_and_stays_text(package):
    files = initial_files("reference", ["kl-cpu"], package=package, python=".venv/bin/python")
    assert not isinstance(files, Refusal)
    job = yaml.safe_load(files[".github/workflows/kl-rerun.yml"])["jobs"]["rerun"]
    assert job["env"] == {"KL_TRIAGE_PACKAGE": package, "PROJECT_PYTHON": ".venv/bin/python"}


@pytest.mark.parametrize("package", UNPINNED)
def test_a_package_that_is_not_pinned_is_refused(package):
    answer = initial_files("reference", ["kl-cpu"], package=package)
    assert isinstance(answer, Refusal) and answer.code == "bad_package"
    with pytest.raises(ValueError, match="package"):
        kl_rerun_yml(["kl-cpu"], package)


@pytest.mark.parametrize("python", ["", "-c", "python3; id", "$(id)", "a\nb", "python3 -u", "python3\n", "é"])
def test_an_interpreter_that_is_none_is_refused(python):
    answer = initial_files("reference", ["kl-cpu"], python=python)
    assert isinstance(answer, Refusal) and answer.code == "bad_python"


def test_without_a_word_the_package_is_this_version():
    files = initial_files("reference", ["kl-cpu"])
    assert not isinstance(files, Refusal)
    assert f'KL_TRIAGE_PACKAGE: "kl-triage=={__version__}"' in files[".github/workflows/kl-rerun.yml"]


def test_any_label_given_is_one_that_the_settings_allow():
    files = initial_files("sglang", ["my-h100", "my-h200"], "comment")
    config = repository_pack(files[".github/kl-triage.yml"])
    assert (config.runner, config.pack.runners) == ("my-h100", ("my-h100", "my-h200"))
    assert not config.runner_is_fixed
    alone = initial_files("sglang", ["my-h100"], "comment")
    assert repository_pack(alone[".github/kl-triage.yml"]).runner_is_fixed
