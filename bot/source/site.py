"""The site of a bound: the one literal in source that sets it, and the tests it governs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bot.verdict.answer import Refusal


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another class's bound of the same name, in the same file or another test file of its folder."""

    path: str
    cls: str
    value: float


@dataclass(frozen=True, slots=True)
class Override:
    """Where the failing class gets a bound of its own: a statement `attribute = value` in its body.

    `line` is that of the class header, 1-based; `start` the byte offset where the new line is inserted,
    `indent` and `line_end` ("\\n" or "\\r\\n") what it is written with.
    """

    path: str
    cls: str
    attribute: str
    line: int
    start: int
    indent: str
    line_end: str


@dataclass(frozen=True, slots=True)
class Site:
    """`line` and `column` are 1-based, the column in characters; `start` and `end` are byte offsets."""

    path: str
    cls: str | None
    """The class that holds the literal; None where it stands at module level."""
    attribute: str
    """The class attribute, the constant, the entry as MODEL['kl_div'], or the call as assertLess(…)."""
    line: int
    column: int
    start: int
    end: int
    spelling: str
    value: float
    scope: str
    """'class', 'method', 'inherited in file', 'inherited from another test file', 'kit default',
    'module constant' or 'dict entry'."""
    governs: tuple[str, ...]
    siblings: tuple[Sibling, ...]
    complete: bool = False
    """Whether `governs` was searched through the whole tree."""
    refusal: Refusal | None = None
    """Why the literal must not be changed."""
    override: Override | None = None
    """Where a bound of the failing class's own goes instead."""

    @property
    def name(self) -> str:
        """TestA.kl_threshold, or KL_BOUND."""
        return self.attribute if self.cls is None else f"{self.cls}.{self.attribute}"

    @property
    def key(self) -> str:
        """Names the site in investigations and branches, stable while lines move.

        With an override it is that of the failing class, whose own bound is the one that may move.
        """
        own = self.override
        return f"{self.path}::{self.name}" if own is None else f"{own.path}::{own.cls}.{own.attribute}"

    def as_dict(self) -> dict[str, object]:
        """The JSON of `kl-triage locate`."""
        return {
            "path": self.path,
            "class": self.cls,
            "attribute": self.attribute,
            "line": self.line,
            "column": self.column,
            "spelling": self.spelling,
            "value": self.value,
            "scope": self.scope,
            "governs": list(self.governs),
            "complete": self.complete,
            "siblings": [{"path": s.path, "class": s.cls, "value": s.value} for s in self.siblings],
            "override": None if self.override is None else asdict(self.override),
        }

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Site:
        """The site of which `stored` is dataclasses.asdict, also after a way through JSON."""
        refusal, override = stored.get("refusal"), stored.get("override")
        parts = {
            "governs": tuple(stored["governs"]),
            "siblings": tuple(Sibling(**sibling) for sibling in stored["siblings"]),
            "refusal": Refusal(**refusal) if refusal else None,
            "override": Override(**override) if override else None,
        }
        return cls(**{**stored, **parts})
