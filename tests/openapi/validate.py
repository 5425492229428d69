"""Does a request and its answer keep to GitHub's published description? Pure but for reading the slice.

A violation is an undocumented path, query parameter, body field, status or answer field, or a value that
does not match its schema. `[]` means the exchange is as documented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

Json = dict[str, Any]

SLICE = Path(__file__).parent / "github-slice.json"
RAW = object()
"""Stands for an answer that is not JSON (a raw file)."""

# GitHub documents these for every call, on its pages about authentication, troubleshooting and rate limits,
# and leaves them out of most operations of the description.
GENERAL_ERRORS = frozenset({400, 401, 403, 404, 413, 422, 429, 500, 502, 503})
ERROR = {"anyOf": [{"$ref": f"urn:github#/$defs/{n}"} for n in ("basic-error", "validation-error")]}
MAX_LISTED = 20
# Fields the description has for this payload's other actions and forgot for this one.
HOOK_GAPS = {"workflow-run-in-progress": ("display_title", "user_view_type")}


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    pattern: re.Pattern[str]
    literals: int
    spec: Json


@cache
def _slice() -> Json:
    document: Json = json.loads(SLICE.read_text(encoding="utf-8"))
    return document


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([("urn:github", {"$defs": _slice()["$defs"]})])


@cache
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(schema), registry=_registry(), validate_formats=True)


@cache
def _operations() -> tuple[Operation, ...]:
    found = []
    for name, spec in _slice()["operations"].items():
        method, path = name.split(" ")
        parts = re.split(r"\{(\w+)\}", path)
        regex = "".join(
            re.escape(part) if i % 2 == 0 else (".*" if part in spec["multi"] else "[^/]+")
            for i, part in enumerate(parts)
        )
        literals = sum(not segment.startswith("{") for segment in path.split("/"))
        found.append(Operation(name, method, re.compile(regex), literals, spec))
    return tuple(found)


def check(
    method: str,
    path: str,
    query: Mapping[str, str],
    request_body: object,
    status: int,
    response_body: object,
) -> list[str]:
    """Bodies are parsed JSON, None for an empty one, RAW for one that is not JSON."""
    matches = [op for op in _operations() if op.method == method and op.pattern.fullmatch(path)]
    if not matches:
        return [f"{method} {path}: undocumented path"]
    operation = max(matches, key=lambda op: op.literals)
    problems = [
        *_query(operation.spec, query),
        # A request that was refused may be wrong: that is what the refusal says.
        *(_body(operation.spec, request_body) if status < 400 else ()),
        *_answer(operation.spec, status, response_body),
    ]
    return [f"{operation.name}: {problem}" for problem in problems[:MAX_LISTED]]


def check_hook(event: str, payload: Json) -> list[str]:
    """The same for a webhook's payload."""
    name = event.replace("_", "-")
    if isinstance(payload.get("action"), str):
        name += "-" + payload["action"].replace("_", "-")
    schema = _slice()["hooks"].get(name)
    if schema is None:
        return [f"webhook {name}: not in the slice"]
    gaps = tuple(f".{field} is undocumented" for field in HOOK_GAPS.get(name, ()))
    problems = [problem for problem in _against(schema, payload, "payload") if not problem.endswith(gaps)]
    return [f"webhook {name}: {problem}" for problem in problems[:MAX_LISTED]]


def _query(spec: Json, query: Mapping[str, str]) -> Iterator[str]:
    for name, text in query.items():
        schema = spec["query"].get(name)
        if schema is None:
            yield f"query parameter {name!r} is undocumented"
        elif not any(_validator(json.dumps(schema)).is_valid(value) for value in _readings(text)):
            yield f"query parameter {name}={text!r} does not match its schema"


def _readings(text: str) -> Iterator[object]:
    yield text
    if re.fullmatch(r"-?\d+", text):
        yield int(text)
    if text in ("true", "false"):
        yield text == "true"


def _body(spec: Json, body: object) -> list[str]:
    if "body" not in spec:
        return ["a request body where none is documented"] if body not in (None, {}) else []
    if body is None:
        return ["no request body where one is required"] if spec["body_required"] else []
    return _against(spec["body"], body, "request")


def _answer(spec: Json, status: int, body: object) -> list[str]:
    if str(status) in spec["responses"]:
        schema = spec["responses"][str(status)]
        if schema is None:
            empty = body is None or body is RAW or body == {} or 300 <= status < 400
            return [] if empty else [f"status {status} is documented without a body"]
    elif status in GENERAL_ERRORS:
        schema = ERROR
    else:
        return [f"status {status} is undocumented"]
    if body is RAW:
        return []  # a raw media type was asked for
    return _against(schema, body, "response")


def _against(schema: Json, value: object, where: str) -> list[str]:
    errors = [
        f"{where}{''.join(f'.{part}' for part in error.instance_path)}: {error.message[:300]}"
        for error in _validator(json.dumps(schema)).iter_errors(value)
    ]
    return errors + list(_undocumented([schema], value, where))


def _undocumented(schemas: Iterable[Json], value: object, where: str) -> Iterator[str]:
    """Fields no alternative of the schema names. Schemas rarely forbid them, so a validator does not tell."""
    leaves = list(_leaves(schemas))
    if isinstance(value, dict):
        if any(_open(leaf) for leaf in leaves):
            return
        for name, item in value.items():
            known = [leaf["properties"][name] for leaf in leaves if name in leaf.get("properties", {})]
            if known:
                yield from _undocumented(known, item, f"{where}.{name}")
            else:
                yield f"{where}.{name} is undocumented"
    elif isinstance(value, list):
        items = [leaf["items"] for leaf in leaves if "items" in leaf]
        if items:
            for index, item in enumerate(value):
                yield from _undocumented(items, item, f"{where}[{index}]")


def _leaves(schemas: Iterable[Json]) -> Iterator[Json]:
    for schema in schemas:
        while "$ref" in schema:
            schema = _slice()["$defs"][schema["$ref"].removeprefix("urn:github#/$defs/")]
        parts = [item for key in ("allOf", "anyOf", "oneOf") for item in schema.get(key, ())]
        yield from _leaves(parts)
        if "properties" in schema or not parts:
            yield schema


def _open(leaf: Json) -> bool:
    kinds = leaf.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    return bool(leaf.get("additionalProperties", "properties" not in leaf))
