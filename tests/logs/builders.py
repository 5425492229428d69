"""A job log from its lines, and the forms it is read with."""

from __future__ import annotations

from bot.logs import Form, LogForms, Print, ScanResult, scan
from bot.logs.linear import compile_pattern
from rules import Pack, load_named

PATH = "test/registered/kl/test_a.py"
RAN_RED = ["Ran 3 tests in 1.5s", "", "FAILED (errors=1)"]
RAN_GREEN = ["Ran 3 tests in 1.5s", "", "OK"]
NO_MORE_TRIES = "Exception: retry() exceed maximum number of retries."


def form(name: str, pattern: str, hint: str, fails_when: str | None = "above", lines: int = 1) -> Form:
    return Form(name, compile_pattern(pattern), fails_when, hint, lines)


def printed(name: str, pattern: str, hint: str) -> Print:
    return Print(name, compile_pattern(pattern), hint)


def forms() -> LogForms:
    pack = load_named("sglang")
    assert isinstance(pack, Pack)
    return pack.scan_forms


def read(*lines: str, end: str = "\n") -> ScanResult:
    """Scans the lines of one test file's output within a rerun job that exits with 1."""
    log = [f"Begin (1/1): python3 {PATH}", *lines, "##[error]Process completed with exit code 1."]
    return scan([end.join([*log, ""]).encode()], forms())


def read_green(*lines: str) -> ScanResult:
    """The same where the file's process ended well."""
    log = ["Begin (0/0):", f"python3 {PATH}", *lines, "End (0/0):", "Cleaning up orphan processes", ""]
    return scan(["\n".join(log).encode()], forms())


def banner(name: str) -> str:
    return f"[CI Test Method] {name}"


def block(value: str, threshold: str = "{'kl_div': 0.003}", per_prompt: str = "[0.001, 0.003]") -> list[str]:
    return [f"kl_divs={per_prompt}", f"avg_kl_div={value}", f"ACC_THRESHOLDS={threshold}"]


def over(value: str, label: str = "decode", threshold: str = "0.003") -> str:
    return f"avg_kl_div={value} > threshold={threshold} for org/model {label}"


def traceback(value: str, label: str = "decode", threshold: str = "0.003") -> list[str]:
    return raised(f"AssertionError: {over(value, label, threshold)}")


def raised(exception: str) -> list[str]:
    return ["Traceback (most recent call last):", '  File "t.py", line 3, in f', exception]


def retry(value: str, label: str = "decode", index: int = 0) -> str:
    line = f"retry() failed once ({index}th try, maximum 1 retries). Will delay 1.79s and retry. Error: "
    return line + over(value, label)


def check(label: str, value: str, threshold: str = "0.003") -> list[str]:
    """What one check prints, its label first."""
    return [f"[{label}] 9 samples, 3 turns", *block(value, f"{{'kl_div': {threshold}}}")]


def listed_other(name: str, exception: str) -> list[str]:
    """An entry of a test whose last try failed for a reason that is no crossing."""
    method = name.rpartition(".")[2]
    head = ["=" * 70, f"ERROR: {method} (__main__.{name})", "-" * 70]
    return [*head, *raised(exception), "", NO_MORE_TRIES, "", "-" * 70]


def retry_other(error: str, index: int = 0) -> str:
    return (
        f"retry() failed once ({index}th try, maximum 1 retries). Will delay 1.79s and retry. Error: {error}"
    )


def listed(name: str, value: str, label: str = "decode", kind: str = "ERROR") -> list[str]:
    """An entry of the runner's list of failures, as Python 3.11 and later head it."""
    method = name.rpartition(".")[2]
    return [
        "=" * 70,
        f"{kind}: {method} (__main__.{name})",
        "-" * 70,
        *traceback(value, label),
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        NO_MORE_TRIES,
        "",
        "-" * 70,
    ]


def seen(result: ScanResult) -> list[tuple[str, int | None, float | None]]:
    """Class.method, attempt and value of each reading, in order."""
    return [(r.test.removeprefix(f"{PATH}::"), r.attempt, r.value) for r in result.readings]
