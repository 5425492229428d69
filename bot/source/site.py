"""The site of a bound: the one literal in source that sets it, and the tests it governs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another class's bound of the same name in the same file."""

    path: str
    cls: str
    value: float


@dataclass(frozen=True, slots=True)
class Site:
    """`line` and `column` are 1-based, the column in characters; `start` and `end` are byte offsets."""

    path: str
    cls: str
    attribute: str
    line: int
    column: int
    start: int
    end: int
    spelling: str
    value: float
    scope: str
    """'class': set in the failing class itself, the only scope that may be edited today."""
    governs: tuple[str, ...]
    siblings: tuple[Sibling, ...]

    @property
    def key(self) -> str:
        """Names the site in investigations and branches, stable while lines move."""
        return f"{self.path}::{self.cls}.{self.attribute}"

    def as_dict(self) -> dict[str, object]:
        """The JSON of `kl-triage locate`."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "spelling": self.spelling,
            "value": self.value,
            "scope": self.scope,
            "governs": list(self.governs),
            "siblings": [{"path": s.path, "class": s.cls, "value": s.value} for s in self.siblings],
        }
