"""What the judge looks at: readings in canonical order, split by arm, with their bound."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bot.verdict.answer import Refusal
from bot.verdict.reading import Arm, Reading, RecordError, Status

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RERUNS = (Arm.HEAD, Arm.BASE)
ROUNDING = 1e-9
"""k3 is never negative; sums of float32 terms may land this far below zero."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the readings cannot say about the site.

    `refusal`: the red test is no bound failure, nothing is judged. `bump_refusal`: the run may be judged, but
    no bound may move because of it. `first_bound`: the bound before the first bump (default: the present).
    """

    siblings: tuple[float, ...] = ()
    first_bound: float | None = None
    bump_refusal: Refusal | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True, eq=False)
class ArmView:
    """Usable readings of one arm (finite, one GPU type; history: first tries only) as arrays."""

    readings: tuple[Reading, ...]
    missing: int
    values: Floats
    launches: Ints
    """Launch of each reading, numbered from 0; a reading without a launch id shares one with its like."""
    prompts: Floats
    """n x P; a row is nan where a reading has no list of the usual length. P = 0 where nothing has one."""

    @property
    def n(self) -> int:
        return len(self.readings)

    @property
    def launch_count(self) -> int:
        return int(self.launches.max()) + 1 if self.n else 0

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(reading.host or "" for reading in self.readings)

    @property
    def with_prompts(self) -> NDArray[np.bool_]:
        return np.all(np.isfinite(self.prompts), axis=1) if self.prompts.shape[1] else np.zeros(self.n, bool)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Readings of one test and one check under one bound; made by `from_records`, never changed."""

    test: str
    threshold: float
    readings: tuple[Reading, ...]
    gpu: str | None
    arms: Mapping[Arm, ArmView]
    context: Context
    notes: tuple[str, ...]
    others: Mapping[str, Evidence] = dataclasses.field(default_factory=dict)
    """The test's other checks by label: their reruns and past runs, under the same bound."""

    @classmethod
    def from_records(
        cls,
        records: Iterable[Mapping[str, object] | Reading],
        *,
        threshold: float | None = None,
        context: Context | None = None,
        label: str | None = None,
    ) -> Evidence:
        """Strict: RecordError names the record (1-based) and the field. Order of records never matters.

        Several tests are an error. Of several labels `label` is judged, else the trigger's, and what the
        reruns hold of the rest are `others`; without one it is an error. The bound is `threshold`, else the
        only one in the records of that check; 0 is an exact gate, below 0 an error.
        """
        readings = [_checked(record, number) for number, record in enumerate(records, 1)]
        if not readings:
            raise RecordError("(records)", "there is no reading at all; give at least the failing one")
        _one_test(readings)
        chosen, rest = _one_label(readings, label)
        bound = _bound(readings, threshold, {r.label for r in chosen})
        known = context or Context()
        labels = sorted({r.label for r in rest if r.label is not None and r.arm in RERUNS})
        others = {name: cls._of([r for r in rest if r.label == name], bound, known) for name in labels}
        left_out = (f"{len(rest)} readings of other checks judged apart",) if rest else ()
        one = cls._of(chosen, bound, known)
        return replace(one, notes=(*left_out, *one.notes), others=others)

    @classmethod
    def _of(cls, readings: Sequence[Reading], bound: float, context: Context) -> Evidence:
        """Of one check."""
        once, twice = _once(readings)
        ordered = tuple(sorted(once, key=_canonical))
        gpu = _gpu(ordered)
        width, width_note = _width(ordered)
        arms = {arm: _view(ordered, arm, gpu, width) for arm in Arm}
        return cls(ordered[0].test, bound, ordered, gpu, arms, context, (*twice, *width_note))

    @property
    def head(self) -> ArmView:
        return self.arms[Arm.HEAD]

    @property
    def base(self) -> ArmView:
        return self.arms[Arm.BASE]

    @property
    def history(self) -> ArmView:
        return self.arms[Arm.HISTORY]

    @property
    def trigger(self) -> ArmView:
        return self.arms[Arm.TRIGGER]

    def of(self, *arms: Arm) -> tuple[Reading, ...]:
        """All readings of these arms, missing, non-finite and other GPU types included."""
        return tuple(reading for reading in self.readings if reading.arm in arms)


def finite(reading: Reading) -> bool:
    """A measured value, and every per-prompt value with it, is a number."""
    if reading.status is not Status.OK or reading.value is None:
        return False
    return math.isfinite(reading.value) and all(map(math.isfinite, reading.per_prompt))


def launch_key(reading: Reading) -> str:
    """Readings of unknown launch count as one launch, except past runs, which are one job each."""
    if reading.launch is not None:
        return "=" + reading.launch
    if reading.arm is Arm.HISTORY:
        return f"?{reading.source}|{reading.at}|{reading.seq}"
    return "?"


