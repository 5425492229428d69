"""The judge's loop on this machine: measure what it asks for, judge again, until it has answered."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from bot.local.clone import LocalError
from bot.local.measure import Step, collect, measure, plan_in, stopped, summary_of
from bot.local.question import Question, context
from bot.report import chart, evidence
from bot.report.markdown import one_line
from bot.source import Site
from bot.triage.measure.plans import plan_of
from bot.triage.measure.restraint import other_bound
from bot.verdict import Arm, ArmPlan, Context, Evidence, Reading, Refusal, Verdict, decide
from runners.plan import RerunPlan

MAX_ROUNDS: Final = 12
GIVEN: Final = "given.jsonl"
HOST_NOT_SEEN: Final = "host_not_seen"
"""The judge's reason where no rerun landed on the host of the red job."""


class Watch(Protocol):
    """Whoever shows how far it is."""

    def judged(self, number: int, verdict: Verdict) -> None:
        """After round `number` the judge said this."""

    def round(self, number: int, plan: RerunPlan) -> AbstractContextManager[Callable[[Step], None]]:
        """Around the measuring of a round; what it gives hears of each repeat."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`verdict` is None where nothing was measured; `trouble` says why the last harness ended early,
    `note` why this machine cannot answer."""

    verdict: Verdict | None
    readings: tuple[Reading, ...]
    bound: float | None
    site: Site | Refusal
    rounds: int
    interrupted: bool = False
    trouble: str = ""
    note: str = ""


def investigate(
    question: Question,
    out: Path,
    *,
    given: Sequence[Reading] = (),
    label: str | None = None,
    threshold: float | None = None,
    python: str,
    resume: bool,
    watch: Watch,
) -> Answer:
    """Judges `given` (trigger and history), then measures and judges into `out` until nothing more is wanted.

    `threshold` is the bound where the source at head names none. With `resume` the rounds in `out` are taken
    first, the last one finished. Raises LocalError.
    """
    site = question.site()
    asked = _Judge(question, site, context(question, site), label, threshold)
    readings = tuple(_given(out, given, resume=resume))
    if asked.can_never_tell(readings):
        raise LocalError(
            f"No bound is known for the script {question.test}: give it by --threshold, or name a printed "
            "form with the group threshold in the rule pack."
        )
    for number in range(1, MAX_ROUNDS + 1):
        verdict = asked.verdict(readings)
        if verdict is not None:
            watch.judged(number - 1, verdict)
        wanted = asked.wanted(verdict)
        if not wanted or _is_elsewhere(verdict):
            answer = Answer(verdict, readings, asked.bound, site, number - 1)
            return _kept(out, replace(answer, note=_elsewhere(readings) if wanted else ""))
        folder = out / f"round-{number}"
        plan = (plan_in(folder) if resume else None) or _plan(question, wanted)
        _check(plan, question, folder)
        told = summary_of(folder)
        if told and not told.get("cancelled") and not stopped(told):
            readings += collect(plan, folder)
            if number == 1 and (why := _no_value(readings)):
                return _kept(out, asked.without_values(readings, why))
            continue
        with watch.round(number, plan) as report:
            measured = measure(
                plan,
                question.clone.folder,
                folder,
                python=python,
                resume=(folder / "plan.json").is_file(),
                report=report,
            )
        readings += measured.readings
        broken = measured.interrupted or bool(measured.said)
        if (number == 1 or broken) and (why := _no_value(readings)):
            answer = asked.without_values(readings, "" if measured.interrupted else why)
        elif broken:
            answer = Answer(asked.verdict(readings), readings, asked.bound, site, number)
        else:
            continue
        return _kept(out, replace(answer, interrupted=measured.interrupted, trouble=measured.said))
    return _kept(out, Answer(asked.verdict(readings), readings, asked.bound, site, MAX_ROUNDS))


