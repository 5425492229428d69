"""The judge and its rivals on simulated worlds with a known truth.

Prints one line a judge, then the judge by family, the families that could fool it, and the speed of `decide`.
The same seeds give the same worlds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path

from bot.verdict import Evidence, Policy, decide
from tests.bench import report
from tests.bench.hard import hard
from tests.bench.rivals import RIVALS, Bench
from tests.bench.score import Row, Truth
from tests.verdict.build import prompts
from tests.verdict.world import World
from tests.verdict.worlds import demo, play, wide

JUDGE = "this judge"
DEMO = ("noise", "shift", "fault", "frozen")
SMALL_SHIFT = 1.15
"""A rise too small to matter: a bump counts neither way."""


@dataclass(frozen=True)
class Job:
    """One world: `family` is wide, hard, or one of the demo's."""

    family: str
    seed: int
    judge: str = JUDGE
    policy: Policy | None = None
    rivals: bool = False

    def world(self) -> World:
        makers = {"wide": wide, "hard": hard}
        return makers[self.family](self.seed) if self.family in makers else demo(self.family, self.seed)


def run(job: Job) -> list[Row]:
    """One row a judge; none where the world has no red job."""
    world = job.world()
    outcome = play(world.twin(), job.policy) if world.red_job else None
    if outcome is None:
        return []
    verdict = outcome.verdict
    new = verdict.proposal.threshold if verdict.proposal else None
    ended = (str(verdict.kind), verdict.reason)
    rows = [_row(job.judge, world, *ended, new, outcome.runs, outcome.minutes)]
    for name, rival in RIVALS.items() if job.rivals else ():
        bench = Bench(world.twin())
        new = rival(bench)
        kind = "noise" if new is not None else bench.kind
        rows.append(_row(name, world, kind, "", new, bench.runs, bench.runs + 3.0 * bench.launches))
    return rows


def _row(
    judge: str, world: World, kind: str, reason: str, new: float | None, runs: int, minutes: float
) -> Row:
    truth = truth_of(world)
    noise = truth is Truth.NOISE
    return Row(
        judge,
        world.family,
        truth,
        world.seed,
        kind,
        reason,
        world.threshold,
        new,
        runs,
        minutes,
        world.exceeds(new) if noise and new is not None else None,
        world.exceeds(2 * world.bound) if noise else None,
    )


def truth_of(world: World) -> Truth:
    if world.truth == "noise":
        return Truth.NOISE
    small = world.truth == "shift" and world.shift <= SMALL_SHIFT
    return Truth.EITHER if small or world.truth == "rare" else Truth.WRONG


def run_all(pool: ProcessPoolExecutor, name: str, jobs: Sequence[Job]) -> list[Row]:
    found = pool.map(run, jobs, chunksize=max(1, min(16, len(jobs) // 8)))
    return [row for rows in counted(found, name, len(jobs)) for row in rows]


def counted(items: Iterator[list[Row]], name: str, n: int) -> Iterator[list[Row]]:
    """The items, counted on stderr: in place on a terminal, else a line each tenth."""
    terminal = sys.stderr.isatty()
    for i, item in enumerate(items, 1):
        yield item
        if terminal:
            print(f"\r{name}: {i} of {n} worlds", end="" if i < n else "\n", file=sys.stderr, flush=True)
        elif i == n or i % max(1, n // 10) == 0:
            print(f"{name}: {i} of {n} worlds", file=sys.stderr, flush=True)


def speed() -> str:
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
    return f"decide on {len(records)} readings of 32 prompts: {min(times) * 1000:.0f} ms (asked: 50)"


@dataclass(frozen=True)
class Curve:
    """One field of the policy, and the values to try."""

    name: str
    values: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Curve:
        """NAME=v1,v2,... Raises ArgumentTypeError with what to do."""
        name, _, values = text.partition("=")
        kinds = {f.name: type(f.default) for f in fields(Policy)}
        kind = kinds.get(name)
        if kind not in (int, float):
            numbers = ", ".join(sorted(n for n, k in kinds.items() if k in (int, float)))
            raise argparse.ArgumentTypeError(f"'{name}' is no number of the policy; take one of {numbers}")
        try:
            return cls(name, tuple(kind(value) for value in values.split(",")))
        except ValueError:
            what = "whole numbers" if kind is int else "numbers"
            raise argparse.ArgumentTypeError(f"{name} takes {what} with commas between them") from None

    def jobs(self, seeds: range) -> list[Job]:
        return [
            Job("wide", seed, f"{self.name} = {value:g}", replace(Policy(), **{self.name: value}))
            for value in self.values
            for seed in seeds
        ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judge", description=__doc__)
    add = parser.add_argument
    add("--worlds", type=_count, default=2400, help="worlds as VERDICTS.md describes them (default 2400)")
    add("--hard", type=_count, default=700, help="worlds that could fool it (default 700)")
    add("--demo", type=_count, default=100, help="worlds of each of the demo's stories (default 100)")
    add("--first", type=_count, default=0, help="first seed; take a fresh one after tuning")
    add("--rivals", action=argparse.BooleanOptionalAction, default=True, help="play the rivals too")
    curve = "also the judge for several values of one field of its policy; may be given again"
    add("--curve", type=Curve.parse, action="append", default=[], metavar="NAME=V1,V2", help=curve)
    add("--reasons", action="store_true", help="how each family ended, with the reason")
    add("--json", type=Path, metavar="FILE", help="write scores and rows there")
    options = parser.parse_args()
    if options.json and not options.json.parent.is_dir():
        parser.error(f"{options.json.parent} is no folder; make it first")
    return options


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def main() -> None:
    options = arguments()
    start = time.perf_counter()
    parts = simulate(options)
    sections = []
    if parts.get("wide"):
        sections += [f"Worlds of the description ({options.worlds} seeds)"]
        sections += sections_of(parts["wide"], options.reasons, asked=True)
    if parts.get("curve"):
        sections += ["Trade-off curves", report.judges(parts["curve"], asked=False)]
    if parts.get("hard"):
        sections += ["Worlds that could fool it", *sections_of(parts["hard"], options.reasons, asked=False)]
    if parts.get("demo"):
        sections += ["The demo's stories", report.families(parts["demo"])]
    sections += [speed(), f"{time.perf_counter() - start:.0f} s"]
    print("\n\n".join(sections))
    if options.json:
        options.json.write_text(json.dumps(report.as_json(parts)) + "\n")


def sections_of(rows: Sequence[Row], reasons: bool, *, asked: bool) -> list[str]:
    own = [row for row in rows if row.judge == JUDGE]
    detail = [report.reasons(own)] if reasons else []
    return [
        f"{len(own)} worlds had a red job.",
        report.judges(rows, asked=asked),
        report.families(own),
        *detail,
        report.false_bumps(own),
    ]


def simulate(options: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows of each part: wide, curve, hard, demo."""

    def seeds(count: int) -> range:
        return range(options.first, options.first + count)

    jobs = {
        "wide": [Job("wide", seed, rivals=options.rivals) for seed in seeds(options.worlds)],
        "curve": [job for curve in options.curve for job in curve.jobs(seeds(options.worlds))],
        "hard": [Job("hard", seed, rivals=options.rivals) for seed in seeds(options.hard)],
        "demo": [Job(story, seed) for story in DEMO for seed in seeds(options.demo)],
    }
    # One thread a worker: spawned, so that numpy reads this when it loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return {name: run_all(pool, name, mine) for name, mine in jobs.items() if mine}


if __name__ == "__main__":
    main()
