"""Random job logs with known truth, printed as CI prints them: stdout waits in a buffer, stderr does not.

A test's tries may fail for reasons that are no crossing, its checks may be several, their labels may name
another test, values may be equal across classes, and a red file may be run again.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from tests.logs.printed import Entry, Pytest, Unittest, traceback

METHODS = {
    "test_multiturn_decode_cache_hit": "decode_cache_hit",
    "test_multiturn_logprobs_match": "logprobs_match",
    "test_multiturn_prefill_cache_hit": "prefill_cache_hit",
}
CLASSES = ("TestRadixKL", "TestHiCacheKL")
FREE_LABELS = ["replay", "eviction", *METHODS.values()]
ROOT = "/actions-runner/_work/engine/engine/"
BUFFER = 8192
"""Bytes that a piped stdout holds back."""
SHARED = 0.0034
"""A value over the one bound and under the other, so that tests of both may print it."""
NOT_KL = "3 not greater than 4 : Too few decode cache hits"


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


@dataclass(frozen=True, slots=True)
class Method:
    """A test method, and the labels of the checks that one try of it makes."""

    cls: str
    name: str
    labels: tuple[str, ...]
    threshold: float


@dataclass(slots=True)
class Process:
    """What one run of a file says; tries are counted from 1."""

    readings: list[Measured] = field(default_factory=list)
    failures: list[Red] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    censored: bool = False

    def tries(self) -> dict[str, int]:
        """The last try of each test."""
        told = [(m.test, m.attempt) for m in self.readings] + [(f.test, f.attempts) for f in self.failures]
        return {test: max(n for name, n in told if name == test) for test, _ in told}


@dataclass(slots=True)
class Job:
    """`lines` is the log; `readings` and `failures` are what it says."""

    dice: random.Random
    lines: list[str] = field(default_factory=list)
    readings: list[Measured] = field(default_factory=list)
    failures: list[Red] = field(default_factory=list)
    censored: list[str] = field(default_factory=list)
    red: bool = False
    stdout: str = "banners"
    """'banners' are written through, and with them what was printed before; stdout is 'held' to the end of
    the process; or nothing waits ('direct')."""
    _held: list[str] = field(default_factory=list)
    _marks: str = ""

    def err(self, *lines: str) -> None:
        for line in lines:
            self.lines.append(self._marks + line)
            self._marks = ""

    def out(self, line: str) -> None:
        self._held.append(line)
        full = self.stdout == "banners" and sum(map(len, self._held)) > BUFFER
        if full or self.stdout == "direct":
            self.flush()

    def flush(self) -> None:
        self.err(*self._held)
        self._held.clear()

    def mark(self, sign: str) -> None:
        """unittest's progress: no line end follows it."""
        self._marks += sign

    def tell(self, path: str, runs: list[Process]) -> None:
        """What the runs of one file say together: the last one speaks for the tests it ran."""
        before: Counter[str] = Counter()
        for place, run in enumerate(runs):
            run.readings = [replace(m, attempt=m.attempt + max(before[m.test], place)) for m in run.readings]
            run.failures = [replace(f, attempts=f.attempts + before[f.test]) for f in run.failures]
            before |= Counter(run.tries())
            self.readings += run.readings
        last = runs[-1]
        for failure in [f for run in runs[:-1] for f in run.failures]:
            again = {f.kind for f in last.failures if f.test == failure.test and not f.recovered}
            tries = [m.attempt for m in last.readings if m.test == failure.test]
            if failure.recovered or (failure.kind not in again and (again or (last.entries and not tries))):
                self.failures.append(failure)
            elif not again:
                attempts = max(failure.attempts + 1, *tries, 0)
                self.failures.append(replace(failure, recovered=True, attempts=attempts))
        self.failures += last.failures
        if last.censored or (last.entries and any(run.censored for run in runs)):
            self.censored.append(path)
        self.red = self.red or bool(last.entries)


def random_job(seed: int) -> Job:
    """A suite job of one to three files."""
    job = Job(random.Random(seed))
    job.stdout = job.dice.choices(["banners", "held", "direct"], [5, 2, 3])[0]
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
    methods = _methods(job, failfast)
    printer = Pytest if job.stdout == "direct" and job.dice.random() < 0.4 else Unittest
    runs = [_process(job, path, place, methods, printer, failfast)]
    if runs[0].entries and job.dice.random() < 0.5:
        job.err("", f"[CI Retry] Attempt 2/2 for {ROOT}{path}", "")
        runs.append(_process(job, path, place, methods, printer, failfast))
    if runs[-1].entries:
        job.err(f"✗ FAILED: {ROOT}{path} returned exit code 1")
    elif len(runs) > 1:
        job.err(f"✓ PASSED on retry (attempt 2): {ROOT}{path}")
    job.tell(path, runs)


