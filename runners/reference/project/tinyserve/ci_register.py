"""How a test file says which CI suite runs it. The call is read from the source, not executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Registration:
    est_time: float
    suite: str


def register_cpu_ci(est_time: float, suite: str) -> None:
    """Put this at the top of a test module, with constants only: seconds expected, and the suite's name."""


def registration_of(path: Path) -> Registration | None:
    """What `path` registers itself for; None if nothing."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        match statement:
            case ast.Expr(ast.Call(ast.Name("register_cpu_ci"), [], keywords)):
                given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in keywords if keyword.arg}
                return Registration(**given)
    return None
