"""The demo's four scenarios played to the end; each wide family is what its name says."""

import numpy as np
import pytest

from bot.verdict import Evidence, Policy, VerdictKind
from tests.verdict.world import LOST, NEW, OLD, World
from tests.verdict.worlds import SHARES, demo, play, wide

RIGHT = {
    "noise": VerdictKind.NOISE,
    "shift": VerdictKind.REGRESSION,
    "fault": VerdictKind.INTERMITTENT,
    "frozen": VerdictKind.DETERMINISTIC,
}


@pytest.mark.parametrize("truth", RIGHT)
def test_a_demo_world_ends_right(truth):
    """40 worlds each. Noise may stay unresolved twice (measured: 1 in 100), nothing else may go wrong."""
    outcomes = [play(demo(truth, seed)) for seed in range(40)]
    wrong = [o for o in outcomes if o.verdict.kind is not RIGHT[truth]]
    assert len(wrong) <= (2 if truth == "noise" else 0)
    assert all(o.verdict.kind is VerdictKind.INCONCLUSIVE for o in wrong), "unresolved at worst"
    assert all((o.verdict.proposal is not None) == (o.verdict.kind is VerdictKind.NOISE) for o in outcomes)
    assert max(o.rounds for o in outcomes) <= Policy().max_batches
    assert max(o.minutes for o in outcomes) <= Policy().budget_minutes


def draw(world: World, arm: str, n: int = 4_000, when: float = 1.0) -> np.ndarray:
    """n runs on fresh servers: n x prompts."""
    hosts = world.rng.integers(world.hosts, size=n)
    return world.draw(arm, n, 1, hosts, when)[:, 0, :]


def ratio(world: World, arm: str, over: str) -> float:
    return float(np.median(draw(world, arm)) / np.median(draw(world, over)))


@pytest.mark.parametrize("prompts", [4, 9, 32])
def test_healthy_code_exceeds_its_bound_as_often_as_asked(prompts):
    world = World("noise", exceedance=0.05, prompts=prompts, launch_sd=0.1, host_sd=0.05, hosts=3)
    assert np.mean(draw(world, "head", 20_000).mean(axis=1) > 0.003) == pytest.approx(0.05, abs=0.006)
    assert world.exceeds(0.003) == pytest.approx(0.05, abs=0.001)
    assert world.exceeds(0.006) < 0.01


def test_a_red_job_is_two_tries_on_one_server_both_over_the_bound():
    red = wide(1, "noise").red_job
    assert [record["attempt"] for record in red] == [1, 2]
    assert {(record["arm"], record["launch"]) for record in red} == {("trigger", "red")}
    assert all(record["value"] > record["threshold"] for record in red)


def test_a_world_without_a_red_job_is_skipped():
    world = World("rare", exceedance=1e-5)
    assert world.red_job is None
    assert play(world) is None


def test_twins_share_the_red_job_and_draw_alike():
    world = wide(1, "noise")
    first, second = world.twin(), world.twin()
    assert first.red_job == second.red_job == world.red_job
    assert first.launch("head", "a", 3, 0) == second.launch("head", "a", 3, 0)


def test_the_shares_are_those_of_the_description():
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert SHARES["noise"] == 0.40


@pytest.mark.parametrize("family", SHARES)
def test_readings_of_every_family_are_evidence(family):
    for seed in range(5):
        world = wide(seed, family)
        records = (world.red_job or []) + world.history
        records += world.launch("head", "h", 4, 0) + world.launch("base", "b", 4, 0)
        assert len(Evidence.from_records(records).readings) == len(records)


@pytest.mark.parametrize("seed", range(6))
def test_a_shift_lifts_head_alone(seed):
    world = wide(seed, "shift")
    assert ratio(world, "head", "base") == pytest.approx(world.shift, rel=0.05)
    assert ratio(world, "history", "base") == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("arms", [NEW, OLD])
@pytest.mark.parametrize("same_prompt", [True, False])
def test_a_fault_lifts_one_prompt_in_its_share_of_runs(arms, same_prompt):
    world = World("fault", arms=arms, fault_rate=0.3, fault_factor=1_000, same_prompt=same_prompt)
    for arm in ("head", "base", "history"):
        values = draw(world, arm)
        hit = values > 100 * np.median(values)
        if arm in arms:
            assert hit.any(axis=1).mean() == pytest.approx(0.3, abs=0.03)
            assert hit.sum(axis=1).max() == 1
            assert hit.any(axis=0).sum() == (1 if same_prompt else 9)
        else:
            assert not hit.any()


