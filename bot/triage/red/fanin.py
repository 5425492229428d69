"""Who is measured and who is answered: what becomes of a pull request that went red at a site. Pure.

One site is measured for one pull request at a time. The others wait for its verdict, or are answered with a
recent one, where it fits what their own job showed; where it does not, they are measured themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from bot.verdict import Refusal, VerdictKind

ALREADY: Final = "already_investigated"
MAX_WAITING: Final = 50
ANSWERS: Final = frozenset({VerdictKind.NOISE, VerdictKind.OLD_REGRESSION})
"""What is true of the default branch too, and so of a pull request that was not measured."""
ASIDE: Final = frozenset(
    {
        *(VerdictKind.REGRESSION, VerdictKind.INFRA, VerdictKind.REFUSED),
        *(VerdictKind.INCONCLUSIVE, VerdictKind.NOT_REPRODUCED),
    }
)
"""What says nothing about other pull requests: the fault of one of them, or no answer."""
AGAINST: Final = frozenset(
    {
        *(VerdictKind.REGRESSION, VerdictKind.DETERMINISTIC, VerdictKind.INTERMITTENT),
        *(VerdictKind.NON_FINITE, VerdictKind.EXACT_GATE),
    }
)
"""What was found against the code of the pull request that was measured."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a red job showed at a site. `values` in nats, of every attempt; `runner`: the label of reruns,
    `labels` those the job asked for itself, in lower case, none where they are not known; `unfit`: the pull
    request changes what the test rests on; `moved`: the commit is not the head any more."""

    pull: int
    head_sha: str
    test: str
    label: str | None
    values: tuple[float, ...]
    bound: float | None
    runner: str
    labels: frozenset[str]
    base_ref: str
    also_red: bool = False
    unfit: bool = False
    fork: bool = False
    commanded: bool = False
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The investigation of the site that is open. `settled`: its verdict stands, it is only being told."""

    id: str
    pull: int
    head_sha: str
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """An investigation of the site that has ended; `kind` None: it was given up; `chosen`: a person chose the
    base or the machine, so it holds for nobody else."""

    id: str
    pull: int
    head_sha: str
    kind: VerdictKind | None
    at: datetime
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """A verdict that may answer others, and what it was about. `ceiling`: the largest value that was measured
    of the check; None: nothing was."""

    past: Past
    test: str
    label: str | None
    bound: float | None
    runner: str
    base_ref: str
    ceiling: float | None


class Fate(StrEnum):
    MEASURE = "measure"
    WAIT = "wait"
    JOIN = "join"
    ANSWER = "answer"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Decision:
    """`investigation`: the one that is waited for, that the readings join or that answers; `why`: for LEAVE;
    `outrun`: the investigation of this commit whose verdict does not cover what was seen now."""

    fate: Fate
    investigation: str | None = None
    why: Refusal | None = None
    outrun: str | None = None


def speaking(past: Iterable[Past], pull: int, now: datetime, known_for: timedelta) -> Past | None:
    """The verdict that may answer this pull request. `past` is newest first.

    The newest one that says something about other pull requests counts: an older noise does not explain what
    a newer fault on the base does. A fault shown in this pull request is not explained away at all.
    """
    recent = [found for found in past if now - found.at <= known_for]
    if any(found.pull == pull and found.kind in AGAINST for found in recent):
        return None
    newest = next((found for found in recent if found.kind is not None and found.kind not in ASIDE), None)
    return newest if newest is not None and newest.kind in ANSWERS and not newest.chosen else None


def decide(
    sight: Sight, opened: Opened | None, known: Known | None, judged: Known | None, waiting: int
) -> Decision:
    """`judged`: an investigation of this very commit that has ended; `waiting`: others that wait already.

    A judgement of the commit counts only against the base it was measured against, and noise only for what
    was seen of it: a later job that shows more makes the commit one that was not judged.
    """
    if opened is not None:
        return _while_open(sight, opened, waiting)
    if sight.commanded and not sight.moved:
        return Decision(Fate.MEASURE)
    if judged is None or judged.base_ref != sight.base_ref:
        return _not_judged(sight, known)
    if judged.past.kind is VerdictKind.NOISE and not fits(sight, judged):
        return replace(_not_judged(sight, None), outrun=judged.past.id)
    if judged.past.pull != sight.pull and known is not None and fits(sight, known):
        return Decision(Fate.ANSWER, known.past.id)
    return _leave(ALREADY, "The site was judged on this commit; /rerun-kl asks again.")


def _not_judged(sight: Sight, known: Known | None) -> Decision:
    if known is not None and fits(sight, known):
        return Decision(Fate.ANSWER, known.past.id)
    if sight.moved:
        return _leave("head_moved", "The pull request has moved on, so its older commit is not measured.")
    if sight.fork:
        return _leave(
            "fork", "The pull request is from a fork: its code runs only when a writer names its SHA."
        )
    return Decision(Fate.MEASURE)


def fits(sight: Sight, known: Known) -> bool:
    """The verdict covers what this job showed: the same check under the same bound on the same machines, no
    value above what was measured, and no change to what the test rests on."""
    same = (sight.test, sight.label, sight.runner, sight.base_ref) == (
        *(known.test, known.label, known.runner, known.base_ref),
    )
    if not same or sight.also_red or sight.unfit or elsewhere(sight.labels, sight.runner) is not None:
        return False
    if sight.bound is None or sight.bound != known.bound or known.ceiling is None or not sight.values:
        return False
    return all(math.isfinite(value) and value <= known.ceiling for value in sight.values)


def elsewhere(labels: Iterable[str], runner: str) -> Refusal | None:
    """Why values of a job with these labels are not compared with those of reruns; None where they are."""
    asked = sorted(labels)
    if runner.lower() in asked:
        return None
    where = f"on a runner with the labels {', '.join(asked)[:200]}" if asked else "on an unknown runner"
    return Refusal("other_machine", f"The red job ran {where}, the reruns on one with '{runner}'.")


def _while_open(sight: Sight, opened: Opened, waiting: int) -> Decision:
    mine, same = opened.pull == sight.pull, opened.head_sha == sight.head_sha
    if mine and same and not opened.settled:
        return Decision(Fate.JOIN, opened.id)
    if mine and sight.commanded:
        return _leave(ALREADY, "The site is being measured for this pull request already.")
    if waiting >= MAX_WAITING:
        sentence = f"{waiting} pull requests wait for the verdict on this site, so this one is not told."
        return _leave("crowded", sentence)
    return Decision(Fate.WAIT, opened.id)


def _leave(code: str, sentence: str) -> Decision:
    return Decision(Fate.LEAVE, why=Refusal(code, sentence))