@dataclass(frozen=True, slots=True)
class _Judge:
    """The judge with what it must know of the site."""

    question: Question
    site: Site | Refusal
    context: Context
    label: str | None
    threshold: float | None

    @property
    def bound(self) -> float | None:
        """The source at head is the truth; without one the readings must say it."""
        return self.site.value if isinstance(self.site, Site) else self.threshold

    def verdict(self, readings: Sequence[Reading]) -> Verdict | None:
        """None while there is no reading."""
        chosen = [r for r in readings if self.label is None or r.label in (self.label, None)]
        if not chosen:
            return None
        try:
            barred = other_bound(chosen, self.bound) or self.context.bump_refusal
            context = replace(self.context, bump_refusal=barred)
            evidence = Evidence.from_records(
                readings, threshold=self.bound, context=context, label=self.label
            )
        except ValueError as error:
            told = str(error).replace("give it explicitly", "give it by --threshold")
            raise LocalError(f"The readings do not fit together: {told}") from None
        return decide(evidence, self.question.policy)

    def can_never_tell(self, given: Sequence[Reading]) -> bool:
        """Whether this is a script whose bound nobody names: its runs could not be judged."""
        if not self.question.is_script or self.bound is not None:
            return False
        prints = any("(?P<threshold>" in printed.pattern for printed in self.question.pack.prints)
        return not prints and all(reading.threshold is None for reading in given)

    def without_values(self, readings: tuple[Reading, ...], why: str) -> Answer:
        """After a round that gave none: more of them would not help. A verdict needs a known bound."""
        verdict = self.verdict(readings) if self.bound is not None else None
        return Answer(verdict, readings, self.bound, self.site, 1, note=why)

    def wanted(self, verdict: Verdict | None) -> dict[str, ArmPlan]:
        """Without a reading to judge, what the judge begins with."""
        if verdict is None:
            first = ArmPlan(*self.question.policy.first_batch)
            return {"head": first, "base": first}
        return dict(verdict.next.arms) if verdict.next is not None else {}


def _is_elsewhere(verdict: Verdict | None) -> bool:
    """Whether only the red job's host could say more: further rounds here would cost time for nothing."""
    return verdict is not None and verdict.reason == HOST_NOT_SEEN


def _no_value(readings: Sequence[Reading]) -> str:
    """The commonest reason where no run of head or base has a value; empty where one has."""
    measured = [reading for reading in readings if reading.arm in (Arm.HEAD, Arm.BASE)]
    if not measured or any(reading.value is not None for reading in measured):
        return ""
    reasons = Counter(f"{reading.status}: {reading.error or 'no reason given'}" for reading in measured)
    why, count = reasons.most_common(1)[0]
    return (
        f"No run gave a value; {count} of {len(measured)}: {one_line(why, 300)}. Mend that and give another "
        "--out."
    )


def _elsewhere(readings: Sequence[Reading]) -> str:
    red = sorted({r.host for r in readings if r.arm is Arm.TRIGGER and r.host})
    here = sorted({r.host for r in readings if r.arm in (Arm.HEAD, Arm.BASE) and r.host})
    return (
        f"The red job ran on {', '.join(red)}, these runs on {', '.join(here)}: whether that host is at "
        "fault is not to be seen here. Measure on it (RUNNER_NAME names this machine), or comment /rerun-kl."
    )


def _plan(question: Question, wanted: dict[str, ArmPlan]) -> RerunPlan:
    """The request id is new each time: launches of two rounds must not share a name."""
    request = f"local-{question.head[:10]}-{secrets.token_hex(3)}"
    plan = plan_of(
        question.pack, request=request, test=question.test, commits=question.commits, wanted=wanted
    )
    if isinstance(plan, Refusal):
        raise LocalError(plan.sentence)
    return plan


def _check(plan: RerunPlan, question: Question, folder: Path) -> None:
    same = plan.test == question.test and dict(plan.commits).items() <= question.commits.items()
    if not same:
        raise LocalError(f"{folder} measured another test or other commits; give another --out.")


def _given(out: Path, given: Sequence[Reading], *, resume: bool) -> list[Reading]:
    """Kept beside the rounds, so that a resumed triage judges the same."""
    if not resume and (out / "round-1").exists():
        raise LocalError(f"{out} holds a triage already; go on with --resume, or give another --out.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        if resume and not given and (out / GIVEN).is_file():
            lines = (out / GIVEN).read_text(encoding="utf-8").splitlines()
            return [Reading.from_record(json.loads(line)) for line in lines]
        (out / GIVEN).write_text(evidence.readings_jsonl(given), encoding="utf-8")
    except OSError as error:
        raise LocalError(f"{out}: {error.strerror}") from None
    except ValueError as error:
        raise LocalError(f"{out / GIVEN}: {error}") from None
    return list(given)


def _kept(out: Path, answer: Answer) -> Answer:
    """Readings, picture and verdict as files. On a full disk the answer is still told."""
    try:
        _write(out, answer)
    except OSError as error:
        return replace(answer, trouble=answer.trouble or f"{out}: {error.strerror}")
    return answer


def _write(out: Path, answer: Answer) -> None:
    if answer.verdict is not None:
        new = answer.verdict.proposal.threshold if answer.verdict.proposal else None
        (out / evidence.READINGS).write_text(evidence.readings_jsonl(answer.readings), encoding="utf-8")
        (out / evidence.CHART).write_text(chart.svg(answer.readings, answer.bound, new), encoding="utf-8")
        text = json.dumps(answer.verdict.as_dict(), indent=1) + "\n"
        (out / "verdict.json").write_text(text, encoding="utf-8")
