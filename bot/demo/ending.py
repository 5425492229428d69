"""Whether the story ended as it should, seen from GitHub and from git: comments, checks, pull requests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bot.demo.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Ending:
    """What was there at the end; `verdict` is the judge's JSON, for display, `diff` that of the bump."""

    verdict: dict[str, Any]
    comments: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    bumps: list[dict[str, Any]]
    diff: str
    evidence: tuple[str, ...]


def faults_of(scenario: Scenario, ending: Ending) -> list[str]:
    """One sentence for each thing that is not as it should be; empty when all is right."""
    wrong = []
    if len(ending.comments) != 1:
        wrong.append(f"There are {len(ending.comments)} comments of the bot, not one.")
    for comment in ending.comments:
        kind = told_kind(comment["body"])
        if kind not in scenario.accept:
            wrong.append(f"The comment says {kind}, not {' or '.join(sorted(scenario.accept))}.")
    if len(ending.checks) != 1:
        wrong.append(f"There are {len(ending.checks)} check runs, not one.")
    elif ending.checks[0]["conclusion"] != scenario.conclusion:
        wrong.append(f"The check run ended as {ending.checks[0]['conclusion']}, not {scenario.conclusion}.")
    if not any(path.endswith("/readings.jsonl") for path in ending.evidence):
        wrong.append("The evidence branch holds no readings.")
    return wrong + _bump_faults(scenario, ending)


def told_kind(body: str) -> str:
    """The verdict a comment tells, from the data it carries for machines."""
    data = re.search(r"<!-- kl-triage:data (\{.*?\}) -->", body, re.DOTALL)
    return str(json.loads(data[1]).get("kind")) if data else "no verdict"


def _bump_faults(scenario: Scenario, ending: Ending) -> list[str]:
    if not scenario.bumps:
        return ["A pull request was opened that moves the bound."] if ending.bumps else []
    if len(ending.bumps) != 1:
        return [f"There are {len(ending.bumps)} pull requests of the bot, not one."]
    wrong = [] if ending.bumps[0]["draft"] else ["The pull request is not a draft."]
    if "What it still catches" not in ending.bumps[0]["body"]:
        wrong.append("The pull request does not say what the new bound still catches.")
    if not is_one_number_and_one_comment(ending.diff):
        wrong.append("The pull request changes more than one number and one comment line.")
    return wrong


def is_one_number_and_one_comment(diff: str) -> bool:
    """Whether `git diff --unified=0` changes one number of one line and adds one comment line, no more."""
    lines = diff.splitlines()
    files = [line for line in lines if line.startswith("diff --git ")]
    removed = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    if (len(files), len(removed), len(added)) != (1, 1, 2):
        return False
    comment, changed = added
    number = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
    before, after = number.findall(removed[0]), number.findall(changed)
    same_but_number = number.sub("#", removed[0]) == number.sub("#", changed)
    return (
        comment.lstrip().startswith("#")
        and same_but_number
        and sum(a != b for a, b in zip(before, after, strict=True)) == 1
    )
