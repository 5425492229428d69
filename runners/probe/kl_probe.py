"""Measures one KL test several times on one set-up (one server start), with its assertion disarmed.

    python kl_probe.py --test path::Class.method --repeats R --out FILE [--compare module:function]

Runs in the project's own interpreter, in the root of its tree: standard library only, Python 3.9 and up
(kl_probe_pytest.py beside it is loaded for pytest tests only). To FILE goes one JSON object a line, flushed
(nan and inf as NaN and Infinity):

    {"event": "packages", "versions": {...}}
    {"event": "repeat", "repeat": 1, "at": ISO start, "duration_s": s, "checks": [...], "failure": null}
        checks: {"label", "value", "per_prompt", "threshold"} of each comparison
    {"event": "measured"}                    all repeats are done, tear-down follows
    {"event": "fatal", "failure": "..."}     nothing (more) can be measured on this launch; exit code 1

With --signed, stdin's first line is a key, and each line of FILE begins with an HMAC of the rest: what the
measured code writes there is told apart.
"""

from __future__ import annotations

import argparse
import ast
import codecs
import contextlib
import ctypes
import functools
import hmac
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
import types
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TextIO, cast

MAX_LINE: Final = 1 << 20
MAX_HEAD: Final = 300  # of a line: the name of an exception stands there, or not at all
MAX_SAID: Final = 2_000  # of an error: the harness looks for secrets in it before it cuts it to what is kept
MAX_LINES: Final = 1_000
MAX_KEPT: Final = 32 << 20
DRAIN_S: Final = 1.0
MAX_CHECKS: Final = 64
MAX_PROMPTS: Final = 4096
MAX_LOGPROB_BYTES: Final = 64 << 20
PACKAGES: Final = (
    *("torch", "triton", "flashinfer-python", "sgl-kernel", "sglang", "vllm", "transformers", "numpy"),
)
_LABEL_NAMES: Final = ("label", "test_name")
_NUMBER: Final = r"[-+]?(?:(?i:nan|inf(?:inity)?)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
# np.float64(0.1), tensor(0.1, device='cuda:0')
_WRAPPER: Final = re.compile(r"[A-Za-z_][\w.]*\(|, (?:device|dtype|grad_fn)=[^,)]*|\)")
_GOES_ON: Final = re.compile(r"[\w%…]|[.,][\w.]|[-+]\d")
_UNIT: Final = re.compile(r"\s*(?:%|percent\b|bits?\b|[mun]?s\b|µs\b|sec(?:onds?)?\b|[KMGT]i?B\b|tok/s)")
# How a traceback begins, and an exception's message, alone and as pytest shows it.
_MESSAGE: Final = re.compile(
    r"Traceback \(most recent call last\):|E {2,}|[A-Za-z_][\w.]*(?:Error|Exception|Failure|Exit)\b(?:: |$)"
)
_MARKS: Final = re.compile(r"[.EFsx]+")
_BOUND_IN_TEXT: Final = re.compile(rf"\bthreshold\s*=\s*({_NUMBER})")
_COMPARED_IN_TEXT: Final = re.compile(
    rf"({_NUMBER})\)* (?:<=?|not less than(?: or equal to)?) \(*({_NUMBER})"
)
_OTHER_IN_TEXT: Final = re.compile(r"\S+ (?:!=|==|is not|not found in|unexpectedly found in) ")
PRINTS: Final = (
    r" *kl_divs\s*=\s*(?P<per_prompt>.*)",
    r" *avg_kl_div\s*=\s*(?P<value>.*)",
    r" *ACC_THRESHOLDS\s*=\s*(?P<threshold>.*)",
)


class Refused(Exception):
    """The test cannot be measured; the message is a sentence for the reader of the readings."""


class Ended(Refused, AssertionError):
    """A script's exit code; perhaps it says that the bound was crossed."""


@dataclass
class Check:
    """One comparison: the asserted mean and the KL of each prompt, in nats."""

    value: float
    per_prompt: list[float] = field(default_factory=list)
    threshold: float | None = None
    label: str | None = None


