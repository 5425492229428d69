"""Cuts GitHub's OpenAPI description down to `operations.txt` and writes `github-slice.json`.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python -m tests.openapi.slice package/generated/api.github.com.json

The result is JSON Schema 2020-12 (OpenAPI 3.0's `nullable` is converted), without descriptions and
examples; shared schemas stay shared, as `urn:github#/$defs/<name>`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Json = dict[str, Any]

# What a checker needs; everything else a schema carries is prose or tooling.
_KEPT = {
    "enum", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "uniqueItems", "required", "minProperties", "maxProperties",
}  # fmt: skip


class Slicer:
    def __init__(self, document: Json) -> None:
        self.document = document
        self.defs: dict[str, Json] = {}

    def resolve(self, node: Json) -> Json:
        while "$ref" in node:
            target: Any = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def schema(self, node: Json) -> Json:
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/components/schemas/")
            if name not in self.defs:
                self.defs[name] = {}  # set before descending: schemas refer to each other in circles
                self.defs[name] = self.schema(self.resolve(node))
            return {"$ref": f"urn:github#/$defs/{name}"}
        out: Json = {key: node[key] for key in node if key in _KEPT}
        if out.get("format") == "email":
            del out["format"]  # the addresses of GitHub's own bots, 1+name[bot]@..., are not valid ones
        if "type" in node:
            out["type"] = node["type"]
        for key, kept in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
            if key in node:  # alternatives of GitHub's `oneOf` overlap: its errors match several
                out[kept] = [self.schema(item) for item in node[key]]
        if "not" in node:
            out["not"] = self.schema(node["not"])
        if "items" in node:
            out["items"] = self.schema(node["items"])
        if "properties" in node:
            out["properties"] = {name: self.schema(item) for name, item in node["properties"].items()}
        if "additionalProperties" in node:
            more = node["additionalProperties"]
            out["additionalProperties"] = more if isinstance(more, bool) else self.schema(more)
        return nullable(out) if node.get("nullable") else out

    def operation(self, method: str, path: str) -> Json:
        node = self.document["paths"][path][method.lower()]
        parameters = [self.resolve(item) for item in node.get("parameters", [])]
        out: Json = {
            "id": node["operationId"],
            "multi": [p["name"] for p in parameters if p.get("x-multi-segment")],
            "query": {p["name"]: self.schema(p["schema"]) for p in parameters if p["in"] == "query"},
            "responses": {status: self.response(r) for status, r in sorted(node["responses"].items())},
        }
        if "requestBody" in node:
            body = self.resolve(node["requestBody"])
            out["body"] = self.schema(body["content"]["application/json"]["schema"])
            out["body_required"] = body.get("required", False)
        return out

    def response(self, node: Json) -> Json | None:
        """None: no body, or one that is not JSON."""
        content = self.resolve(node).get("content", {})
        media = [item for kind, item in content.items() if "json" in kind or "object" in kind]
        texts = {json.dumps(self.schema(item["schema"]), sort_keys=True) for item in media}
        if not texts:
            return None
        found = [json.loads(text) for text in sorted(texts)]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def hook(self, name: str) -> Json:
        body = self.document["x-webhooks"][name]["post"]["requestBody"]
        return self.schema(body["content"]["application/json"]["schema"])


def nullable(schema: Json) -> Json:
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if "type" in schema:
        schema["type"] = [schema["type"], "null"]
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def cut(document: Json, wanted: list[str]) -> Json:
    slicer = Slicer(document)
    operations: Json = {}
    hooks: Json = {}
    for line in wanted:
        method, name = line.split()
        if method == "HOOK":
            hooks[name] = slicer.hook(name)
        else:
            operations[line] = slicer.operation(method, name)
    correct(operations)
    return {"operations": operations, "hooks": hooks, "$defs": dict(sorted(slicer.defs.items()))}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 1
    document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    wanted = [line for line in (HERE / "operations.txt").read_text().splitlines() if line]
    text = one_line_each(cut(document, wanted))
    (HERE / "github-slice.json").write_text(text, encoding="utf-8")
    return 0


def correct(operations: Json) -> None:
    """Where GitHub's prose documents more than its schema."""
    labels = operations["POST /repos/{owner}/{repo}/issues/{issue_number}/labels"]["body"]["anyOf"]
    labels.append(labels[0]["properties"]["labels"])  # "You can also pass an `array` of labels directly"
    logs = operations["GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs"]["responses"]
    logs["410"] = {"$ref": "urn:github#/$defs/basic-error"}  # what expired logs answer, as users report
    # There an account is a user and an enterprise at once; one installation is described rightly.
    listed = operations["GET /app/installations"]["responses"]["200"]
    listed["items"] = operations["GET /app/installations/{installation_id}"]["responses"]["200"]
    for operation in operations.values():
        if "created" in operation["query"]:  # a date-time there, a range such as >=2026-01-01 in the guide
            operation["query"]["created"] = {"type": "string"}


def one_line_each(slice_: Json) -> str:
    """One line for each operation, hook and shared schema: small, and a diff shows what changed."""
    sections = []
    for name, section in slice_.items():
        lines = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in section.items()]
        sections.append(f"{json.dumps(name)}:{{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(sections) + "}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
