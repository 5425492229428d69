"""The judge on simulated worlds with a known truth.

`python -m tests.bench.judge [--worlds N] [--demo N] [--first SEED]`

Prints, per family, how it ended, and the shares that score a judge, each with its exact 95 % interval.
Worlds are those of tests/verdict/worlds.py; the same seeds give the same table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from bot.verdict import Evidence, decide
from bot.verdict.stats import clopper_pearson
from tests.verdict.build import prompts
from tests.verdict.worlds import demo, play, wide

DEMO = ("noise", "shift", "fault", "frozen")
ALARMS = ("regression", "deterministic", "intermittent", "hardware")
QUIET, QUIETABLE = 0.005, 0.003


@dataclass(frozen=True)
class Row:
    family: str
    seed: int
    kind: str
    reason: str
    bumped: bool
    runs: int
    minutes: float
    rounds: int
    exceeds_new: float | None
    """True exceedance of healthy code at the proposed bound."""
    exceeds_double: float | None
    """The same at twice the old bound, for noise."""


def run(job: tuple[str, int]) -> Row | None:
    mode, seed = job
    world = wide(seed) if mode == "wide" else demo(mode, seed)
    outcome = play(world)
    if outcome is None:
        return None
    family = f"shift × {world.shift:g}" if world.truth == "shift" else world.truth
    verdict = outcome.verdict
    bump = verdict.proposal
    noise = world.truth == "noise"
    return Row(
        family,
        seed,
        str(verdict.kind),
        verdict.reason,
        bump is not None,
        outcome.runs,
        outcome.minutes,
        outcome.rounds,
        world.exceeds(bump.threshold) if bump and noise else None,
        world.exceeds(2 * world.bound) if noise else None,
    )


def share(hits: int, n: int) -> str:
    if n == 0:
        return "no worlds"
    low, high = clopper_pearson(hits, n)
    return f"{hits}/{n} = {hits / n:.1%} ({low:.1%} to {high:.1%})"


def table(rows: list[Row]) -> None:
    families: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.family].append(row)
    for family in sorted(families):
        mine = families[family]
        means = [np.mean([getattr(r, name) for r in mine]) for name in ("rounds", "runs", "minutes")]
        print(f"{family}: {len(mine)} worlds, {means[0]:.1f} rounds, {means[1]:.0f} runs, {means[2]:.0f} min")
        for (kind, reason, bumped), count in Counter(
            (r.kind, r.reason, r.bumped) for r in mine
        ).most_common():
            print(f"    {count:5d}  {kind} ({reason}){'  BUMP' if bumped else ''}")


def scores(rows: list[Row]) -> None:
    noise = [r for r in rows if r.family == "noise"]
    false = [r for r in rows if r.bumped and r.family not in ("noise", "rare", "shift × 1.15")]
    quietable = [r for r in noise if (r.exceeds_double or 0.0) <= QUIETABLE]
    bumped = [r for r in noise if r.bumped]
    print("false bumps     ", share(len(false), len(rows)))
    for family, count in Counter(r.family for r in false).items():
        print(f"    {family}: {share(count, sum(r.family == family for r in rows))}")
    print("noise resolved  ", share(sum(r.bumped for r in quietable), len(quietable)))
    print("bumps then quiet", share(sum((r.exceeds_new or 0.0) <= QUIET for r in bumped), len(bumped)))
    print("false alarms    ", share(sum(r.kind in ALARMS for r in noise), len(noise)))
    runs, minutes = np.median([r.runs for r in rows]), np.mean([r.minutes for r in rows])
    print(f"median runs {runs:.0f}, mean {minutes:.0f} min")


def speed() -> None:
    """`decide` on 500 readings of 32 prompts: best of seven, since other work is no property of the judge."""
    records = [*prompts("head", 0.002, 25, 10, 1), *prompts("base", 0.002, 25, 10, 2)]
    for record in records:
        record["per_prompt"] = (record["per_prompt"] * 4)[:32]
    evidence = Evidence.from_records(records)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        decide(evidence)
        times.append(time.perf_counter() - start)
    print(f"decide on {len(records)} readings of 32 prompts: {min(times) * 1000:.0f} ms (asked: 50)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000, help="wide worlds (default 2000)")
    parser.add_argument("--demo", type=int, default=200, help="worlds of each of the demo's scenarios")
    parser.add_argument("--first", type=int, default=0, help="first seed; use a new one after tuning")
    options = parser.parse_args()

    def seeds(count: int) -> range:
        return range(options.first, options.first + count)

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor() as pool:
        if options.demo:
            jobs = [(truth, seed) for truth in DEMO for seed in seeds(options.demo)]
            print("The demo's scenarios\n")
            table([row for row in pool.map(run, jobs, chunksize=8) if row])
        if options.worlds:
            jobs = [("wide", seed) for seed in seeds(options.worlds)]
            rows = [row for row in pool.map(run, jobs, chunksize=8) if row]
            print(f"\nWide worlds: {len(rows)} of {options.worlds} had a red job\n")
            table(rows)
            print()
            scores(rows)
    speed()


if __name__ == "__main__":
    main()
