"""`kl-triage selftest`: what it looks at, and what the reference test says of a machine."""

from __future__ import annotations

import json
import math
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.local.fitness import Finding, State, is_fit, judged, reference_plan, tools
from bot.local.measure import Measured
from bot.local.show import findings_text
from bot.verdict import Arm, Reading, Status
from runners.reference.distribution import RECORDED, Distribution, deviations
from tests.cli.test_cli import run

PLAN = reference_plan("a" * 40)


def readings(level: float = RECORDED.median, sd: float = 0.28, seed: int = 1) -> tuple[Reading, ...]:
    """Runs as the reference gives them: nine prompts, their mean a log-normal around the level."""
    draw = random.Random(seed)
    found = []
    for number, launch in enumerate(PLAN.launches, 1):
        for repeat in range(1, launch.repeats + 1):
            prompts = tuple(level * math.exp(draw.gauss(0, sd)) for _ in range(9))
            found.append(
                Reading(
                    arm=Arm.HEAD,
                    test=PLAN.test,
                    status=Status.OK,
                    value=level * math.exp(draw.gauss(0, sd / 3)),
                    per_prompt=prompts,
                    threshold=0.003,
                    launch=PLAN.launch_id(number),
                    repeat=repeat,
                    duration_s=0.1,
                )
            )
    return tuple(found)


def told(*found: Reading, **changes: object) -> Finding:
    every = [replace(reading, **changes) for reading in found]  # type: ignore[arg-type]
    (finding,) = judged(Measured(PLAN, tuple(every), True, False))
    return finding


def test_healthy_runs_are_as_recorded_whatever_the_draw():
    """200 draws of what the record says: none is told to differ (each comparison errs once in 10,000)."""
    assert [seed for seed in range(200) if deviations(Distribution.of(readings(seed=seed)))] == []
    assert told(*readings()).state is State.OK


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (readings(level=0.0029), "the level is × 1."),
        (readings(sd=0.8), "the spread (log-sd 0."),
        (readings(sd=0.0), "every run gave the same value"),
    ],
)
def test_another_level_or_spread_is_told(found, says):
    finding = told(*found)
    assert finding.state is State.BAD and says in finding.text and finding.do


def test_nan_and_a_wild_prompt_and_another_bound_are_told():
    whole = readings()
    assert "nan or inf" in told(*whole[1:], replace(whole[0], value=math.nan)).text
    wild = replace(whole[0], per_prompt=(0.1, *whole[0].per_prompt[1:]))
    assert "over the median prompt" in told(*whole[1:], wild).text
    assert "the bound is not 0.003" in told(*whole, threshold=0.004).text


def test_on_a_gpu_another_level_is_a_note_but_a_frozen_one_is_not():
    note = told(*readings(level=0.0029), gpu="NVIDIA H200")
    assert note.state is State.NOTE and "on NVIDIA H200; the record is of a CPU: the level is" in note.text
    assert told(*readings(sd=0.0), gpu="NVIDIA H200").state is State.BAD


def test_a_run_without_a_value_is_not_fit():
    whole = readings()
    lost = Reading(Arm.HEAD, PLAN.test, Status.ERROR, error="ImportError: no torch")
    (finding,) = judged(Measured(PLAN, (*whole[1:], lost), False, False))
    assert finding.state is State.BAD
    assert "1 of 24 runs of the reference test gave no value: ImportError: no torch" in finding.text


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder that is the first of PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_what_is_there_is_fine(path):
    program(path, "nvidia-smi", "echo 'NVIDIA H200, 570.1'; echo 'NVIDIA H200, 570.1'")
    program(path, "python-x", """echo '["2.9.0", "12.8", true]'""")
    found = {finding.name: finding for finding in tools("python-x")}
    assert is_fit(list(found.values())), found
    assert found["gpu"].text == "2 × NVIDIA H200, 570.1"
    assert found["torch"].text == "torch 2.9.0, CUDA 12.8"


def test_what_is_missing_comes_with_what_to_do(path):
    program(path, "git", "exit 1")
    program(path, "nvidia-smi", "echo 'No devices were found'")
    program(path, "python-x", "echo oops")
    found = {finding.name: finding for finding in tools("python-x")}
    assert {name for name, finding in found.items() if finding.state is State.BAD} == {"git", "gpu", "torch"}
    assert all(finding.do for finding in found.values() if finding.state is State.BAD)


def test_torch_that_does_not_see_the_gpu_is_not_fit(path):
    program(path, "nvidia-smi", "echo 'NVIDIA H200, 570.1'")
    program(path, "python-x", """echo '["2.9.0", null, false]'""")
    found = {finding.name: finding for finding in tools("python-x")}
    assert "sees no GPU beside one that is there" in found["torch"].text


def test_a_disk_that_is_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path / "gone"))
    found = {finding.name: finding for finding in tools(sys.executable)}
    assert found["disk"].state is State.BAD and "No such file" in found["disk"].text


def test_it_reads_well_in_a_narrow_terminal():
    found = [
        Finding("git", State.OK, "git version 2.39.5"),
        Finding("torch", State.BAD, "python3 cannot import torch", "install it " * 12),
    ]
    text = findings_text(found, 60, False)
    assert max(map(len, text.splitlines())) <= 60
    assert text.endswith("\nnot fit as a runner: 1 to mend\n")
    assert "\x1b" not in text and "\x1b" in findings_text(found, 60, True)


@pytest.mark.timeout(120)
def test_this_machine_is_measured():
    done = run("selftest", "--json")
    document = json.loads(done.stdout)
    assert [finding["name"] for finding in document["findings"]] == [
        "git",
        "disk",
        "gpu",
        "torch",
        "reference",
    ]
    assert (done.returncode, document["fit"]) == (0, True), document


def test_an_interpreter_without_torch_is_not_fit_and_nothing_is_measured(tmp_path):
    program(tmp_path, "python-x", "exit 1")
    done = run("selftest", "--python", str(tmp_path / "python-x"))
    assert done.returncode == 2
    assert "BAD" in done.stdout and "pip install 'kl-triage[torch]'" in done.stdout
    assert "not fit as a runner: 1 to mend" in done.stdout