def test_faults_are_drawn_as_described():
    for family, arms in (("fault", NEW), ("old_fault", OLD)):
        worlds = [wide(seed, family) for seed in range(30)]
        assert {world.arms for world in worlds} == {arms}
        assert all(0.05 <= world.fault_rate <= 0.4 and 8 <= world.fault_factor <= 100 for world in worlds)
        assert {world.same_prompt for world in worlds} == {True, False}


def test_a_step_lifts_history_for_good():
    world = World("step", step=2.0, step_at=0.5, past=60, prompt_sd=0.35)
    values = [record["value"] for record in world.history]
    assert np.median(values[30:]) / np.median(values[:30]) == pytest.approx(2.0, rel=0.15)
    assert np.median(draw(world, "base").mean(axis=1)) / np.median(values[30:]) == pytest.approx(1, rel=0.1)
    assert ratio(world, "head", "base") == pytest.approx(1.0, rel=0.05)


def test_frozen_arms_give_one_value():
    drawn = set()
    for seed in range(12):
        world = wide(seed, "frozen")
        drawn.add(world.arms)
        for arm in OLD:
            assert (np.ptp(draw(world, arm, 50).mean(axis=1)) == 0) == (arm in world.arms)
    assert drawn == {NEW, (*NEW, "base"), ("base",)}


def test_one_bad_host_lies_higher_on_every_arm():
    world = World("hardware", hosts=3, bad_host=2.0)
    for arm in OLD:
        bad, good = (world.draw(arm, 2_000, 1, np.full(2_000, host), 1.0) for host in (0, 1))
        assert np.median(bad) / np.median(good) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("whole", [True, False])
def test_reruns_are_lost_and_nothing_else(whole):
    world = World("noise", past=20, lost_rate=0.3, lost_launches=whole)
    reruns = [world.launch("head", f"h{i}", 4, 0) for i in range(500)]
    lost = np.array([[record["status"] != "ok" for record in run] for run in reruns])
    assert lost.mean() == pytest.approx(0.3, abs=0.06)
    assert np.all(lost.all(axis=1) == lost.any(axis=1)) == whole
    assert {record["status"] for run in reruns for record in run} == {"ok", *LOST}
    assert all(record["status"] == "ok" for record in world.red_job + world.history)


def test_lost_worlds_keep_the_truth_beneath():
    worlds = [wide(seed, "lost") for seed in range(20)]
    assert {(world.family, world.truth) for world in worlds} == {
        ("lost, noise", "noise"),
        ("lost, shift", "shift"),
    }
    assert all(0.05 <= world.lost_rate <= 0.5 for world in worlds)


def test_a_bit_exact_base_gives_zero_and_head_does_not():
    worlds = [wide(seed, "exact") for seed in range(12)]
    assert {world.threshold for world in worlds} == {0.0, 1e-9, 1e-7}
    assert all(not draw(world, "base", 10).any() for world in worlds)
    assert all(draw(world, "head", 10).min() > world.threshold for world in worlds)


def test_nan_and_inf_in_the_red_job_or_in_some_runs_of_head():
    drawn = set()
    for seed in range(8):
        world = wide(seed, "non_finite")
        drawn.add(world.arms)
        broken = ~np.isfinite(draw(world, "head").mean(axis=1))
        expected = world.non_finite_rate if "head" in world.arms else 0.0
        assert broken.mean() == pytest.approx(expected, abs=0.03)
        assert np.isfinite(draw(world, "base")).all()
        if world.arms == ("trigger",):
            assert not np.isfinite([record["value"] for record in world.red_job]).any()
    assert drawn == {NEW, ("trigger",)}


def test_rare_draws_come_from_a_healthy_test():
    worlds = [wide(seed, "rare") for seed in range(5)]
    assert all(0.001 <= world.exceedance <= 0.003 for world in worlds)
    assert all(ratio(world, "head", "base") == pytest.approx(1.0, rel=0.05) for world in worlds)