def _methods(job: Job, failfast: bool) -> list[Method]:
    """Where banners are written through, what the last method printed comes after its end: only a label that
    is part of its name ties it there."""
    methods: list[Method] = []
    classes = CLASSES[: job.dice.randint(1, 2)]
    for cls in classes:
        threshold = job.dice.choice([0.003, 0.005])
        for name, label in METHODS.items():
            last = failfast or (cls == classes[-1] and name == list(METHODS)[-1])
            labels = [label]
            if job.dice.random() < 0.4 and not (last and job.stdout == "banners"):
                labels = job.dice.sample(FREE_LABELS, job.dice.randint(1, 3))
            methods.append(Method(cls, name, tuple(labels), threshold))
    return methods


def _process(
    job: Job, path: str, place: str, methods: list[Method], printer: type[Unittest], stop: bool
) -> Process:
    shown = printer(path)
    run = Process(entries=shown.entries)
    job.err(
        f"Begin {place}:",
        f"{shown.command} {ROOT}{path}{f' {shown.failfast}' if stop else ''}",
        *shown.head(),
    )
    for method in methods:
        if not (run.entries and stop):
            red = len(run.entries)
            job.out(shown.start(method.cls, method.name))
            if job.stdout == "banners":
                job.flush()
            _method(job, run, path, method)
            job.mark(shown.mark(len(run.entries) > red))
            job.err(*shown.outcome(len(run.entries) > red))
    job.err(*shown.tail(stop))
    job.flush()
    job.err(f"End {place}:", f"filename='{ROOT}{path}', elapsed=333, estimated_time=315.0")
    run.censored = stop and bool(run.entries)
    return run


def _method(job: Job, run: Process, path: str, method: Method) -> None:
    """Runs a method as the retry does: twice at most."""
    test = f"{path}::{method.cls}.{method.name}"
    fate = job.dice.choices(
        ["pass", "over pass", "over over", "over other", "other other", "other pass", "other over"],
        [8, 1, 1.5, 0.7, 0.7, 0.7, 0.7],
    )[0].split()
    if job.stdout == "held" and fate[0] == "other":
        fate = ["other", "other"]
    printed, crossed = 0, list[tuple[int, str]]()
    for number, outcome in enumerate(fate, 1):
        printed, message, value = _try(job, run, test, method, number, outcome, printed, crossed)
        crossed += [(number, value)] if outcome == "over" else []
        if message is None:
            break
        job.err(*traceback(message))
        if number == 1:
            line = "retry() failed once (0th try, maximum 1 retries). Will delay 1.2s and retry. Error: "
            job.err(line + message)
        else:
            run.entries.append((method.cls, method.name, message))
    if crossed or fate[-1] != "pass":
        value = crossed[-1][1] if crossed else None
        run.failures.append(Red("bound" if crossed else "other", test, value, 2, fate[-1] == "pass"))


def _try(
    job: Job,
    run: Process,
    test: str,
    method: Method,
    number: int,
    outcome: str,
    before: int,
    crossed: list[tuple[int, str]],
) -> tuple[int, str | None, str]:
    """How many checks it printed, the message it failed with, and the last value.

    A try that fails for another reason may stop anywhere; but where prints are late, only a label that comes
    again tells a second try, and nothing tells one of a held stdout.
    """
    count, value = len(method.labels), ""
    stops = job.dice.randint(0, count)
    if outcome == "other" and job.stdout == "held":
        stops = 0
    elif outcome == "over" or (outcome == "other" and before and not crossed):
        stops = max(1, stops)
    elif outcome == "pass":
        stops = count
    for place, label in enumerate(method.labels[:stops], 1):
        over = outcome == "over" and place == stops
        frozen = crossed[0][1] if crossed and over and job.dice.random() < 0.3 else None
        value = _measure(job, run, test, label, method.threshold, number, over, frozen)
    if outcome == "over":
        message = (
            f"avg_kl_div={value} > threshold={method.threshold} for org/model {method.labels[stops - 1]}"
        )
        return stops, message, value
    return stops, NOT_KL if outcome == "other" else None, value


def _measure(
    job: Job,
    run: Process,
    test: str,
    label: str,
    threshold: float,
    attempt: int,
    over: bool,
    frozen: str | None,
) -> str:
    prompts = [threshold * job.dice.uniform(*((1.05, 2.5) if over else (0.1, 0.9))) for _ in range(9)]
    value = frozen or repr(sum(prompts) / 9)
    if not frozen and over == (threshold < SHARED) and job.stdout != "held" and job.dice.random() < 0.3:
        value = repr(SHARED)
    shown = [f"np.float64({p!r})" for p in prompts] if job.dice.random() < 0.5 else [repr(p) for p in prompts]
    job.out(f"[{label}] 9 samples, 3 turns, max_new_tokens=512")
    job.out(f"kl_divs=[{', '.join(shown)}]")
    job.out(f"avg_kl_div={value}")
    job.out(f"ACC_THRESHOLDS={{'kl_div': {threshold}}}")
    run.readings.append(Measured(test, attempt, value, threshold, label, tuple(prompts)))
    return value
