"""Measures one method of a unittest class several times on one class set-up (one server start).

    python kl_probe.py --test path::Class.method --repeats R [--compare module:function] --out FILE

Runs in the project's own interpreter, in the root of its tree: standard library only, Python 3.9 and up.
To FILE goes one JSON object a line, flushed (nan and inf as NaN and Infinity):

    {"event": "repeat", "repeat": 1, "at": ISO start, "duration_s": s, "checks": [...], "failure": null}
        checks: {"label", "value", "per_prompt", "threshold"} of each comparison
    {"event": "measured"}                    all repeats are done, tear-down follows
    {"event": "fatal", "failure": "..."}     nothing (more) can be measured on this launch; exit code 1
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import importlib
import importlib.util
import inspect
import json
import math
import re
import signal
import sys
import time
import types
import unittest
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, TextIO, cast

MAX_LINE: Final = 65_536
MAX_LINES: Final = 300
MAX_CHECKS: Final = 64
MAX_PROMPTS: Final = 4096
_LABEL_NAMES: Final = ("label", "test_name")
_NUMBER: Final = r"[-+]?(?:nan|inf|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_WRAPPER: Final = re.compile(r"[A-Za-z_][\w.]*\(|\)")  # np.float64(0.1), tensor(0.1)
_PRINTED: Final = re.compile(r"\b(kl_divs|avg_kl_div|ACC_THRESHOLDS)\s*=\s*(.*)")
_BOUND_IN_TEXT: Final = re.compile(rf"\bthreshold\s*=\s*({_NUMBER})")


class Refused(Exception):
    """The test cannot be measured; the message is a sentence for the reader of the readings."""


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

    checks: list[Check] = field(default_factory=list)
    failure: str | None = None
    tried: bool = False
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


def read_check(lines: Iterable[str]) -> Check | None:
    """The first value, per-prompt list and bound in printed lines; None without a value."""
    found: dict[str, str] = {}
    for line in lines:
        match = _PRINTED.search(line)
        if match:
            found.setdefault(match[1], match[2])
    value = re.match(_NUMBER, _WRAPPER.sub("", found.get("avg_kl_div", "")))
    if value is None:
        return None
    return Check(float(value[0]), _numbers(found.get("kl_divs", "")), _bound(found.get("ACC_THRESHOLDS", "")))


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

    def __init__(self, target: TextIO) -> None:
        self._target, self._line, self.lines = target, "", cast("list[str]", [])

    def write(self, text: str) -> int:
        self._target.write(text)
        *whole, rest = (self._line + text).split("\n")
        for line in whole:
            if len(line) <= MAX_LINE and len(self.lines) < MAX_LINES and _PRINTED.search(line):
                self.lines.append(line)
        self._line = rest[: MAX_LINE + 1]
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class Probe:
    """Puts itself around the compare function and the method, so that a value is read and nothing raised.

    The assertion on the bound is swallowed where it is made and every other error where the method ends,
    so a retry inside the test never fires: it would cost GPU time and hide the first value.
    """

    def __init__(self) -> None:
        self.trial = Trial()

    def wrap_compare(self, name: str) -> tuple[object, object]:
        """Replaces module:function; returns (original, wrapped)."""
        module_name, _, function_name = name.partition(":")
        try:
            module = importlib.import_module(module_name)
            original = getattr(module, function_name)
        except (ImportError, AttributeError) as error:
            raise Refused(f"the compare function {name} was not found: {describe(error)}") from error

        @functools.wraps(original)
        def wrapped(*args: object, **kwargs: object) -> object:
            return self._compare(original, args, kwargs)

        setattr(module, function_name, wrapped)
        return original, wrapped

    def _compare(self, original: Callable[..., object], args: Any, kwargs: Any) -> object:
        result, error, lines = _heard(functools.partial(original, *args, **kwargs))
        if error is not None and not isinstance(error, AssertionError):
            raise error
        check = read_check(lines)
        if check is None:
            raise error or Refused("the compare function printed no avg_kl_div")
        message = str(error) if error else ""
        if check.threshold is None and (bound := _BOUND_IN_TEXT.search(message)):
            check.threshold = float(bound[1])
        check.label = _label(original, args, kwargs)
        self.trial.add(check)
        if error is not None and not _over(check, message):
            raise error
        return result

    def wrap_method(self, cls: type, name: str, *, printed: bool) -> None:
        """The method runs once a repeat and never raises; with `printed` its stdout is read for the value."""
        original = getattr(cls, name)
        if inspect.iscoroutinefunction(original):
            raise Refused(f"{name} is an async method; only plain methods are measured today")

        @functools.wraps(original)
        def once(case: unittest.TestCase) -> None:
            if not self.trial.tried:
                self.trial.tried = True
                self._run(functools.partial(original, case), printed)

        setattr(cls, name, once)

    def _run(self, method: Callable[[], object], printed: bool) -> None:
        _, error, lines = _heard(method)
        check = read_check(lines) if printed else None
        if check is not None:
            self.trial.add(check)
        # Without a compare function the assertion stands: over its bound is a value, anything else a failure.
        crossed = check is not None and isinstance(error, AssertionError) and _over(check, str(error))
        if error is not None and not crossed:
            self.trial.fail(error)


def _heard(call: Callable[[], object]) -> tuple[object, BaseException | None, list[str]]:
    """Result, error and printed KL lines of a call."""
    tee = Tee(sys.stdout)
    with contextlib.redirect_stdout(cast("TextIO", tee)):
        try:
            return call(), None, tee.lines
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return None, error, tee.lines


def _over(check: Check, message: str) -> bool:
    """Whether an AssertionError after this value is the bound's: nan is, a value under the bound is not."""
    return "threshold" in message if check.threshold is None else not check.value < check.threshold


