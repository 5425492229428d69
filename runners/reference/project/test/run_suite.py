"""Runs the test files registered for a suite, one Python process each, and prints what the CI job log shows.

python test/run_suite.py --suite kl-cpu
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tinyserve.ci_register import registration_of  # noqa: E402

RULE = "=" * 60


@dataclass(frozen=True)
class Outcome:
    path: Path
    exit_code: int
    elapsed: int


def files_of(suite: str) -> list[tuple[Path, float]]:
    """Test files of `suite` with their estimated seconds."""
    registered = [(path, registration_of(path)) for path in sorted(ROOT.glob("test/registered/**/test_*.py"))]
    return [(path, float(found.est_time)) for path, found in registered if found and found.suite == suite]


def run_file(path: Path, estimate: float, position: str) -> Outcome:
    print(f".\n.\nBegin ({position}):\npython3 {path}\n.\n.\n", flush=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    # As in CI the child's stdout stays block-buffered: what it prints can surface after its tracebacks.
    env.pop("PYTHONUNBUFFERED", None)
    start = time.perf_counter()
    command = [sys.executable, str(path), "-f"]
    exit_code = subprocess.run(command, env=env, stderr=subprocess.STDOUT, check=False).returncode
    elapsed = round(time.perf_counter() - start)
    print(
        f".\n.\nEnd ({position}):\nfilename='{path}', elapsed={elapsed}, estimated_time={estimate}\n.\n.\n",
        flush=True,
    )
    if exit_code:
        print(f"\n✗ FAILED: {path} returned exit code {exit_code}\n", flush=True)
    return Outcome(path, exit_code, elapsed)


def summary(outcomes: list[Outcome], planned: int, seconds: float) -> str:
    passed = [outcome for outcome in outcomes if outcome.exit_code == 0]
    failed = [outcome for outcome in outcomes if outcome.exit_code]
    lines = [f"{'Fail' if failed else 'Success'}. Time elapsed: {seconds:.2f}s", "", RULE]
    lines += [f"Test Summary: {len(passed)}/{planned} unit(s) passed", RULE]
    if passed:
        lines += ["✓ PASSED:", *(f"  {outcome.path}" for outcome in passed), ""]
    if failed:
        lines += ["✗ FAILED:", *(f"  {outcome.path} (exit code {outcome.exit_code})" for outcome in failed)]
    lines += [RULE, "", "========== TIMINGS BEGIN =========="]
    for outcome in outcomes:
        file = outcome.path.relative_to(ROOT).as_posix()
        lines.append(json.dumps({"file": file, "passed": outcome.exit_code == 0, "elapsed": outcome.elapsed}))
    return "\n".join([*lines, "========== TIMINGS END =========="])


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the test files registered for a suite.")
    parser.add_argument("--suite", required=True)
    suite = parser.parse_args().suite
    files = files_of(suite)
    if not files:
        print(f"No test file is registered for suite '{suite}'.", file=sys.stderr)
        return 1
    print(f"✅ Enabled {len(files)} test(s) (est total {sum(estimate for _, estimate in files):.1f}s):")
    for path, estimate in files:
        print(f"  - {path} (est_time={estimate})")
    print(flush=True)
    start = time.perf_counter()
    outcomes: list[Outcome] = []
    for number, (path, estimate) in enumerate(files):
        outcomes.append(run_file(path, estimate, f"{number}/{len(files) - 1}"))
        if outcomes[-1].exit_code:
            break
    print(summary(outcomes, len(files), time.perf_counter() - start), flush=True)
    return 255 if any(outcome.exit_code for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
