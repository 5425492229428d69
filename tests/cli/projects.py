"""A small project with a KL test of known noise, in a git repository, and the commands run on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import Done, run

TEST = "tests/test_kl.py::TestKL.test_hit"

PACK = """\
name: small
tests: ["tests/test_*.py"]
forms:
  - name: kl_over
    pattern: 'avg_kl_div=(?P<value>\\S+) > threshold=(?P<threshold>\\S+)'
    fails_when: above
prints:
  - name: value
    pattern: 'avg_kl_div=(?P<value>\\S+)\\s*$'
attributes: [kl_threshold]
compare: kit:compare
python_path: ["."]
unfit_paths: ["kit.py"]
runners: [kl-cpu]
launch_minutes: 0.05
repeat_minutes: 0.005
launch_timeout_minutes: 0.5
"""

# Values come from a generator whose seed is the number of the process: the same story each time.
KIT = """
import math, os, pathlib, random

counter = pathlib.Path(os.environ["KL_COUNTER"])
number = int(counter.read_text()) + 1
counter.write_text(str(number))
draw = random.Random(f"process {number}")

def compare(level, threshold, label):
    kl_divs = [level * math.exp(draw.gauss(0, 0.28)) for _ in range(9)]
    print(f"kl_divs={kl_divs}")
    avg_kl_div = sum(kl_divs) / len(kl_divs)
    print(f"avg_kl_div={avg_kl_div}")
    print(f"ACC_THRESHOLDS={{'kl_div': {threshold}}}")
    assert avg_kl_div < threshold, f"avg_kl_div={avg_kl_div} > threshold={threshold} for m {label}"
"""

TESTS = """
import time, unittest
import engine
from kit import compare

class TestKL(unittest.TestCase):
    kl_threshold = 0.003

    def test_hit(self):
        engine.wait()
        compare(engine.LEVEL, self.kl_threshold, "hit")
"""


# A wait of 0.2 s a repeat, until `Small.hurry`.
SLOW = "import os; time.sleep(0 if os.path.exists(os.environ['KL_COUNTER'] + '.hurry') else 0.2)"


@dataclass
class Small:
    """The repository, and what commands need beside it."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Small:
        small = cls(folder)
        (small.repo / "tests").mkdir(parents=True)
        small.git("init", "--quiet", "--initial-branch=main")
        (small.repo / "kit.py").write_text(KIT)
        (small.repo / "tests/test_kl.py").write_text(TESTS)
        (folder / "small.yaml").write_text(PACK)
        (folder / "counter").write_text("0")
        small.level("main", 0.0025)
        return small

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    def level(self, branch: str, nats: float, wait: str = "pass") -> str:
        """Commits an engine of this level on a branch and returns its SHA."""
        self.git("checkout", "--quiet", "-B", branch)
        (self.repo / "engine.py").write_text(
            f"import time\n# {branch}\nLEVEL = {nats}\n\ndef wait():\n    {wait}\n"
        )
        return self.commit(branch)

    def hurry(self) -> None:
        """From here on an engine that waits as SLOW says waits no more."""
        (self.folder / "counter.hurry").touch()

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.repo), *arguments]
        done = subprocess.run(command, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    @property
    def env(self) -> dict[str, str]:
        names = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", "dev-a"), ("EMAIL", "dev-a@example.invalid"))
        }
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return {**os.environ, **names, **quiet, "KL_COUNTER": str(self.folder / "counter")}

    def run(self, command: str, *arguments: str) -> Done:
        """kl-triage COMMAND on the test of this project, in this process."""
        return run(command, *self._given, *arguments, cwd=self.folder, env=self.env)

    @property
    def _given(self) -> list[str]:
        return ["--repo", str(self.repo), "--test", TEST, "--rules", str(self.folder / "small.yaml")]

    def start(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        """The same as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "bot.cli", command, *self._given, *arguments],
            env=self.env,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def interrupt_after(self, process: subprocess.Popen[str], readings: Path) -> tuple[str, str]:
        """Ctrl-C once the file holds a reading; stdout and stderr."""
        deadline = time.monotonic() + 30
        while not (readings.is_file() and readings.read_text()):
            assert time.monotonic() < deadline and process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=30)


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]
