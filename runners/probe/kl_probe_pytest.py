"""Measures one pytest test several times in one session: the probe's plugin for the project's own pytest.

Standard library and the project's pytest only. The asked test is collected as always, then copied: each copy
gets function fixtures of its own, while class, module and session fixtures stay up between them.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from runners.probe.kl_probe import Probe

# Plugins that would repeat, split, seed or reorder what is measured, by their entry points.
_SILENCED: Final = (
    *("xdist", "xdist.looponfail", "rerunfailures", "flaky", "pytest-retry", "timeout", "repeat", "randomly"),
)
# Their options and settings stay known, without effect: a project's addopts may name them.
_OPTIONS: Final = (
    ("-n", "--numprocesses"),
    *(("--dist",), ("--maxprocesses",), ("--tx",), ("--max-worker-restart",)),
    *(("--reruns",), ("--reruns-delay",), ("--only-rerun",), ("--rerun-except",)),
    *(("--retries",), ("--retry-delay",), ("--max-runs",), ("--min-passes",)),
    *(("--timeout",), ("--timeout-method",), ("--session-timeout",)),
    *(("--count",), ("--repeat-scope",), ("--randomly-seed",)),
)
_FLAGS: Final = (
    "-d",
    "-f",
    "--looponfail",
    "--force-flaky",
    "--no-flaky-report",
    "--timeout-disable-debugger-detection",
)
_SETTINGS: Final = (
    *("timeout", "timeout_method", "timeout_func_only", "session_timeout", "reruns", "reruns_delay"),
    *("retries", "retry_delay", "looponfailroots", "xdist_start_method"),
)
_MARKERS: Final = ("flaky", "timeout", "repeat", "xdist_group")


class Plugin:
    def __init__(self, probe: Probe, name: str, repeats: int) -> None:
        self._probe, self._name, self._repeats = probe, name, repeats
        self._end: object = None
        self.problem: str | None = None

    def pytest_addoption(self, parser: Any) -> None:
        # As pytest does it for its own one-letter options; a plugin's may be upper case only.
        group = parser.getgroup("kl-triage", "without effect while measuring")
        for names in _OPTIONS:
            group._addoption(*names, dest=f"kl_triage_{names[-1].strip('-')}", action="append")
        for name in _FLAGS:
            group._addoption(name, dest=f"kl_triage_{name.strip('-')}", action="store_true")
        for name in _SETTINGS:
            parser.addini(name, "without effect while measuring")

    def pytest_configure(self, config: Any) -> None:
        for name in _MARKERS:
            config.addinivalue_line("markers", f"{name}: without effect while measuring")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self.problem is None:
            said = str(report.longrepr).strip().splitlines() or ["no reason given"]
            self.problem = f"the test file could not be collected: {said[-1][:2000]}"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        found = {item.nodeid.partition("::")[2]: item for item in items}
        asked = [found[self._name]] if self._name in found else []
        items[:] = []
        if asked:
            try:
                self._probe.wrap_compare(file=getattr(asked[0], "module", None))
            except Exception as error:
                self.problem = str(error)
                return
            items[:] = [_copy(asked[0]) for _ in range(self._repeats + 1)]
            # After the last repeat the wider fixtures are still up; the extra copy is never run.
            self._end = items[-1]
        elif self.problem is None:
            self.problem = self._missing(list(found))

    def _missing(self, names: list[str]) -> str:
        plain, bracket, _ = self._name.partition("[")
        variants = [name[len(plain) :] for name in names if name.partition("[")[0] == plain]
        shown = ", ".join(variants[:10]) + (", …" if len(variants) > 10 else "")
        test = plain.replace("::", ".")
        if not variants:
            return f"pytest finds no test {test} there at this commit"
        if not bracket:
            return f"{test} is parametrised: name one of {shown}"
        return f"{self._name[len(plain) :]} is no variant of {test}; there are {shown}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> bool | None:
        if item is not self._end:
            return None
        self._probe.emit(event="measured")
        return True

    def pytest_runtest_logstart(self) -> None:
        self._probe.begin()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        if isinstance(item, pytest.Function):
            item.obj = self._probe.once(item.obj)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> None:
        if call.excinfo is None:
            return
        if call.when == "call":  # the test itself raises nothing: a subtest
            self._probe.trial.errors.append(call.excinfo.value)
        else:
            self._probe.trial.fail(call.excinfo.value)

    def pytest_runtest_logfinish(self) -> None:
        self._probe.end()


def _copy(item: Any) -> Any:
    """A test of its own: equal, but set up and torn down by itself."""
    other = copy.copy(item)
    if type(item) is pytest.Function:
        for name in ("_obj", "_instance"):
            other.__dict__.pop(name, None)
    other._initrequest()
    return other


def run(probe: Probe, test: str, repeats: int) -> str | None:
    """Measures path::Class.method or path::function, with [param id]; returns why nothing was measured."""
    path, _, name = test.partition("::")
    plain, bracket, param = name.partition("[")
    plugin = Plugin(probe, plain.replace(".", "::") + bracket + param, repeats)
    silenced = [f"-pno:{name}" for name in _SILENCED]
    code = pytest.main(
        [*silenced, "-s", "--maxfail=0", "-k", "", "-m", "", str(Path(path).resolve())], plugins=[plugin]
    )
    sys.stdout.flush()
    if probe.trial.number == 0:
        return plugin.problem or f"pytest ended with exit code {int(code)} and ran no test"
    return None
