"""Plays the worlds of a calibration on all cores, with progress on a terminal."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Final

from rich.console import Console
from rich.progress import track

from bot.cli.inputs import InputError
from bot.verdict import Evidence, Policy, Refusal
from bot.verdict.calibrate import SCENARIOS, Calibration, Played, calibration, play_world
from bot.verdict.fitted import FittedTest, fit_test

CHUNK: Final = 4
"""Worlds handed to a worker at once: few, so that Ctrl-C and the progress bar are quick."""


def calibrate(evidence: Evidence, policy: Policy, worlds: int, seed: int) -> Calibration | Refusal:
    """`worlds` of each scenario; the same seed gives the same answer on any number of cores."""
    test = fit_test(evidence, policy)
    if isinstance(test, Refusal):
        return test
    return calibration(test, policy, _played(test, policy, worlds, seed))


def _played(test: FittedTest, policy: Policy, worlds: int, seed: int) -> list[Played]:
    jobs = [(scenario, number) for number, scenario in product(range(worlds), range(len(SCENARIOS)))]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one worker a core; a spawned worker reads it
    pool = ProcessPoolExecutor(
        min(_cores(), len(jobs)), get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )
    try:
        results = pool.map(partial(play_world, test, policy, seed), jobs, chunksize=CHUNK)
        shown = track(
            results,
            "worlds",
            len(jobs),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        return [world for world in shown if world is not None]
    except BrokenProcessPool:
        raise InputError("A worker process was killed, most likely for want of memory.") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
