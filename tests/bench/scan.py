"""Speed and memory of the reader of job logs, beside `grep -aF avg_kl_div` on the same file.

Writes a log of server chatter with 200 measured checks in it, and scans it in a process of its own on one
core. Then lines made to hurt: one of 50 MB, one as long as the log, and lines on which Python's `re` takes
exponential time. The same size gives the same log. Speeds are of CPU time, since other work is no property of
the reader.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bot.logs import ScanResult, scan
from bot.logs.linear import compile_pattern
from rules import Pack, load_named

MB = 1_000_000
BLOCKS = 200
ASKED_SPEED = 350
ASKED_MEMORY = 100
FIND = b"avg_kl_div"
TEST = "/runner/_work/project/test/registered/kl/test_chatter_kl.py"
STAMP = "2026-05-29T02:{:02}:{:02}.{:07}Z "
HURTING = (
    (r"kl=(\d+)+ over", "kl=" + "1" * 23 + "!"),
    (r"kl: (\w+\s?)*over", "kl: " + "a" * 22 + "!"),
    (r"value (.*,)*over", "value " + "," * 23),
    (r"drift (x+x+)+over", "drift " + "x" * 24),
)
"""Patterns and the lines on which backtracking tries every way to split the line."""


@dataclass(frozen=True)
class Speed:
    """One program on one log; best of its rounds, by CPU time."""

    name: str
    bytes: int
    cpu_s: float
    wall_s: float
    peak_mb: float | None
    found: int

    @property
    def rate(self) -> float:
        """MB of log a second of CPU."""
        return self.bytes / MB / max(self.cpu_s, 1e-6)


@dataclass(frozen=True)
class Hurt:
    """A pattern on one line: seconds of Python's `re` and of RE2."""

    pattern: str
    length: int
    re_s: float
    re2_s: float


def chatter(size: int, seed: int = 0) -> bytes:
    """About `size` bytes of what servers print while a test runs."""
    draw = random.Random(seed)
    lines: list[str] = []
    written = 0
    while written < size:
        second, rank = draw.randrange(60), draw.randrange(4)
        at = f"[2026-05-29 02:22:{second:02} TP{rank}]"
        line = draw.choices(
            (
                f"{at} Decode batch, #running-req: {draw.randrange(32)}, #token: {draw.randrange(40_000)}, "
                f"token usage: 0.{draw.randrange(100):02}, "
                f"gen throughput (token/s): {draw.uniform(9, 999):.1f}",
                f"{at} Prefill batch, #new-seq: {draw.randrange(9)}, #new-token: {draw.randrange(9000)}, "
                f"#cached-token: {draw.randrange(9000)}, token usage: 0.{draw.randrange(100):02}",
                f"[2026-05-29 02:22:{second:02}] INFO:     127.0.0.1:{draw.randrange(65_536)} - "
                '"POST /generate HTTP/1.1" 200 OK',
                f"Capturing batches ({draw.randrange(160)}/160, avail mem={draw.uniform(1, 80):.2f} GB):  "
                f"{draw.randrange(100)}%|{'█' * draw.randrange(10)}| {draw.uniform(1, 9):.2f}it/s",
                "",
            ),
            (60, 25, 10, 4, 1),
        )[0]
        lines.append(STAMP.format(22, second, draw.randrange(10**7)) + line)
        written += len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()


def measured(number: int) -> bytes:
    """What one passing check prints, the values its own."""
    value = 0.001 + number / 1_000_000
    lines = (
        f"[CI Test Method] TestChatter.test_{number:03}",
        f"kl_divs=[{value}, {value}, {value}]",
        f"avg_kl_div={value}",
        "ACC_THRESHOLDS={'kl_div': 0.003}",
    )
    return "".join(f"{STAMP.format(23, number % 60, number)}{line}\n" for line in lines).encode()


def write_log(path: Path, size: int) -> None:
    """A whole job's log of about `size` bytes, its checks evenly spread."""
    gap = size // BLOCKS
    pieces = cycle([chatter(min(64_000, gap), seed) for seed in range(125)])
    with path.open("wb") as stream:
        stream.write(f"{STAMP.format(1, 0, 0)}Begin (0/0):\n{STAMP.format(1, 0, 1)}python3 {TEST}\n".encode())
        for number in range(BLOCKS):
            while stream.tell() < gap * (number + 1):
                stream.write(next(pieces))
            stream.write(measured(number))
        stream.write(f"{STAMP.format(59, 0, 0)}End (0/0):\n".encode())
        stream.write(f"{STAMP.format(59, 0, 1)}Cleaning up orphan processes\n".encode())