@dataclass
class Trial:
    """What one repeat gave. `failure`: a reason that is not the bound."""

    number: int = 0
    at: str = ""
    duration_s: float | None = None
    checks: list[Check] = field(default_factory=list)
    failure: str | None = None
    tried: bool = False
    subtests: int = 0
    """How many were told of; each that went wrong left its error in `errors`."""
    errors: list[BaseException] = field(default_factory=list)
    _labels: list[str] = field(default_factory=list)

    def fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = describe(error)

    def add(self, check: Check) -> None:
        """A label that comes again in one method (turns of a conversation) is numbered: 'hit', 'hit#2'."""
        if len(self.checks) >= MAX_CHECKS:
            raise Refused(f"one method made more than {MAX_CHECKS} comparisons")
        self._labels.append(check.label or "")
        again = self._labels.count(check.label or "")
        if again > 1:
            check.label = f"{check.label or ''}#{again}"
        self.checks.append(check)


class Forms:
    """The printed forms of a project: which lines say what."""

    def __init__(self, patterns: Iterable[str] = PRINTS) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def match(self, line: str) -> dict[str, str | None] | None:
        """The groups of the first form that fits, also behind unittest's progress marks.

        None for the message of an exception: it repeats what was printed.
        """
        if _MESSAGE.match(line, 0, MAX_HEAD):
            return None
        marks = _MARKS.match(line)
        for pattern in self._patterns:
            found = pattern.match(line) or (marks and pattern.match(line, marks.end()))
            if found:
                groups = found.groupdict()
                if groups.get("value") is not None and _states_others(pattern, found):
                    groups["value"] = None
                return groups
        return None

    def keeps(self, line: str) -> bool:
        """Whether `read` has a use for the line."""
        return _MESSAGE.match(line, 0, MAX_HEAD) is not None or self.match(line) is not None

    def read(self, lines: Iterable[str]) -> list[Check]:
        """A label, a per-prompt list and a bound belong to the value printed next; a bound may follow it.

        A value that comes again after an exception began is its message: the same check.
        """
        checks: list[Check] = []
        coming, current, message = Check(math.nan), cast("Check | None", None), False
        for line in lines:
            groups = self.match(line)
            if groups is None:
                message = message or _MESSAGE.match(line, 0, MAX_HEAD) is not None
                continue
            if groups.get("label"):
                coming.label = str(groups["label"])[:200]
            if groups.get("per_prompt") is not None:
                coming.per_prompt, current = _numbers(str(groups["per_prompt"])), None
            value = None if groups.get("value") is None else _value(str(groups["value"]))
            if value is not None and message and any(_same(value, check.value) for check in checks):
                coming, current = Check(math.nan), None
                continue
            if value is not None:
                coming.value, current = value, coming
                checks.append(coming)
                coming = Check(math.nan)
            if groups.get("threshold") is not None:
                (current or coming).threshold = _bound(str(groups["threshold"]))
        return checks


def _states_others(pattern: re.Pattern[str], found: re.Match[str]) -> bool:
    """Whether the value's number goes on outside its group, or the line states a second, different one."""
    line, (start, end) = found.string, found.span("value")
    if line[max(0, start - 1) : start].isalnum() or _GOES_ON.match(line, end) or _UNIT.match(line, end):
        return True
    first = _value(found["value"])
    others = (pattern.search(line, start), pattern.match(line, 0, start))
    seconds = [_value(other["value"] or "") for other in others if other is not None]
    return first is not None and any(not _same(first, second) for second in seconds if second is not None)


def _value(text: str) -> float | None:
    """The number that the text begins with, as a whole word without a unit."""
    text = _WRAPPER.sub("", text).strip()
    word = text.split(None, 1)[0] if text else ""
    whole = re.fullmatch(_NUMBER, word) is not None and _UNIT.match(text, len(word)) is None
    return float(word) if whole else None


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _numbers(text: str) -> list[float]:
    """The list as printed; empty when any element is not a number: half a list would shift prompts."""
    items = _WRAPPER.sub("", text).strip().strip("[]").split(",")
    try:
        return [float(item) for item in items[:MAX_PROMPTS]]
    except ValueError:
        return []


