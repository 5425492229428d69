"""Reads packs and repository files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rules.document import NO_MAPPING, Document, Problem, read_document
from rules.errors import PackErrors, listed, read_file
from rules.pack import Pack, RepositoryConfig, RepositoryFile

M = TypeVar("M", bound=BaseModel)


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
    if runner not in pack.runners:
        message = f"runner: {runner!r} is none of the labels in 'runners': {', '.join(pack.runners)}"
        return listed([Problem(document.position(("runner",)), message)], name)
    return RepositoryConfig(
        pack=pack, mode=written.mode, runner=runner, budget_minutes=written.budget_minutes
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
    names = [form.name for form in pack.forms]
    problems = [
        Problem(document.position(("forms", index, "name")), f"the form {form!r} is there twice")
        for index, form in enumerate(names)
        if form in names[:index]
    ]
    return listed(problems, name) if problems else pack


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
