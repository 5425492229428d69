"""Each family that could fool a judge is what its name says."""

import numpy as np
import pytest

from bot.verdict import Evidence
from tests.bench.hard import HARD, hard


def runs(world, arm: str, launches: int, repeats: int) -> np.ndarray:
    """Values, launches x repeats."""
    records = [world.launch(arm, f"{arm}-{i}", repeats, 0) for i in range(launches)]
    return np.array([[record["value"] for record in run] for run in records])


@pytest.mark.parametrize("family", HARD)
def test_readings_of_every_family_are_evidence(family):
    for seed in range(3):
        world = hard(seed, family)
        records = (world.red_job or []) + world.history
        records += world.launch("head", "h", 4, 0) + world.launch("base", "b", 4, 0)
        assert len(Evidence.from_records(records).readings) == len(records)


def test_families_take_turns():
    names = [hard(seed).family.split(",")[0].replace(" ", "_") for seed in range(len(HARD))]
    assert names == list(HARD)


def test_drift_ends_at_half_as_much_again():
    world = hard(0, "drift")
    hosts = np.zeros(4_000, np.int64)
    first, last = (np.median(world.draw("history", 4_000, 1, hosts, when)) for when in (0.0, 1.0))
    assert last / first == pytest.approx(1.5, rel=0.05)
    assert np.median(runs(world, "base", 2_000, 1)) / np.median(
        runs(world, "head", 2_000, 1)
    ) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("family", "arms"), [("new_mode", {"head"}), ("old_mode", {"head", "base", "history"})]
)
def test_a_mode_lifts_whole_runs(family, arms):
    world = hard(3, family)
    world.run_factor = 1_000.0
    for arm in ("head", "base", "history"):
        values = runs(world, arm, 2_000, 1)
        lifted = np.mean(values > 100 * np.median(values))
        assert lifted == pytest.approx(world.run_rate if arm in arms else 0.0, abs=0.03)


def test_launch_noise_is_between_servers():
    logs = np.log(runs(hard(0, "launch_noise"), "head", 500, 4))
    assert np.std(logs.mean(axis=1)) == pytest.approx(0.25, rel=0.15)
    assert np.mean(np.std(logs, axis=1)) < 0.02


@pytest.mark.parametrize(("family", "factor"), [("gpu_high", 1.5), ("gpu_low", 1 / 1.5)])
def test_reruns_are_on_the_red_jobs_gpu_type_and_history_on_both(family, factor):
    world = hard(0, family)
    past = [world.launch("history", "p", 1, 0)[0] for _ in range(2_000)]
    levels = {gpu: np.median([r["value"] for r in past if r["gpu"] == gpu]) for gpu in ("gpu-x", "gpu-y")}
    assert levels["gpu-x"] / levels["gpu-y"] == pytest.approx(factor, rel=0.1)
    reruns = world.red_job + world.launch("head", "h", 4, 0) + world.launch("base", "b", 4, 0)
    assert {record["gpu"] for record in reruns} == {"gpu-x"}


def test_heavy_tails_reach_further_than_normal_ones():
    world = hard(0, "heavy_tail")
    values = np.log(world.draw("base", 20_000, 1, np.zeros(20_000, np.int64), 1.0)[:, 0, 0])
    z = (values - values.mean()) / values.std()
    assert np.mean(z**4) > 4.0, "3 for a normal law"


def test_tiny_histories():
    assert {len(hard(seed, "tiny_history").history) for seed in range(30)} == {1, 2, 3, 4, 5}


def test_base_has_one_prompt_fewer():
    world = hard(0, "narrow_base")
    assert len(world.launch("head", "h", 1, 0)[0]["per_prompt"]) == 9
    base = world.launch("base", "b", 1, 0)[0]
    assert len(base["per_prompt"]) == 8
    assert base["value"] == pytest.approx(np.mean(base["per_prompt"]))


def test_lists_are_missing_in_some_readings_or_all():
    world = hard(0, "lists_missing")
    listed = ["per_prompt" in record for record in world.launch("head", "h", 2_000, 0)]
    assert np.mean(listed) == pytest.approx(world.listed, abs=0.04)
    assert not any("per_prompt" in record for record in hard(0, "no_lists").launch("head", "h", 50, 0))


def test_prompts_differ_in_spread():
    world = next(w for w in (hard(seed, "uneven_prompts") for seed in range(20)) if w.prompts == 32)
    sds = np.log(world.draw("base", 2_000, 1, np.zeros(2_000, np.int64), 1.0)[:, 0, :]).std(axis=0)
    assert 0.25 < sds.min() < 0.5
    assert 1.0 < sds.max() < 1.3


def test_hosts_are_unnamed_or_ten():
    assert "host" not in hard(0, "no_hosts").launch("head", "h", 1, 0)[0]
    world = hard(0, "ten_hosts")
    assert len({world.launch("head", "h", 1, 0)[0]["host"] for _ in range(10)}) == 10