def _bound(text: str) -> float | None:
    """A bare number, {'kl_div': 0.003} or {MODEL: {'kl_div': 0.003, ...}}; None when it is not one number."""
    text = _WRAPPER.sub("", text).strip()
    bounds = set(re.findall(rf"'kl_div': ({_NUMBER})", text)) or {text}
    with contextlib.suppress(ValueError):
        bound = float(bounds.pop())
        return bound if not bounds and math.isfinite(bound) else None
    return None


class Tee:
    """A stdout that passes everything on and keeps the few lines that print a KL."""

    def __init__(self, target: TextIO, forms: Forms) -> None:
        self._target, self._forms, self._line, self.lines = target, forms, "", cast("list[str]", [])
        self._room = MAX_KEPT
        self.error: BaseException | None = None

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):  # closed by the test: the lines still count
            self._target.write(text)
        *whole, rest = (self._line + text).split("\n")
        for line in whole:
            if len(line) <= min(MAX_LINE, self._room) and len(self.lines) < MAX_LINES:
                self._keep(line.rstrip("\r"))
        self._line = rest[: MAX_LINE + 1]
        return len(text)

    def _keep(self, line: str) -> None:
        """Of messages in a row one is enough: a server's many errors must not use up the room."""
        again = (
            self.lines and _MESSAGE.match(self.lines[-1], 0, MAX_HEAD) and _MESSAGE.match(line, 0, MAX_HEAD)
        )
        if not again and self._forms.keeps(line):
            self.lines.append(line)
            self._room -= len(line)

    def end_line(self) -> None:
        """What was printed without a line end counts too."""
        if self._line:
            self.write("\n")

    def close(self) -> None:
        """The stdout behind it stays open for the next repeat."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


@contextlib.contextmanager
def heard(forms: Forms) -> Iterator[Tee]:
    """Runs a piece of the test, keeps its printed KL lines and its error, and raises nothing."""
    tee = Tee(sys.stdout, forms)
    with contextlib.redirect_stdout(cast("TextIO", tee)):
        try:
            yield tee
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            tee.error = error
    tee.end_line()


class Probe:
    """Puts itself around the compare function and the test, so that a value is read and nothing raised.

    The assertion on the bound is swallowed where it is made and every other error where the test ends,
    so a retry inside the test never fires: it would cost GPU time and hide the first value.
    """

    def __init__(self, emit: Callable[..., None], forms: Forms, compare: str | None = None) -> None:
        self.emit, self.forms, self.compare, self.trial = emit, forms, compare, Trial()
        self.logprobs: Path | None = None
        self._original: object = None
        self._wrapped: Callable[..., object] | None = None

    def begin(self) -> None:
        self.trial = Trial(self.trial.number + 1, _now())

    def end(self) -> None:
        """The repeat is over: one event."""
        trial = self.trial
        for error in trial.errors:
            asserted = self.compare is None and isinstance(error, AssertionError)
            if not (asserted and _is_bounds(trial.checks, str(error))):
                trial.fail(error)
        if not trial.checks and trial.failure is None:
            trial.failure = "the test returned without printing a KL value"
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        checks = [asdict(check) for check in trial.checks]
        told = {"at": trial.at, "duration_s": trial.duration_s, "checks": checks, "failure": trial.failure}
        self.emit(event="repeat", repeat=trial.number, **told)

    def wrap_compare(self, *, early: Path | None = None, file: types.ModuleType | None = None) -> None:
        """Replaces the compare function, also in modules that took it by name before.

        `early`: the test file, before it is imported: it may keep the function where nobody finds it. The
        function's module may need more set-up than there is by then, and may be the test file itself.
        `file`: the test file's module; a compare function of its own is looked for there.
        """
        if self.compare is None:
            return
        module_name, _, function_name = self.compare.partition(":")
        try:
            if early is not None and _is_of(module_name, early):
                return
            if file is not None and _is_of(module_name, Path(str(file.__file__))):
                sys.modules[module_name] = file  # a second import would be another function
            original = getattr(importlib.import_module(module_name), function_name)
        except Exception as error:
            if early is not None:
                return
            raise Refused(f"the compare function {self.compare} was not found: {describe(error)}") from error
        if self._wrapped is None:

            @functools.wraps(original)
            def wrapped(*args: object, **kwargs: object) -> object:
                return self._compare(original, args, kwargs)

            self._original, self._wrapped = original, wrapped
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is self._original:
                    setattr(module, name, self._wrapped)

    def _compare(self, original: Callable[..., object], args: Any, kwargs: Any) -> object:
        given = _arguments(original, args, kwargs)
        label = next((given[name][:200] for name in _LABEL_NAMES if isinstance(given.get(name), str)), None)
        if self.logprobs is not None:
            save_logprobs(self.logprobs, self.trial.number, label, given)
        result = None
        with heard(self.forms) as tee:
            result = original(*args, **kwargs)
        error, checks = tee.error, self.forms.read(tee.lines)
        if error is not None and not isinstance(error, AssertionError):
            raise error
        if not checks:
            raise error or Refused("the compare function printed no KL value")
        check = checks[0]
        check.label = label or check.label
        self.trial.add(check)
        if error is not None and not _over(check, str(error)):
            raise error
        return result

    def once(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The test runs once a repeat and never raises; without a compare function its lines are read."""

        @functools.wraps(original)
        def plain(*args: object, **kwargs: object) -> None:
            if not self.trial.tried:
                with self.measured():
                    original(*args, **kwargs)

        @functools.wraps(original)
        async def awaited(*args: object, **kwargs: object) -> None:
            if not self.trial.tried:
                with self.measured():
                    await original(*args, **kwargs)

        return awaited if inspect.iscoroutinefunction(original) else plain

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        trial = self.trial
        trial.tried, trial.at, start = True, _now(), time.perf_counter()
        with heard(Forms(()) if self.compare else self.forms) as tee:
            yield
        trial.duration_s = round(time.perf_counter() - start, 4)
        self.settle(tee.error, tee.lines)

    def settle(self, error: BaseException | None, lines: Iterable[str]) -> None:
        """Without a compare function the assertion stands: over its bound is a value, else a failure."""
        checks = self.forms.read(lines)
        if self.compare is None and not self.trial.subtests:
            kept = _first_try(checks)
            if kept is None:
                self.trial.fail(
                    Refused(
                        "a check that states no bound comes again: a retry of the test cannot be told from a "
                        "further check; name the compare function in the rule pack"
                    )
                )
            retried = kept is not None and len(kept) < len(checks)
            checks = checks if kept is None else kept
            if retried and isinstance(error, AssertionError):
                error = None  # of a later try; the first one's is in the value
        for check in checks[:MAX_CHECKS]:
            self.trial.add(check)
        bounds = isinstance(error, AssertionError) and _is_bounds(checks, str(error))
        if error is not None and not bounds:
            self.trial.fail(error)


