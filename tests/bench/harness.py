"""What a rerun costs beside the measured test itself (`make bench-harness`).

Overhead: the reference test, 2 launches × 10 repeats × 2 arms by the harness, against the same number of
runs by plain unittest: as many processes, each one sets the class up once and runs the method in a loop.
Interpreter, imports, set-up and tear-down belong to the test. Rounds alternate, torch has one thread; the
medians are compared.

Cost: 100 values of a test whose set-up takes 20 s (a sleep before the reference's own), by 4 launches of 25
repeats against one process a value, as rerunning the file does it. One launch and one process are measured
and multiplied.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from runners.plan import RerunPlan, balanced_order
from runners.reference.measure import COMPARE, DEMO_METHOD, PROJECT, TEST_FILE

ROOT: Final = Path(__file__).resolve().parents[2]
CLASS: Final = "TestHybridCacheKL"
ASKED_OVERHEAD: Final = 0.05
ASKED_RATIO: Final = 10
VALUES, LAUNCHES = 100, 4
PLAIN: Final = """
import importlib.util, sys, unittest
spec = importlib.util.spec_from_file_location("measured", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["measured"] = module
spec.loader.exec_module(module)
case = getattr(module, sys.argv[2])
case.max_retry = 0
suite = unittest.TestSuite(case(sys.argv[3]) for _ in range(int(sys.argv[4])))
unittest.TextTestRunner().run(suite)
"""


def repository(folder: Path, set_up_s: float = 0.0) -> tuple[Path, str]:
    """The reference project as a repository of its own, and its commit; `set_up_s` longer to set up."""
    tree = folder / f"project-{set_up_s:g}"
    shutil.copytree(PROJECT, tree, ignore=shutil.ignore_patterns("__pycache__"))
    kit = tree / "tinyserve" / "kl_kit.py"
    slow = f"        __import__('time').sleep({set_up_s})\n        cls.engine = Engine("
    kit.write_text(kit.read_text().replace("        cls.engine = Engine(", slow, 1))
    git = ["git", "-C", str(tree), "-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "reference"]):
        subprocess.run([*git, *command], check=True)
    return tree, subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def by_harness(
    tree: Path, commit: str, folder: Path, launches: int, repeats: int, arms: Sequence[str]
) -> float:
    """Seconds of one whole run of the harness."""
    plan = RerunPlan(
        request="bench",
        test=f"{TEST_FILE}::{CLASS}.{DEMO_METHOD}",
        commits=dict.fromkeys(arms, commit),
        launches=balanced_order(dict.fromkeys(arms, launches), dict.fromkeys(arms, repeats)),
        compare=COMPARE,
        python_path=(".",),
    )
    with tempfile.TemporaryDirectory(dir=folder) as out:
        plan_file = Path(out) / "bench-plan.json"
        plan_file.write_text(plan.to_json())
        given = [f"--plan={plan_file}", f"--repo={tree}", f"--out={out}/out"]
        return seconds(lambda: call([sys.executable, "-m", "runners.harness", *given], ROOT))


def by_unittest(tree: Path, processes: int, repeats: int) -> float:
    """Seconds of as many processes of plain unittest, one after the other."""
    command = [sys.executable, "-c", PLAIN, TEST_FILE, CLASS, DEMO_METHOD, str(repeats)]
    environment = {**os.environ, "PYTHONPATH": str(tree)}

    def every() -> None:
        for _ in range(processes):
            call(command, tree, environment)

    return seconds(every)


def call(command: Sequence[str], cwd: Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds() -> float:
    """Of all processes that this one has waited for, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def overhead(folder: Path, rounds: int) -> tuple[float, float, float]:
    """Median seconds of the test alone and of the harness; and the share of CPU time that it takes more."""
    tree, commit = repository(folder)
    by_unittest(tree, 1, 1)  # files into the cache, byte code written
    alone, harness, cpu = [], [], []
    for _ in range(rounds):
        before = cpu_seconds()
        alone.append(by_unittest(tree, 4, 10))
        between = cpu_seconds()
        harness.append(by_harness(tree, commit, folder, 2, 10, ("head", "base")))
        cpu.append((cpu_seconds() - between) / (between - before) - 1)
    return median(alone), median(harness), median(cpu)


def cost(folder: Path, set_up_s: float) -> tuple[float, float]:
    """Seconds of `VALUES` values, file by file and by the harness; extrapolated from one process each."""
    tree, commit = repository(folder, set_up_s)
    one = by_unittest(tree, 1, 1)
    launch = by_harness(tree, commit, folder, 1, VALUES // LAUNCHES, ("head",))
    return one * VALUES, launch * LAUNCHES


def main() -> int:
    parser = argparse.ArgumentParser(description="What a rerun costs beside the measured test itself.")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--set-up", type=float, default=20.0, help="seconds; default: %(default)s")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # threads that wait for each other measure the neighbours
    with tempfile.TemporaryDirectory(prefix="bench-harness-") as folder:
        alone, harness, cpu = overhead(Path(folder), options.rounds)
        files, launches = cost(Path(folder), options.set_up)
    share, ratio = harness / alone - 1, files / launches
    print("| what | measured | asked |\n|---|---|---|")
    print(
        f"| overhead of the harness, 4 launches × 10 repeats: {harness:.2f} s against {alone:.2f} s "
        f"| {share:+.1%} | at most {ASKED_OVERHEAD:.0%} |\n| the same in CPU time, which a busy machine "
        f"leaves as it is | {cpu:+.1%} | |"
    )
    print(
        f"| {VALUES} values at a set-up of {options.set_up:g} s: {files:.0f} s by the file, {launches:.0f} s "
        f"by {LAUNCHES} launches | {ratio:.1f} × | at least {ASKED_RATIO} × |"
    )
    return 0 if share <= ASKED_OVERHEAD and ratio >= ASKED_RATIO else 2


if __name__ == "__main__":
    sys.exit(main())
