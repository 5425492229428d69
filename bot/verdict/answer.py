"""What the judge answers: a verdict, the runs it still wants, a proposal, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class VerdictKind(StrEnum):
    NOISE = "noise"
    REGRESSION = "regression"
    OLD_REGRESSION = "old_regression"
    DETERMINISTIC = "deterministic"
    INTERMITTENT = "intermittent"
    HARDWARE = "hardware"
    INFRA = "infra"
    NON_FINITE = "non_finite"
    EXACT_GATE = "exact_gate"
    NOT_REPRODUCED = "not_reproduced"
    REFUSED = "refused"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stable snake_case code and one sentence that says why and what to do. A value, never raised."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """`repeats` measurements on each of `launches` fresh server starts."""

    launches: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs still wanted, keyed by arm name ('head', 'base')."""

    arms: Mapping[str, ArmPlan]


@dataclass(frozen=True, slots=True)
class Runs:
    ok: int
    missing: int


@dataclass(frozen=True, slots=True)
class Exceedance:
    """Readings over the bound; `low` and `high` are the exact (Clopper-Pearson) 95 % interval."""

    exceeded: int
    n: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Level:
    """Where the values of one arm lie, in nats."""

    median: float
    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """Level of head over level of base."""

    estimate: float
    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class OutlierPrompt:
    """One prompt far outside its own reference."""

    prompt: int
    value: float
    reference: float
    arm: str
    launch: str | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was measured; a field is None or empty where it was not."""

    runs: Mapping[str, Runs] = field(default_factory=dict)
    exceedance: Mapping[str, Exceedance] = field(default_factory=dict)
    levels: Mapping[str, Level] = field(default_factory=dict)
    ratio: Ratio | None = None
    min_detectable_ratio: float | None = None
    change_point: Mapping[str, object] | None = None
    outlier_prompts: tuple[OutlierPrompt, ...] = ()
    gpu_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected exceedance of a bound per CI job: model-based with an interval, and the model-free limit."""

    rate: float
    low: float
    high: float
    model: str
    exact_high: float


@dataclass(frozen=True, slots=True)
class Catch:
    """Chance that one CI job goes red when the level is multiplied by `ratio`."""

    ratio: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bound that was considered, what it would exceed, and why it was not taken (empty: it was)."""

    threshold: float
    exceedance: Expected
    why_not: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new bound and what speaks for and against it."""

    old: float
    threshold: float
    why_this_value: str
    exceedance: Expected
    still_catches: tuple[Catch, ...]
    alternatives: tuple[Candidate, ...] = ()
    remedies: tuple[str, ...] = ()

    @property
    def factor(self) -> float:
        return self.threshold / self.old

    @property
    def interval(self) -> tuple[float, float]:
        """Interval on the expected exceedance per CI job."""
        return self.exceedance.low, self.exceedance.high


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder and what it saw; the last one of a trace answered."""

    name: str
    saw: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """contracts/verdict.schema.json. While `next` is set, `kind` is `inconclusive`."""

    kind: VerdictKind
    reason: str
    sentence: str
    numbers: Numbers
    next: Plan | None = None
    proposal: Proposal | None = None
    trace: tuple[Rung, ...] = ()

    def as_dict(self) -> dict[str, object]:
        return {
            "kind": str(self.kind),
            "reason": self.reason,
            "sentence": self.sentence,
            "numbers": _numbers(self.numbers),
            "next": None if self.next is None else {"arms": {a: plain(p) for a, p in self.next.arms.items()}},
            "proposal": None if self.proposal is None else _proposal(self.proposal),
            "trace": [plain(rung) for rung in self.trace],
        }


def plain(value: object) -> object:
    """A dataclass as JSON values, recursively; nan and inf as strings."""
    from bot.verdict.reading import number_to_json

    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, float):
        return number_to_json(value)
    return value


def _numbers(numbers: Numbers) -> dict[str, object]:
    """Absent where not measured, as the contract says."""
    items = {name: plain(getattr(numbers, name)) for name in numbers.__dataclass_fields__}
    return {name: value for name, value in items.items() if value not in (None, {}, [])}


def _proposal(proposal: Proposal) -> dict[str, object]:
    expected = plain(proposal.exceedance)
    return {
        "old": proposal.old,
        "threshold": proposal.threshold,
        "factor": proposal.factor,
        "why_this_value": proposal.why_this_value,
        "expected_exceedance": expected,
        "still_catches": [[catch.ratio, catch.after] for catch in proposal.still_catches],
        "caught_before": [[catch.ratio, catch.before] for catch in proposal.still_catches],
        "alternatives": [plain(candidate) for candidate in proposal.alternatives],
        "remedies": list(proposal.remedies),
    }