def _first_try(checks: list[Check]) -> list[Check] | None:
    """Up to where a label comes again after a check over its bound: that is a retry inside the test.

    None when it cannot be told, because the label's earlier check states no bound.
    """
    seen: set[str | None] = set()
    over = unknown = False
    for number, check in enumerate(checks):
        if check.label in seen and over:
            return checks[:number]
        if check.label in seen and unknown:
            return None
        seen.add(check.label)
        over = over or (check.threshold is not None and not check.value < check.threshold)
        unknown = unknown or check.threshold is None
    return checks


def _is_bounds(checks: list[Check], message: str) -> bool:
    """Whether an AssertionError after these values is the bound's of one of them.

    A message that names the value of one speaks of that one.
    """
    numbers = [float(number) for number in re.findall(rf"(?<![\w.]){_NUMBER}(?![\w%])", message)[:100]]
    named = [
        check
        for check in checks
        if any(math.isclose(number, check.value, rel_tol=1e-6) for number in numbers)
    ]
    asked = [_over(check, message) for check in named or checks]  # each may take its bound from the message
    return any(asked)


def _over(check: Check, message: str) -> bool:
    """Whether an AssertionError after this value is the bound's: nan is, a value under the bound is not.

    A bound that was not printed is taken from the message. A message that compares two other numbers is not
    about this value.
    """
    if check.threshold is None and (bound := _BOUND_IN_TEXT.search(message)):
        check.threshold = float(bound[1])
    compared = _COMPARED_IN_TEXT.search(message)
    own = compared is not None and any(
        math.isclose(float(number), check.value, rel_tol=1e-6) or number.lower().endswith("nan")
        for number in compared.groups()
    )
    if check.threshold is None and compared and own:
        check.threshold = float(compared[2])
    if check.threshold is None:
        return "threshold" in message
    other = _OTHER_IN_TEXT.match(message) or (compared is not None and not own)
    return not check.value < check.threshold and (not other or "threshold" in message)


