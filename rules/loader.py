"""Reads packs and repository files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rules.document import NO_MAPPING, Document, Location, Problem, read_document
from rules.entries import BoundRule, Entry, FormRule, PrintRule, RegistrationRule, key_of
from rules.errors import PackErrors, listed, read_file
from rules.pack import Pack
from rules.repository import LISTS, RepositoryConfig, RepositoryFile

M = TypeVar("M", bound=BaseModel)

_NAMED_BY: Final = {FormRule: "name", PrintRule: "name", RegistrationRule: "argument", BoundRule: "pattern"}
"""The key of an entry that its errors point at."""


def load_pack(path: str | Path) -> Pack | PackErrors:
    """The pack in a file."""
    text = read_file(path)
    return text if isinstance(text, PackErrors) else _pack(text, str(path))


def load_named(name: str) -> Pack | PackErrors:
    """A pack that comes with kl-triage."""
    if name not in pack_names():
        return PackErrors((f"{name!r} is no rule pack: there are {', '.join(pack_names())}",))
    return _pack((files("rules") / f"{name}.yaml").read_bytes(), f"{name}.yaml")


def pack_names() -> tuple[str, ...]:
    names = (entry.name for entry in files("rules").iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def repository_pack(text: str | bytes, name: str = ".github/kl-triage.yml") -> RepositoryConfig | PackErrors:
    """The configuration that a repository's own file asks for; `name` stands in the errors."""
    document = read_document(text)
    written = _validated(RepositoryFile, document, name)
    if isinstance(written, PackErrors):
        return written
    base = load_named(written.extends)
    if isinstance(base, PackErrors):
        return listed([Problem(document.position(("extends",)), str(base))], name)
    pack = written.over(base)
    runner = written.runner or pack.runners[0]
    problems = _of_lists(document, written, base, pack)
    if runner not in pack.runners:
        message = f"runner: {_no_label(runner, pack)}"
        problems.append(Problem(document.position(("runner",)), message))
    if problems:
        return listed(problems, name)
    return RepositoryConfig(
        pack=pack,
        mode=written.mode,
        runner=runner,
        runner_is_fixed=written.runner is not None,
        budget_minutes=written.budget_minutes,
    )


def check(paths: Iterable[str]) -> list[str]:
    """Every error in these packs: files, or names of packs that come with kl-triage."""
    errors: list[str] = []
    for path in paths:
        pack = load_named(path) if path in pack_names() and not Path(path).is_file() else load_pack(path)
        if isinstance(pack, PackErrors):
            errors += pack.errors
    return errors


def _pack(text: bytes, name: str) -> Pack | PackErrors:
    document = read_document(text)
    pack = _validated(Pack, document, name)
    if isinstance(pack, PackErrors):
        return pack
    problems = [
        problem for key in LISTS for problem in _of_list(document, (key,), getattr(pack, key), (), pack)
    ]
    return listed(problems, name) if problems else pack


def _of_lists(document: Document, written: RepositoryFile, base: Pack, pack: Pack) -> list[Problem]:
    """What is wrong between the entries of a repository's file and of the pack that it extends."""
    problems: list[Problem] = []
    for key in LISTS:
        own, added = getattr(written, key), getattr(written.also, key)
        problems += _of_list(document, (key,), own or (), (), pack)
        before = getattr(base, key) if own is None else own
        problems += _of_list(document, ("also", key), added or (), before, pack)
    return problems


def _of_list(
    document: Document, place: Location, entries: Sequence[Entry], before: Sequence[Entry], pack: Pack
) -> list[Problem]:
    """Entries that are there already, and registrations for runners that the pack does not have."""
    problems: list[Problem] = []
    seen = {key_of(entry) for entry in before}
    for index, entry in enumerate(entries):
        if key_of(entry) in seen:
            at = (*place, index) if isinstance(entry, str) else (*place, index, _NAMED_BY[type(entry)])
            problems.append(Problem(document.position(at), f"{key_of(entry)} is there twice"))
        seen.add(key_of(entry))
        for value, label in entry.labels.items() if isinstance(entry, RegistrationRule) else ():
            if label not in pack.runners:
                at = (*place, index, "labels", value)
                message = f"{'.'.join(map(str, at))}: {_no_label(label, pack)}"
                problems.append(Problem(document.position(at), message))
    return problems


def _no_label(label: str, pack: Pack) -> str:
    return f"{label!r} is none of the labels in 'runners': {', '.join(dict.fromkeys(pack.runners))}"


def _validated(model: type[M], document: Document, name: str) -> M | PackErrors:
    if not isinstance(document.data, dict):
        return listed(document.problems or [NO_MAPPING], name)
    try:
        validated = model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        found = [_problem(document, detail) for detail in details if not _follows(detail, details)]
        return listed(document.with_found(found), name)
    return listed(document.problems, name) if document.problems else validated


def _follows(detail: ErrorDetails, details: list[ErrorDetails]) -> bool:
    """A list is also called too short where its items are wrong: the items say enough."""
    location = detail["loc"]
    deeper = (other["loc"] for other in details if len(other["loc"]) > len(location))
    return detail["type"] == "too_short" and any(other[: len(location)] == location for other in deeper)


def _problem(document: Document, detail: ErrorDetails) -> Problem:
    location = detail["loc"]
    position = document.position(location)
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = "is no key of this file"
        position = document.key_position(location)
    elif detail["type"] == "missing":
        message = "is missing"
    path = ".".join(str(part) for part in location)
    return Problem(position, f"{path}: {message}")
