"""How runs of a test file are printed: by unittest, and by pytest without workers and without capture."""

from __future__ import annotations

from dataclasses import dataclass, field

Entry = tuple[str, str, str]
"""Class, method and message of a test that went red."""
NO_MORE_TRIES = "Exception: retry() exceed maximum number of retries."


def traceback(message: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "kit.py", line 3, in f',
        f"AssertionError: {message}",
        "",
    ]


@dataclass(slots=True)
class Unittest:
    """Marks of progress go to stderr without a line's end."""

    path: str
    command = "python3"
    failfast = "-f"
    entries: list[Entry] = field(default_factory=list)
    ran: int = 0

    def head(self) -> list[str]:
        return [".", ""]

    def start(self, cls: str, name: str) -> str:
        self.ran += 1
        return f"[CI Test Method] {cls}.{name}"

    def mark(self, red: bool) -> str:
        return "E" if red else "."

    def outcome(self, red: bool) -> list[str]:
        return []

    def tail(self, failfast: bool) -> list[str]:
        lines = [""]
        for cls, name, message in self.entries:
            lines += ["=" * 70, f"ERROR: {name} (__main__.{cls}.{name})", "-" * 70, *traceback(message)]
            lines += ["During handling of the above exception, another exception occurred:", ""]
            lines += ["Traceback (most recent call last):", NO_MORE_TRIES, ""]
        verdict = f"FAILED (errors={len(self.entries)})" if self.entries else "OK"
        return [*lines, "-" * 70, f"Ran {self.ran} tests in 301.447s", "", verdict]


class Pytest(Unittest):
    command = "python3 -m pytest -s -v"
    failfast = "-x"

    def head(self) -> list[str]:
        return ["=" * 28 + " test session starts " + "=" * 28, "collected 6 items", ""]

    def start(self, cls: str, name: str) -> str:
        return f"{self.path}::{cls}::{name} " + Unittest.start(self, cls, name)

    def mark(self, red: bool) -> str:
        return ""

    def outcome(self, red: bool) -> list[str]:
        return ["FAILED" if red else "PASSED"]

    def tail(self, failfast: bool) -> list[str]:
        lines = ["", "=" * 34 + " FAILURES " + "=" * 34] if self.entries else [""]
        for cls, name, message in self.entries:
            lines += [
                "_" * 20 + f" {cls}.{name} " + "_" * 20,
                ">       return fn()",
                f"E       AssertionError: {message}",
            ]
            lines += ["", "During handling of the above exception, another exception occurred:", ""]
            lines += [f"E       {NO_MORE_TRIES}", "", "kit.py:9: Exception"]
        if self.entries:
            lines += ["=" * 27 + " short test summary info " + "=" * 27]
            lines += [
                f"FAILED {self.path}::{cls}::{name} - Exception: retry()..." for cls, name, _ in self.entries
            ]
            lines += ["!" * 26 + " stopping after 1 failures " + "!" * 26] if failfast else []
        red, green = len(self.entries), self.ran - len(self.entries)
        counts = ", ".join(f"{n} {word}" for n, word in ((red, "failed"), (green, "passed")) if n)
        return [*lines, "=" * 20 + f" {counts} in 3.01s " + "=" * 20]