def _arguments(function: Callable[..., object], args: Any, kwargs: Any) -> dict[str, Any]:
    with contextlib.suppress(TypeError, ValueError):
        return inspect.signature(function).bind(*args, **kwargs).arguments
    return {}


def save_logprobs(file: Path, repeat: int, label: str | None, given: dict[str, Any]) -> None:
    """Appends the arguments that are nested lists of numbers as one line; nothing beyond the file's limit."""
    with contextlib.suppress(Exception), file.open("a") as out:
        nested = {name: rows for name, value in given.items() if (rows := _rows(value))}
        line = json.dumps({"repeat": repeat, "label": label, "arguments": nested}, default=float) + "\n"
        if nested and out.tell() + len(line) <= MAX_LOGPROB_BYTES:
            out.write(line)


def _rows(value: Any) -> list[Any] | None:
    """A list of lists of numbers as plain lists, also from arrays and tensors; None for anything else."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        return None
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in plain]
    lists = all(isinstance(row, (list, tuple)) for row in rows)
    return rows if lists and not any(isinstance(item, str) for row in rows for item in row) else None


def load(test: str) -> tuple[types.ModuleType, type]:
    """Imports the test file and finds its class."""
    path, _, name = test.partition("::")
    class_name, _, method = name.partition(".")
    file = Path(path).resolve()
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise Refused(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    cls = getattr(module, class_name, None)
    if not isinstance(cls, type):
        raise Refused(f"{path} has no class {class_name} at this commit")
    if not callable(getattr(cls, method, None)):
        raise Refused(f"{class_name} has no method {method} at this commit")
    return module, cls


class Result(unittest.TestResult):
    """Hands every problem around the method (setUp, tearDown, cleanup, skip) to the trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self._trial = trial

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._trial.fail(err[1])

    addFailure = addError

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        """Called before or after the method's values are known, by the version of Python."""
        self._trial.subtests += 1
        if err is not None:
            self._trial.errors.append(err[1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._trial.fail(unittest.SkipTest(reason))


def run_unittest(
    probe: Probe, module: types.ModuleType, cls: type[unittest.TestCase], method: str, repeats: int
) -> None:
    """Class set up once, the method `repeats` times, torn down: the order of unittest's own suite."""
    if getattr(cls, "__unittest_skip__", False):
        raise Refused(f"{cls.__name__} is skipped: {getattr(cls, '__unittest_skip_why__', '')}")
    original = getattr(cls, method)
    if inspect.iscoroutinefunction(original) and not issubclass(cls, unittest.IsolatedAsyncioTestCase):
        raise Refused(f"{method} is an async method, but {cls.__name__} is no IsolatedAsyncioTestCase")
    probe.wrap_compare(file=module)
    original = getattr(cls, method)
    setattr(cls, method, probe.once(original))
    with contextlib.ExitStack() as teardown:
        teardown.callback(unittest.case.doModuleCleanups)
        getattr(module, "setUpModule", lambda: None)()
        teardown.callback(getattr(module, "tearDownModule", lambda: None))
        teardown.callback(cls.doClassCleanups)
        cls.setUpClass()
        teardown.callback(cls.tearDownClass)
        for _ in range(repeats):
            probe.begin()
            cls(method).run(Result(probe.trial))
            probe.end()
        probe.emit(event="measured")


def run_script(probe: Probe, path: str, arguments: list[str]) -> None:
    """A script is measured as a process of its own; all it and its children print is read."""
    file = f"./{path}"  # its name may begin with a dash
    command = ["bash", file] if path.endswith(".sh") else [sys.executable, file]
    probe.begin()
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, *arguments],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=end_with_parent,
    )
    tee, last = Tee(sys.stdout, probe.forms), ""
    for text in output_of(process):
        last = (last + text)[-MAX_LINE:]
        tee.write(text)
    code = process.wait()
    tee.end_line()
    probe.trial.duration_s = round(time.perf_counter() - start, 4)
    said = (last.strip().splitlines() or ["nothing"])[-1]
    kind = Ended if code > 0 else Refused  # a signal is no assertion
    why = f"the script ended with exit code {code}, last it said: {said[:MAX_SAID]}"
    probe.settle(kind(why) if code else None, tee.lines)
    probe.end()
    probe.emit(event="measured")


