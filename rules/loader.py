"""Reads packs and repository files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rules.consistency import Written
from rules.document import NO_MAPPING, Document, Location, Problem, read_document
from rules.errors import PackErrors, listed, plain, read_file
from rules.pack import Pack
from rules.repository import Limits, RepositoryConfig, RepositoryFile

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
    if not isinstance(document.data, dict):
        return listed(document.problems or [NO_MAPPING], name)
    written, wrong = _validated(RepositoryFile, document)
    found = Written(document, _places(wrong))
    extends = found.text(("extends",))
    base = None if extends is None else load_named(extends)
    known = base if isinstance(base, Pack) else None
    between = found.in_repository_file(known)
    if isinstance(base, PackErrors):
        between.append(Problem(document.position(("extends",)), str(base)))
    problems = _together(document, wrong, between)
    if problems or written is None or known is None:
        return listed(problems, name)
    pack = written.over(known)
    return RepositoryConfig(
        pack=pack,
        mode=written.mode,
        runner=written.runner or pack.runners[0],
        runner_is_fixed=written.runner is not None,
        budget_minutes=written.budget_minutes,
        **{name: getattr(written, name) for name in Limits.model_fields},
    )


def check(paths: Iterable[str]) -> list[str]:
    """Every error in these: files of packs or of repositories, or names of packs that come with kl-triage."""
    errors: list[str] = []
    for path in paths:
        named = path in pack_names() and not Path(path).is_file()
        found = load_named(path) if named else _pack_or_repository_file(path)
        if isinstance(found, PackErrors):
            errors += found.errors
    return errors


def _pack_or_repository_file(path: str) -> Pack | RepositoryConfig | PackErrors:
    """A repository's own file says what it extends."""
    text = read_file(path)
    if isinstance(text, PackErrors):
        return text
    data = read_document(text).data
    own = isinstance(data, dict) and "extends" in data
    return repository_pack(text, path) if own else _pack(text, path)


def _pack(text: bytes, name: str) -> Pack | PackErrors:
    document = read_document(text)
    if not isinstance(document.data, dict):
        return listed(document.problems or [NO_MAPPING], name)
    pack, wrong = _validated(Pack, document)
    problems = _together(document, wrong, Written(document, _places(wrong)).in_pack())
    return listed(problems, name) if problems or pack is None else pack


def _validated(model: type[M], document: Document) -> tuple[M | None, list[ErrorDetails]]:
    """The values, or what is wrong with each by itself."""
    try:
        return model.model_validate_json(json.dumps(document.data)), []
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return None, [detail for detail in details if not _follows(detail, details)]


def _places(wrong: Iterable[ErrorDetails]) -> set[Location]:
    return {detail["loc"] for detail in wrong}


def _together(
    document: Document, wrong: Iterable[ErrorDetails], between: Iterable[Problem]
) -> Sequence[Problem]:
    """All that is wrong: of what is found between values only what stands where no value is wrong."""
    single = document.with_found(_problem(document, detail) for detail in wrong)
    told = {problem.position for problem in single}
    return [*single, *(problem for problem in between if problem.position not in told)]


def _follows(detail: ErrorDetails, details: list[ErrorDetails]) -> bool:
    """A list is also called too short where its items are wrong: the items say enough."""
    location = detail["loc"]
    deeper = (other["loc"] for other in details if len(other["loc"]) > len(location))
    return detail["type"] == "too_short" and any(other[: len(location)] == location for other in deeper)


def _problem(document: Document, detail: ErrorDetails) -> Problem:
    location = detail["loc"]
    of_key = detail["type"] == "extra_forbidden"
    position = document.key_position(location) if of_key else document.position(location)
    return Problem(position, f"{'.'.join(map(str, location))}: {plain(detail)}")