def _label(function: Callable[..., object], args: Any, kwargs: Any) -> str | None:
    """The check's name from its argument: a passing check does not print it."""
    with contextlib.suppress(TypeError, ValueError):
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
        for name in _LABEL_NAMES:
            if isinstance(bound.get(name), str):
                return str(bound[name])[:200]
    return None


def replace_everywhere(original: object, wrapped: object) -> None:
    """Modules that took the compare function by name before it was wrapped get the wrapped one too."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is original:
                setattr(module, name, wrapped)


def load(test: str) -> tuple[types.ModuleType, type[unittest.TestCase], str]:
    """Imports the test file and finds its class and method."""
    path, _, name = test.partition("::")
    class_name, _, method = name.partition(".")
    file = Path(path).resolve()
    if not file.is_file():
        raise Refused(f"{path} does not exist at this commit")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise Refused(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    cls = getattr(module, class_name, None)
    if not isinstance(cls, type):
        raise Refused(f"{path} has no class {class_name} at this commit")
    if not issubclass(cls, unittest.TestCase):
        raise Refused(f"{class_name} is not a unittest.TestCase; only unittest classes are measured today")
    if not callable(getattr(cls, method, None)):
        raise Refused(f"{class_name} has no method {method} at this commit")
    if getattr(cls, "__unittest_skip__", False):
        raise Refused(f"{class_name} is skipped: {getattr(cls, '__unittest_skip_why__', '')}")
    return module, cls, method


class Result(unittest.TestResult):
    """Hands every problem around the method (setUp, tearDown, cleanup, skip) to the trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self._trial = trial

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._trial.fail(err[1])

    addFailure = addError

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._trial.fail(err[1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._trial.fail(unittest.SkipTest(reason))


def measure(
    probe: Probe, module: types.ModuleType, cls: type[unittest.TestCase], method: str, repeats: int, emit: Any
) -> None:
    """Class set up once, the method `repeats` times, torn down: the order of unittest's own suite."""
    with contextlib.ExitStack() as teardown:
        teardown.callback(unittest.doModuleCleanups)
        getattr(module, "setUpModule", lambda: None)()
        teardown.callback(getattr(module, "tearDownModule", lambda: None))
        teardown.callback(cls.doClassCleanups)
        cls.setUpClass()
        teardown.callback(cls.tearDownClass)
        for repeat in range(1, repeats + 1):
            trial = probe.trial = Trial()
            at, start = datetime.now(timezone.utc), time.perf_counter()  # noqa: UP017
            cls(method).run(Result(trial))
            if not trial.checks and trial.failure is None:
                trial.failure = "the method returned without printing a KL value"
            sys.stdout.flush()
            emit(
                event="repeat",
                repeat=repeat,
                at=at.isoformat(timespec="milliseconds"),
                duration_s=round(time.perf_counter() - start, 4),
                checks=[asdict(check) for check in trial.checks],
                failure=trial.failure,
            )
        emit(event="measured")


def describe(error: BaseException) -> str:
    """One bounded line; refusals are sentences already."""
    line = " ".join(str(error)[:2000].split())[:300]
    return line if isinstance(error, Refused) else f"{type(error).__name__}: {line}"


def end_with_parent() -> None:
    """Linux: a harness that is killed takes this process with it (PR_SET_PDEATHSIG)."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures one KL test method; see the top of this file.")
    parser.add_argument("--test", required=True)
    parser.add_argument("--repeats", required=True, type=int)
    parser.add_argument("--compare")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    end_with_parent()
    if sys.path and Path(sys.path[0]) == Path(__file__).resolve().parent:
        del sys.path[0]  # where this file lies is no part of the project
    sys.path.insert(0, str(Path(options.test.partition("::")[0]).resolve().parent))
    with Path(options.out).open("a", encoding="utf-8") as out:

        def emit(**event: object) -> None:
            out.write(json.dumps(event) + "\n")
            out.flush()

        try:
            probe = Probe()
            compare = probe.wrap_compare(options.compare) if options.compare else None
            module, cls, method = load(options.test)
            if compare:
                replace_everywhere(*compare)
            probe.wrap_method(cls, method, printed=compare is None)
            measure(probe, module, cls, method, options.repeats, emit)
        except BaseException as error:
            emit(event="fatal", failure=describe(error))
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