def output_of(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What it prints, until it has ended: a child that it left may keep its stdout open for ever."""
    stdout = cast("Any", process.stdout).fileno()
    decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
    ended: float | None = None
    while True:
        if ended is None and process.poll() is not None:
            ended = time.monotonic()
        ready, _, _ = select.select([stdout], [], [], 0.05)
        if ready:
            chunk = os.read(stdout, 1 << 16)
            yield decode(chunk, final=not chunk)
            if not chunk:
                return
        if ended is not None and (not ready or time.monotonic() > ended + DRAIN_S):
            return


def run_pytest(probe: Probe, test: str, repeats: int) -> None:
    """By the project's own pytest, through the plugin beside this file."""
    if importlib.util.find_spec("pytest") is None:
        raise Refused(f"{test} is a pytest test, and this interpreter has no pytest")
    file = Path(__file__).with_name("kl_probe_pytest.py")
    spec = cast("Any", importlib.util.spec_from_file_location("kl_probe_pytest", file))
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    problem = plugin.run(probe, test, repeats)
    if problem is not None:
        raise Refused(problem)


def run(probe: Probe, kind: str, test: str, repeats: int, arguments: list[str]) -> None:
    path, separator, name = test.partition("::")
    file = Path(path)
    if not file.is_file():
        raise Refused(f"{path} does not exist at this commit")
    class_name, _, method = name.partition(".")
    if kind == "script" or not separator:
        run_script(probe, path, arguments)
        return
    probe.wrap_compare(early=file)
    if kind == "pytest" or not method or "[" in name or (kind == "auto" and _has_no_base(file, class_name)):
        run_pytest(probe, test, repeats)
    else:
        module, cls = load(test)
        if issubclass(cls, unittest.TestCase):
            run_unittest(probe, module, cls, method, repeats)
        elif kind == "unittest":
            raise Refused(f"{class_name} is not a unittest.TestCase")
        else:
            del sys.modules[module.__name__]  # pytest imports it its own way
            run_pytest(probe, test, repeats)


def _has_no_base(file: Path, name: str) -> bool:
    """A class that surely is no TestCase, nor are the file's classes it is made of; without an import."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        body = ast.parse(file.read_bytes()).body
        classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        return _plain(classes, name)
    return False


def _plain(classes: dict[str, ast.ClassDef], name: str) -> bool:
    bases = classes[name].bases if name in classes else None
    return bases is not None and all(
        isinstance(base, ast.Name) and _plain(classes, base.id) for base in bases
    )


def _is_of(module: str, file: Path) -> bool:
    """Whether this is the name of that file's module; only packages around it are imported."""
    if module.rpartition(".")[2] != file.stem:
        return False
    if module == file.stem and module not in sys.modules:
        return file.resolve().parent == Path(sys.path[0]).resolve()
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        spec = importlib.util.find_spec(module)
        return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file.resolve()
    return False


def imported_elsewhere(told: str, tree: str) -> str | None:
    """Why nothing counts: a module lies in another working tree of the clone (`told`), not in `tree`."""
    real = functools.lru_cache(maxsize=None)(os.path.realpath)
    others = tuple(real(other) + os.sep for other in told.split(os.pathsep) if other)
    prefix = real(sys.prefix) + os.sep
    environment = [prefix] if prefix.startswith(others) else []  # one that lies in the clone
    own = (real(tree) + os.sep, real(Path(__file__).parent) + os.sep, *environment)
    for name, module in list(sys.modules.items()) if others else []:
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str):
            continue
        folder = real(file.rpartition(os.sep)[0]) + os.sep
        if not folder.startswith(others) or folder.startswith(own) or "-packages" + os.sep in folder:
            continue
        why = "from another working tree of this clone, not from its commit"
        return f"imports {name[:100]} {why}: name python_path or prepare in the rule pack"
    return None


