"""Measures the distribution of a reference KL method, healthy or with a fault.

    python -m runners.reference.measure --fault none --runs 300 --method test_logprobs_match

Each launch is a process of its own that sets the class up once and repeats the method with the assertion
disarmed, through the same probe as a rerun on a GPU machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bot.verdict.reading import Arm, Reading, Status
from runners.reference.distribution import Distribution

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE / "project"
FAULTS: Final = HERE / "faults"
PROBE: Final = HERE.parent / "probe" / "kl_probe.py"
TEST_FILE: Final = "test/registered/kl/test_hybrid_cache_kl.py"
COMPARE: Final = "tinyserve.kl_utils:compare_kl_divergence"
DEMO_METHOD: Final = "test_logprobs_match"


class MeasureError(Exception):
    """Nothing can be measured; the message is one line for the user."""


def faults() -> list[str]:
    """Names of the faults there are, beside 'none'."""
    return sorted(path.stem for path in FAULTS.glob("*.patch"))


@contextmanager
def project_tree(fault: str) -> Iterator[Path]:
    """A temporary copy of the project, with the fault applied to it."""
    with tempfile.TemporaryDirectory(prefix="kl-reference-") as folder:
        tree = Path(folder) / "project"
        shutil.copytree(PROJECT, tree, ignore=shutil.ignore_patterns("__pycache__"))
        if fault != "none":
            apply_fault(fault, tree)
        yield tree


def apply_fault(fault: str, tree: Path) -> None:
    """Patches `tree` in place. MeasureError when git is missing or the patch does not fit."""
    # A repository above the tree would make git look there for the files.
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    command = ["git", "apply", str(FAULTS / f"{fault}.patch")]
    try:
        subprocess.run(command, cwd=tree, env=env, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise MeasureError("git is not installed: install it, the faults are applied with it") from None
    except subprocess.CalledProcessError as error:
        raise MeasureError(f"the fault '{fault}' does not fit the project: {error.stderr.strip()}") from None


def measure(tree: Path, test: str, runs: int, *, launches: int, jobs: int) -> list[Reading]:
    """`runs` readings of `test` (Class.method) in `tree`, over `launches` processes, `jobs` at a time."""
    shares = [runs // launches + (number < runs % launches) for number in range(launches)]
    with ThreadPoolExecutor(jobs) as pool:
        batches = pool.map(lambda at: _launch(tree, test, at[1], f"launch-{at[0]}"), enumerate(shares, 1))
        return [reading for batch in batches for reading in batch]


def _launch(tree: Path, test: str, repeats: int, launch: str) -> list[Reading]:
    events = tree.parent / f"{launch}.jsonl"
    events.unlink(missing_ok=True)
    command = [sys.executable, str(PROBE), "--test", f"{TEST_FILE}::{test}", "--repeats", str(repeats)]
    command += ["--compare", COMPARE, "--out", str(events)]
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tree, env=env, check=False, capture_output=True)
    records = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    for record in records:
        if record.get("failure"):
            raise MeasureError(f"{test} could not be measured: {record['failure']}")
    readings = [_reading(record, test, launch) for record in records if record["event"] == "repeat"]
    if len(readings) != repeats:
        raise MeasureError(f"{test}: a launch ended after {len(readings)} of {repeats} runs")
    return readings


def _reading(record: dict[str, object], test: str, launch: str) -> Reading:
    """The one comparison of a repeat as a reading."""
    checks = record["checks"]
    if not isinstance(checks, list) or len(checks) != 1:
        raise MeasureError(f"{test} does not make exactly one comparison a run")
    fields = {
        "arm": Arm.HEAD,
        "test": f"{TEST_FILE}::{test}",
        "status": Status.OK,
        "launch": launch,
        **{name: record[name] for name in ("repeat", "at", "duration_s")},
        **{name: checks[0][name] for name in ("value", "per_prompt", "threshold", "label")},
    }
    return Reading.from_record(fields)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures a reference KL method, healthy or with a fault.")
    parser.add_argument("--fault", choices=["none", *faults()], default="none")
    parser.add_argument("--class", dest="cls", default="TestHybridCacheKL", help="default: %(default)s")
    parser.add_argument("--method", default=DEMO_METHOD, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=300, help="default: %(default)s")
    parser.add_argument("--launches", type=int, default=4, help="processes in all; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time; default: %(default)s")
    parser.add_argument("--out", type=Path, help="write the readings there, one JSON object a line")
    options = parser.parse_args(arguments)
    if min(options.runs, options.launches, options.jobs) < 1:
        parser.error("--runs, --launches and --jobs must be at least 1")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    launches = min(options.launches, options.runs)
    test = f"{options.cls}.{options.method}"
    try:
        with project_tree(options.fault) as tree:
            readings = measure(tree, test, options.runs, launches=launches, jobs=options.jobs)
    except MeasureError as error:
        print(error, file=sys.stderr)
        return 1
    if options.out:
        lines = [json.dumps(reading.as_record()) + "\n" for reading in readings]
        options.out.write_text("".join(lines), encoding="utf-8")
    print(f"{test}, fault: {options.fault}, launches: {launches}\n\n| what | value |\n|---|---|")
    print(Distribution.of(readings).table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