def one_line(size: int) -> Iterator[bytes]:
    """A log that is one line of `size` bytes, with a value in it that is not to be read."""
    yield b"avg_kl_div=0.5 "
    yield from islice(cycle([b"x" * MB]), size // MB)
    yield b"\n"


def reader(log: str) -> ScanResult:
    """`log` is a path, or the length of one single line."""
    pack = load_named("sglang")
    assert isinstance(pack, Pack)
    if log.isdecimal():
        return scan(one_line(int(log)), pack.scan_forms)
    with Path(log).open("rb") as stream:
        return scan(stream, pack.scan_forms)


def child(log: str) -> None:
    """Scans in this process, and prints what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = reader(log)
    cost = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "peak_mb": peak_mb()}
    print(json.dumps({**cost, "found": len({reading.value for reading in result.readings})}))


def peak_mb() -> float:
    """Of this program alone: what `getrusage` counts begins before `exec`, with the parent's pages."""
    status = Path("/proc/self/status")
    if status.exists() and (peak := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(peak[1]) * 1024 / MB
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def scan_speed(log: Path | int) -> Speed:
    command = [sys.executable, "-m", "tests.bench.scan", "--child", str(log)]
    answer = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    size = log if isinstance(log, int) else log.stat().st_size
    return Speed("kl-triage scan", size, **json.loads(answer.stdout))


def grep_speed(log: Path) -> Speed:
    """Its output goes into a pipe: grep stops at the first match where it is thrown away."""
    wall = time.perf_counter()
    command = ["grep", "-aF", FIND.decode(), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as grep:
        assert grep.stdout is not None
        found = grep.stdout.read().count(FIND)
        _, _, used = os.wait4(grep.pid, 0)
        grep.returncode = 0
    cpu = used.ru_utime + used.ru_stime
    return Speed("grep -aF avg_kl_div", log.stat().st_size, cpu, time.perf_counter() - wall, None, found)


def race(log: Path, rounds: int) -> tuple[Speed, Speed]:
    """Both in turn on a file that is in memory; the best of each, with the largest memory of any round."""
    grep_speed(log)
    pairs = [(scan_speed(log), grep_speed(log)) for _ in range(rounds)]
    ours = [pair[0] for pair in pairs]
    best = min(ours, key=lambda speed: speed.cpu_s)
    worst = max(speed.peak_mb or 0.0 for speed in ours)
    found = min(ours, key=lambda speed: speed.found).found
    grep = min((pair[1] for pair in pairs), key=lambda speed: speed.cpu_s)
    return Speed(best.name, best.bytes, best.cpu_s, best.wall_s, worst, found), grep


def hurt() -> list[Hurt]:
    """The same patterns on the same lines, by backtracking and in linear time."""
    found = []
    for text, line in HURTING:
        backtracking, linear = re.compile(text), compile_pattern(text)
        start = time.process_time()
        assert backtracking.search(line) is None
        middle = time.process_time()
        repeats = 200
        assert all(linear.search(line) is None for _ in range(repeats))
        end = time.process_time()
        found.append(Hurt(text, len(line), middle - start, (end - middle) / repeats))
    return found


def table(ours: Speed, grep: Speed, lines: list[Speed], hurts: list[Hurt]) -> str:
    """A line's speed is left out: its bytes are made on the way and mostly not looked at."""
    rows = [f"{'':24}{'MB':>7}{'MB/s':>8}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'found':>7}"]
    named = [(speed.name, f"{speed.rate:.0f}", speed) for speed in (ours, grep)]
    named += [(f"one line of {speed.bytes // MB} MB", "-", speed) for speed in lines]
    for name, rate, speed in named:
        peak = "-" if speed.peak_mb is None else f"{speed.peak_mb:.0f}"
        numbers = f"{speed.bytes / MB:>7.0f}{rate:>8}{speed.cpu_s:>8.2f}{speed.wall_s:>8.2f}"
        rows.append(f"{name:24}{numbers}{peak:>9}{speed.found:>7}")
    rows += ["", f"{'pattern':24}{'bytes':>7}{'re s':>12}{'RE2 s':>12}{'ratio':>14}"]
    for item in hurts:
        ratio = item.re_s / max(item.re2_s, 1e-9)
        rows.append(f"{item.pattern:24}{item.length:>7}{item.re_s:>12.3f}{item.re2_s:>12.7f}{ratio:>14,.0f}")
    return "\n".join(rows)


def verdicts(ours: Speed, grep: Speed, lines: list[Speed]) -> dict[str, bool]:
    """What was asked, and whether it holds."""
    peak = max(speed.peak_mb or 0.0 for speed in (ours, *lines))
    return {
        f"{BLOCKS} readings, each once": ours.found == BLOCKS == grep.found,
        f"at least {ASKED_SPEED} MB/s": ours.rate >= ASKED_SPEED,
        f"at most {ASKED_MEMORY} MB of memory": peak <= ASKED_MEMORY,
        "nothing read from an endless line": all(speed.found == 0 for speed in lines),
    }


def byte_count(text: str) -> int:
    """`200M`, `1G`: powers of ten."""
    unit = {"K": 1000, "M": MB, "G": 1000 * MB}
    match = re.fullmatch(r"(\d{1,6})([KMG]?)", text)
    size = int(match[1]) * unit.get(match[2], 1) if match else 0
    if size < 100_000:
        raise argparse.ArgumentTypeError(f"'{text}' is no size of 100K or more, such as 200M or 1G")
    return size


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scan", description=__doc__)
    parser.add_argument("--size", type=byte_count, default=1000 * MB, help="of the log (default 1G)")
    parser.add_argument("--rounds", type=int, choices=range(1, 20), default=3, metavar="N")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", metavar="LOG", help=argparse.SUPPRESS)
    asked: Any = parser.parse_args()
    if asked.child:
        child(asked.child)
        return 0
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="bench-scan-") as folder:
        log = Path(folder) / "job.log"
        write_log(log, asked.size)
        ours, grep = race(log, asked.rounds)
    lines = [scan_speed(50 * MB), scan_speed(asked.size)]
    hurts, held = hurt(), verdicts(ours, grep, lines)
    if asked.json:
        speeds = [{**asdict(speed), "mb_per_s": speed.rate} for speed in (ours, grep, *lines)]
        print(json.dumps({"speeds": speeds, "hurt": [asdict(item) for item in hurts], "held": held}))
    else:
        print(table(ours, grep, lines, hurts))
        print(f"\n{ours.rate / grep.rate:.2f} of grep's speed")
        print("\n".join(f"{'holds' if holds else 'MISSED':8}{what}" for what, holds in held.items()))
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
