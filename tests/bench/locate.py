"""How long `locate` takes: one long file, and a tree whose classes inherit across files.

Usage: python -m tests.bench.locate [--files 1500]
The tree is written to a temporary folder and searched by a fresh process, reading from disk included.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

LONG_LIMIT_MS: Final = 50.0
TREE_LIMIT_S: Final = 1.0
LINES: Final = 2_000
REPEATS: Final = 20
FILES: Final = 1_500
BASES: Final = 30
"""Files in between: each inherits from the one base file, and a share of all others from each of them."""
SUBCLASSES: Final = 600

KIT: Final = '''\
from engine.test.utils import check_decode, check_prefill


class RadixKit:
    """Cached against uncached log-probs."""

    kl_threshold: float = 0.003
    gsm8k_threshold: float = 0.93

    def test_gsm8k(self):
        self.assertGreater(few_shot(self.base_url, num_questions=200), self.gsm8k_threshold)

    def test_prefill_hit(self):
        check_prefill(self.base_url, self.model, self.kl_threshold, samples=32)

    def test_decode_hit(self):
        check_decode(self.base_url, self.model, self.kl_threshold, samples=32)
'''
HEADER: Final = """\
import os
import unittest
from types import SimpleNamespace

import requests

from engine.test.ci import register_ci
from engine.test.utils import DEFAULT_URL, TIMEOUT, CustomTestCase, kill, launch
{imports}

register_ci(est_time=300, stage="base-b", runner_config="4-gpu")

"""
CLASS: Final = '''\

class {name}({base}):
    """One server per class; {name} asks it {name} times."""

    model = "org/model-{name}"
    {bound}
    gsm8k_threshold = 0.003

    @classmethod
    def setUpClass(cls):
        cls.base_url = DEFAULT_URL
        cls.process = launch(
            cls.model, cls.base_url, timeout=TIMEOUT, other_args=["--tp-size", "4", "--page-size", "64"]
        )

    @classmethod
    def tearDownClass(cls):
        kill(cls.process.pid)

    def test_{name}(self):
        response = requests.post(self.base_url + "/generate", json={{"text": "hi", "n": 32}})
        self.assertEqual(response.status_code, 200)
        for index, part in enumerate(response.json()["parts"]):
            self.assertIn("text", part, f"{{index}}: kl_threshold = 0.003")

'''


def long_file(lines: int = LINES) -> str:
    """Classes of one file, each with a bound of its own."""
    text = HEADER.format(imports="from engine.test.kits.radix_kit import RadixKit")
    count = 0
    while text.count("\n") < lines:
        text += CLASS.format(
            name=f"TestLong{count}",
            base="RadixKit, CustomTestCase",
            bound=f"kl_threshold = 0.00{count % 9 + 1}",
        )
        count += 1
    return text


def tree(files: int = FILES) -> dict[str, str]:
    """Path → text: a kit, a base class, classes in between, `SUBCLASSES` below them, and neighbours."""
    between = min(BASES, files // 4)
    below = min(SUBCLASSES, files // 2)
    imported = "from engine.test.kits.radix_kit import RadixKit"
    top = CLASS.format(name="TestTop", base="RadixKit, CustomTestCase", bound="kl_threshold = 0.005")
    found = {
        "python/engine/test/kits/radix_kit.py": KIT,
        "python/engine/test/utils.py": "import unittest\n\n\nclass CustomTestCase(unittest.TestCase): ...\n",
        "test/registered/test_top.py": HEADER.format(imports=imported) + top,
    }
    for n in range(between):
        written = HEADER.format(imports="from test_top import TestTop as Above")
        written += CLASS.format(name=f"TestMid{n}", base="Above", bound="page = 64")
        found[f"test/registered/test_mid_{n}.py"] = written
    for n in range(below):
        mid = f"TestMid{n % between}"
        written = HEADER.format(imports=f"from test.registered.test_mid_{n % between} import {mid}")
        written += CLASS.format(name=f"TestLow{n}", base=mid, bound="tier = 2")
        found[f"test/registered/group_{n % 12}/test_low_{n}.py"] = written
    for n in range(files - len(found)):
        written = HEADER.format(imports=imported)
        for part in "ab":
            written += CLASS.format(
                name=f"TestFar{part}{n}", base="CustomTestCase", bound="kl_div_thres = 0.005"
            )
        found[f"test/registered/far_{n % 20}/test_far_{n}.py"] = written
    return found


def write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)


def long_ms(text: str, repeats: int = REPEATS) -> float:
    """Median milliseconds to locate the last class of the file."""
    from bot.source import Site, locate

    data, last = text.encode(), text.rpartition("class TestLong")[2].partition("(")[0]
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        found = locate("test_long.py", f"TestLong{last}.test_prefill_hit", {"test_long.py": data}.get)
        times.append(1_000 * (time.perf_counter() - started))
        if not isinstance(found, Site):
            raise SystemExit(f"the long file gave no site: {found}")
    return statistics.median(times)


def searched(root: Path) -> dict[str, float | int]:
    """One search of the tree on disk: seconds, tests governed, files."""
    started = time.perf_counter()
    from bot.source import Site, locate

    def listed() -> list[str]:
        return [str(path.relative_to(root)) for path in root.rglob("*.py")]

    def read(path: str) -> bytes | None:
        target = root / path
        return target.read_bytes() if target.is_file() else None

    found = locate("test/registered/test_top.py", "TestTop.test_prefill_hit", read, list_files=listed)
    seconds = time.perf_counter() - started
    if not isinstance(found, Site) or not found.complete:
        raise SystemExit(f"the tree gave no complete site: {found}")
    return {"seconds": seconds, "governed": len(found.governs)}


def in_a_fresh_process(root: Path) -> dict[str, float | int]:
    command = [sys.executable, "-m", "tests.bench.locate", "--search", str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, float | int] = json.loads(done.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description="Times locate on a long file and on a tree.")
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.search is not None:
        print(json.dumps(searched(arguments.search)))
        return 0
    text = long_file()
    took = long_ms(text)
    held = _word(took <= LONG_LIMIT_MS)
    print(f"{text.count(chr(10)):,} lines: {took:.1f} ms (asked: {LONG_LIMIT_MS:g} ms): {held}")
    with tempfile.TemporaryDirectory() as folder:
        written = tree(arguments.files)
        write(Path(folder), written)
        runs = [in_a_fresh_process(Path(folder)) for _ in range(5)]
    seconds = statistics.median(run["seconds"] for run in runs)
    held = _word(seconds <= TREE_LIMIT_S)
    print(
        f"{len(written):,} files, {sum(map(len, written.values())) / 1e6:.1f} MB, "
        f"{runs[0]['governed']:,} tests governed: {seconds:.2f} s cold (asked: {TREE_LIMIT_S:g} s): {held}"
    )
    return 0 if took <= LONG_LIMIT_MS and seconds <= TREE_LIMIT_S else 1


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold"


if __name__ == "__main__":
    sys.exit(main())
