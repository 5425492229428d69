"""Random job logs with known truth, printed as CI prints them: stdout waits in a buffer, stderr does not."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

METHODS = {
    "test_multiturn_decode_cache_hit": "decode_cache_hit",
    "test_multiturn_logprobs_match": "logprobs_match",
    "test_multiturn_prefill_cache_hit": "prefill_cache_hit",
}
ROOT = "/actions-runner/_work/engine/engine/"
BUFFER = 8192
"""Bytes that a piped stdout holds back."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One reading that a reader must find."""

    test: str
    attempt: int
    value: str
    threshold: float
    label: str
    per_prompt: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Red:
    """One failure that a reader must find."""

    kind: str
    test: str
    value: str | None
    attempts: int
    recovered: bool


@dataclass(slots=True)
class Job:
    """`lines` is the log; `readings` and `failures` are what it says."""

    dice: random.Random
    lines: list[str] = field(default_factory=list)
    readings: list[Measured] = field(default_factory=list)
    failures: list[Red] = field(default_factory=list)
    censored: list[str] = field(default_factory=list)
    red: bool = False
    flushed: bool = True
    """Banners are written through, and with them what was printed before."""
    _held: list[str] = field(default_factory=list)
    _marks: str = ""

    def err(self, *lines: str) -> None:
        for line in lines:
            self.lines.append(self._marks + line)
            self._marks = ""

    def out(self, line: str) -> None:
        self._held.append(line)
        if sum(map(len, self._held)) > BUFFER:
            self.flush()

    def flush(self) -> None:
        self.err(*self._held)
        self._held.clear()

    def mark(self, sign: str) -> None:
        """unittest's progress: no line end follows it."""
        self._marks += sign


def random_job(seed: int) -> Job:
    """A suite job of one to three files."""
    job = Job(random.Random(seed))
    job.flushed = job.dice.random() < 0.7
    job.err("Current runner version: '2.330.0'", "Runner name: 'h100-gpu-4-7'", "Machine name: 'node-a'")
    count = job.dice.randint(1, 3)
    for number in range(count):
        _file(job, f"test/registered/kl/test_{number}_kl.py", f"({number}/{count - 1})")
    if job.red:
        job.err("##[error]Process completed with exit code 255.")
    job.err("Cleaning up orphan processes")
    return job


def _file(job: Job, path: str, place: str) -> None:
    failfast = job.dice.random() < 0.5
    job.err(f"Begin {place}:", f"python3 {ROOT}{path}{' -f' if failfast else ''}", ".", "")
    entries: list[list[str]] = []
    ran = left = 0
    for cls in ("TestRadixKL", "TestHiCacheKL")[: job.dice.randint(1, 2)]:
        threshold = job.dice.choice([0.003, 0.005])
        for method, label in METHODS.items():
            if entries and failfast:
                left += 1
                continue
            ran += 1
            entry = _method(job, path, cls, method, label, threshold)
            entries += [entry] if entry else []
            job.mark("E" if entry else ".")
    job.err("")
    for entry in entries:
        job.err(*entry)
    job.err(
        "-" * 70, f"Ran {ran} tests in 301.447s", "", f"FAILED (errors={len(entries)})" if entries else "OK"
    )
    job.flush()
    job.err(f"End {place}:", f"filename='{ROOT}{path}', elapsed=333, estimated_time=315.0")
    if entries:
        job.red = True
        job.err(f"✗ FAILED: {ROOT}{path} returned exit code 1")
    if entries and failfast:
        job.censored.append(path)


def _method(job: Job, path: str, cls: str, method: str, label: str, threshold: float) -> list[str]:
    """Runs a method as the retry does: twice at most. Returns its entry in the list of failures."""
    test = f"{path}::{cls}.{method}"
    job.out(f"[CI Test Method] {cls}.{method}")
    if job.flushed:
        job.flush()
    fate = job.dice.choices(["pass", "recover", "red", "frozen", "other"], [6, 1, 1, 0.5, 0.5])[0]
    if fate == "other":
        return _not_kl(job, cls, method, test)
    over = {"pass": [False], "recover": [True, False], "red": [True, True], "frozen": [True, True]}[fate]
    values = [_measure(job, test, label, threshold, attempt, bad) for attempt, bad in enumerate(over[:1], 1)]
    if fate == "pass":
        return []
    _first_try_failed(job, _message(values[0], threshold, label))
    frozen = values[0] if fate == "frozen" else None
    values.append(_measure(job, test, label, threshold, 2, over[1], frozen))
    recovered = fate == "recover"
    job.failures.append(Red("bound", test, values[0 if recovered else 1], 2, recovered))
    if recovered:
        return []
    _traceback(job, _message(values[1], threshold, label))
    return _entry(cls, method, _message(values[1], threshold, label))


def _measure(
    job: Job, test: str, label: str, threshold: float, attempt: int, over: bool, frozen: str | None = None
) -> str:
    prompts = [threshold * job.dice.uniform(*((1.05, 2.5) if over else (0.1, 0.9))) for _ in range(9)]
    value = frozen or repr(sum(prompts) / 9)
    shown = [f"np.float64({p!r})" for p in prompts] if job.dice.random() < 0.5 else [repr(p) for p in prompts]
    job.out(f"[{label}] 9 samples, 3 turns, max_new_tokens=512")
    job.out(f"kl_divs=[{', '.join(shown)}]")
    job.out(f"avg_kl_div={value}")
    job.out(f"ACC_THRESHOLDS={{'kl_div': {threshold}}}")
    job.readings.append(Measured(test, attempt, value, threshold, label, tuple(prompts)))
    return value


def _not_kl(job: Job, cls: str, method: str, test: str) -> list[str]:
    message = "3 not greater than 4 : Too few decode cache hits"
    _first_try_failed(job, message)
    _traceback(job, message)
    job.failures.append(Red("other", test, None, 2, False))
    return _entry(cls, method, message)


def _message(value: str, threshold: float, label: str) -> str:
    return f"avg_kl_div={value} > threshold={threshold} for org/model {label}"


def _first_try_failed(job: Job, message: str) -> None:
    _traceback(job, message)
    job.err(f"retry() failed once (0th try, maximum 1 retries). Will delay 1.2s and retry. Error: {message}")


def _traceback(job: Job, message: str) -> None:
    job.err(
        "Traceback (most recent call last):",
        '  File "kit.py", line 3, in f',
        f"AssertionError: {message}",
        "",
    )


def _entry(cls: str, method: str, message: str) -> list[str]:
    return [
        "=" * 70,
        f"ERROR: {method} (__main__.{cls}.{method})",
        "-" * 70,
        "Traceback (most recent call last):",
        '  File "kit.py", line 3, in f',
        f"AssertionError: {message}",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        "Exception: retry() exceed maximum number of retries.",
        "",
    ]