def _checked(record: Mapping[str, object] | Reading, number: int) -> Reading:
    reading = record if isinstance(record, Reading) else Reading.from_record(record, number)
    if reading.status is not Status.OK:
        return reading
    for field, items in (("value", (reading.value or 0.0,)), ("per_prompt", reading.per_prompt)):
        for item in items:
            if item < -ROUNDING and math.isfinite(item):
                raise RecordError(field, f"{item:g} is negative: not a k3 KL, which is never below 0", number)
    if reading.threshold is not None and reading.threshold < 0:
        raise RecordError("threshold", "must not be negative", number)
    return reading


def _one_test(readings: Sequence[Reading]) -> None:
    for number, reading in enumerate(readings, 1):
        if reading.test != readings[0].test:
            raise RecordError("test", "two tests in one file; judge one test at a time", number)


def _bound(readings: Sequence[Reading], explicit: float | None, labels: set[str | None]) -> float:
    if explicit is not None:
        if not math.isfinite(explicit) or explicit < 0:
            raise RecordError("threshold", "must be finite and not negative")
        return explicit
    first: float | None = None
    for number, reading in enumerate(readings, 1):
        if reading.threshold is None or reading.label not in labels:
            continue
        if first is not None and reading.threshold != first:
            mixed = f"{first:g} and {reading.threshold:g} are both in the file; say which bound to judge"
            raise RecordError("threshold", mixed, number)
        first = reading.threshold
    if first is None:
        raise RecordError("threshold", "no reading names the bound; give it explicitly")
    return first


def _one_label(readings: Sequence[Reading], label: str | None) -> tuple[list[Reading], list[Reading]]:
    """Those of the check to judge and those of the others; no label goes with every label."""
    if label is None and len({r.label for r in readings if r.label is not None}) <= 1:
        return list(readings), []
    red = {r.label for r in readings if r.label is not None and r.arm is Arm.TRIGGER}
    others = {r.label for r in readings if r.label is not None and r.arm is not Arm.TRIGGER}
    if label is None and (len(red) != 1 or (others and not red & others)):
        raise RecordError("label", "several checks in one file and no failing one to choose by; judge one")
    wanted = red if label is None else {label}
    kept = [r for r in readings if r.label is None or r.label in wanted]
    if not kept:
        raise RecordError("label", "no reading is of the check that was asked for")
    return kept, [r for r in readings if r.label is not None and r.label not in wanted]


def _once(readings: Sequence[Reading]) -> tuple[list[Reading], tuple[str, ...]]:
    """A reading that stands in the file twice was measured once; by launch and repeat it is known again."""
    known: set[Reading] = set()
    kept = []
    for reading in readings:
        if reading.launch is not None and reading.repeat is not None:
            if reading in known:
                continue
            known.add(reading)
        kept.append(reading)
    twice = len(readings) - len(kept)
    return kept, ((f"{twice} readings stand in the file twice: counted once",) if twice else ())


def _canonical(reading: Reading) -> tuple[object, ...]:
    order = (tuple(Arm).index(reading.arm), reading.at or "", -1 if reading.seq is None else reading.seq)
    return (*order, reading.launch or "", reading.repeat or 0, reading.attempt or 0, repr(reading))


def _gpu(readings: Sequence[Reading]) -> str | None:
    """The GPU type judged: the commonest of the reruns, else of the trigger. GPU types are never pooled."""
    for arms in (RERUNS, (Arm.TRIGGER,)):
        count = Counter(r.gpu for r in readings if r.arm in arms and r.gpu is not None)
        if count:
            return min(count, key=lambda gpu: (-count[gpu], gpu))
    return None


def _width(readings: Sequence[Reading]) -> tuple[int, tuple[str, ...]]:
    """The usual number of prompts; readings with another one take no part in what is paired by prompt."""
    count = Counter(len(r.per_prompt) for r in readings if finite(r) and r.per_prompt)
    if not count:
        return 0, ()
    width = min(count, key=lambda size: (-count[size], size))
    odd = sum(count.values()) - count[width]
    note = (
        (f"{odd} readings have another number of prompts than {width}: not paired by prompt",) if odd else ()
    )
    return (width if width > 1 else 0), note


def _view(readings: Sequence[Reading], arm: Arm, gpu: str | None, width: int) -> ArmView:
    mine = [replace(r, value=max(r.value or 0.0, 0.0)) if finite(r) else r for r in readings if r.arm is arm]
    usable = [r for r in mine if finite(r) and (arm is Arm.TRIGGER or r.gpu is None or r.gpu == gpu)]
    if arm is Arm.HISTORY:
        usable = [r for r in usable if r.attempt in (None, 1)]
    keys: dict[str, int] = {}
    launches = np.array([keys.setdefault(launch_key(r), len(keys)) for r in usable], dtype=np.int64)
    prompts = np.full((len(usable), width), math.nan)
    for row, reading in enumerate(usable):
        if width and len(reading.per_prompt) == width:
            prompts[row] = np.maximum(reading.per_prompt, 0.0)
    values = np.array([r.value for r in usable], dtype=np.float64)
    missing = sum(r.status is not Status.OK for r in mine)
    return ArmView(tuple(usable), missing, values, launches, prompts)