def versions() -> dict[str, str]:
    """Of the installed packages that can move a KL; none is imported."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(Exception):
            found[name] = metadata.version(name)[:60]
    return found


def describe(error: BaseException) -> str:
    """One bounded line; refusals are sentences already."""
    line = " ".join(str(error)[:MAX_SAID].split())
    return line if isinstance(error, Refused) else f"{type(error).__name__}: {line}"


def end_with_parent() -> None:
    """Linux: a harness that is killed takes this process with it (PR_SET_PDEATHSIG)."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures one KL test; see the top of this file.")
    parser.add_argument("--test", required=True)
    parser.add_argument("--repeats", required=True, type=int)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kind", default="auto")
    parser.add_argument("--compare")
    parser.add_argument("--prints", type=json.loads, default=PRINTS, help="patterns, a JSON list")
    parser.add_argument("--arguments", type=json.loads, default=[], help="of a script, a JSON list")
    parser.add_argument("--logprobs", type=Path, help="file for the log-probs that are compared")
    parser.add_argument("--signed", action="store_true")
    options = parser.parse_args()
    end_with_parent()
    key = sys.stdin.readline().strip().encode() if options.signed else b""
    if sys.path and Path(sys.path[0]) == Path(__file__).resolve().parent:
        del sys.path[0]  # where this file lies is no part of the project
    path = options.test.partition("::")[0]
    sys.path.insert(0, str(Path(path).resolve().parent))
    sys.argv = [path]
    other_trees, tree = os.environ.get("KL_TRIAGE_CLONE", ""), str(Path.cwd())
    os.environ.pop("PYTEST_ADDOPTS", None)
    with Path(options.out).open("a", encoding="utf-8") as out:
        measured = False

        def emit(**event: object) -> None:
            nonlocal measured
            measured = measured or event["event"] == "measured"
            elsewhere = imported_elsewhere(other_trees, tree)
            if elsewhere:
                event = {"event": "fatal", "failure": elsewhere}
            line = json.dumps(event)
            out.write((hmac.new(key, line.encode(), "sha256").hexdigest() + " " if key else "") + line + "\n")
            out.flush()
            if elsewhere:
                raise Refused(elsewhere)

        try:
            emit(event="packages", versions=versions())
            probe = Probe(emit, Forms(options.prints), options.compare)
            probe.logprobs = options.logprobs
            run(probe, options.kind, options.test, options.repeats, options.arguments)
        except BaseException as error:
            why = "the tear-down failed: " if measured else ""
            emit(event="fatal", failure=why + describe(error))
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
