"""Reads a policy file: a mapping of the judge's constants to numbers, as strict as a pack."""

from __future__ import annotations

from pathlib import Path

from bot.verdict.limits import FIELDS, Place, policy_from, problems
from bot.verdict.policy import Policy
from rules.document import NO_MAPPING, Document, Problem, read_document
from rules.errors import PackErrors, listed, read_file


def load_policy(path: str | Path) -> Policy | PackErrors:
    """The policy in a file; what the file leaves out keeps its default."""
    text = read_file(path)
    if isinstance(text, PackErrors):
        return text
    document, name = read_document(text), str(path)
    if not isinstance(document.data, dict):
        return listed(document.problems or [NO_MAPPING], name)
    found = document.with_found(_problem(document, *problem) for problem in problems(document.data))
    return listed(found, name) if found else policy_from(document.data)


def _problem(document: Document, place: Place, sentence: str) -> Problem:
    position = document.position(place) if place[0] in FIELDS else document.key_position(place)
    return Problem(position, f"{'.'.join(map(str, place))}: {sentence}")
