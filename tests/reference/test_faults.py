"""The three faults do what their headers say, and healthy code does none of it."""

import re

import numpy as np
import pytest

from runners.reference.distribution import OUTLIER, Distribution
from runners.reference.measure import DEMO_METHOD, FAULTS, faults, measure, project_tree

TEST = f"TestHybridCacheKL.{DEMO_METHOD}"


def measured(fault: str, runs: int, launches: int = 1) -> Distribution:
    with project_tree(fault) as tree:
        return Distribution.of(measure(tree, TEST, runs, launches=launches, jobs=2))


@pytest.fixture(scope="module")
def healthy() -> Distribution:
    return measured("none", 20)


def test_the_faults_are_those_of_the_demo():
    assert faults() == ["chunk_boundary", "frozen_sampling", "stale_state_slot"]


@pytest.mark.parametrize("fault", faults())
def test_a_fault_changes_the_engine_and_nothing_that_measures_it(fault):
    text = (FAULTS / f"{fault}.patch").read_text()
    touched = set(re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)$", text, re.M))
    assert touched
    assert touched <= {"tinyserve/cache.py", "tinyserve/engine.py", "tinyserve/sampler.py"}
    added = "\n".join(line for line in text.splitlines() if line.startswith("+"))
    assert "environ" not in added
    assert "random" not in added


@pytest.mark.parametrize("fault", faults())
def test_a_fault_applies_and_leaves_the_test_file_alone(fault):
    with project_tree("none") as clean, project_tree(fault) as tree:
        files = [path.relative_to(clean) for path in clean.rglob("*") if path.is_file()]
        changed = {str(path) for path in files if (clean / path).read_bytes() != (tree / path).read_bytes()}
    assert changed
    assert all(path.startswith("tinyserve/") for path in changed)


def test_healthy_runs_differ_and_lie_where_the_measurements_say(healthy):
    # DISTRIBUTION.md: median 0.0026, log-sd 0.09. The median of 20 moves by about 3 %.
    assert 0.0022 < np.median(healthy.values) < 0.0030
    assert healthy.values.max() < 0.005
    assert healthy.highest_prompts().max() < OUTLIER
    assert len(set(healthy.values)) == 20


def test_the_chunk_boundary_fault_doubles_the_level(healthy):
    ratio = np.median(measured("chunk_boundary", 10).values) / np.median(healthy.values)
    assert 1.6 < ratio < 2.5


def test_the_stale_slot_throws_the_last_prompt_out_in_some_runs():
    # Each run has it with a chance of about 0.43: none of 24 happens once in 700,000 tests, all of 24 never.
    stale = measured("stale_state_slot", 24)
    out = stale.highest_prompts() >= OUTLIER
    assert 0 < out.sum() < 24
    assert set(stale.prompts[out].argmax(axis=1)) == {8}
    assert stale.values[out].min() > 0.003
    assert np.median(stale.values[~out]) < 0.003


def test_frozen_sampling_gives_one_value_in_every_process():
    frozen = measured("frozen_sampling", 6, launches=2)
    assert len(set(frozen.values)) == 1
    assert frozen.values[0] > 1.3 * 0.003
